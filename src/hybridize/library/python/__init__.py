"""Models of Python itself: built-in functions and types, the standard library, and well-known other packages."""
