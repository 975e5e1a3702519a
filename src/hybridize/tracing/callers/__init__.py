"""Callers, seen or not: what they may pass, replace, ask of the function, and tell a graph by."""
