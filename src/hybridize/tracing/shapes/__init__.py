"""Shapes, dtypes, classes: which dims a graph does not know, where dtypes must be one, what becomes of arrays."""
