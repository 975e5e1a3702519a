"""Python state around a trace: who reads it, who writes it, and in which order."""
