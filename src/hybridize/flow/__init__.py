"""Program -> solution: the whole-program abstract interpreter."""
