"""The contracts of methods that libraries call back: what a class of the project takes on when it overrides one.

A method that overrides a library's is called by that library: in a mode that it chooses (eagerly, inside of a graph of
its own, while it builds an object, as plain Python), with arguments that it makes, and it goes on with the result. The
tables say which methods a graph may stand in for, and why not for the others. What they do not name is not known to
bear one.

The tables are text, read when a project first derives from a class of that library (`lookup`).
"""
