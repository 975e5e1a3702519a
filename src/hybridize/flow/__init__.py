"""Program -> solution: the whole-program abstract interpreter (design.md §4)."""
