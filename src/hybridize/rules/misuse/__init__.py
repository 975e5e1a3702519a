"""API misuse (HY2xx)."""
