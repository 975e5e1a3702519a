"""Exposed variable state (HY6xx)."""
