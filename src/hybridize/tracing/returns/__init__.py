"""What comes out of a graph: results, what callers do with them, and what gets lost on the way."""
