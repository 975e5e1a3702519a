"""Constructs that eager execution takes and graphs do not (HY3xx)."""
