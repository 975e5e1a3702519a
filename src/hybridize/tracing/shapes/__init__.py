"""Shapes and dtypes: which dims a graph does not know, and where operands must be of one dtype."""
