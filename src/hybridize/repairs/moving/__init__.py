"""Statements that move into a function of their own: what they take and give, and why all stays as it is."""
