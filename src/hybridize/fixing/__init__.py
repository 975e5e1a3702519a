"""Decisions and repairs become changes of files: planned in memory, then written, or run as they would be."""
