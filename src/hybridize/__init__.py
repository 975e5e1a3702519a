"""Decides which TensorFlow functions should run as graphs, says why, and makes the change."""

__version__ = "0.1.0"

__all__ = ["__version__"]
