"""Abstract values: what the analysis knows about a Python object at a place in the program."""
