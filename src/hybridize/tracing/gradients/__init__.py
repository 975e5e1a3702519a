"""Gradient tapes around and in a function, and what is derived by what."""
