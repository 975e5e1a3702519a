"""Calls: who runs a function, how often, in which graphs, and which code a call never comes to."""
