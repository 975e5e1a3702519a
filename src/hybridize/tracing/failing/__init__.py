"""What raises in a trace, what is expected to, and what is never come to for it."""
