"""What is left over from debugging (HY5xx)."""
