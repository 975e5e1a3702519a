"""How functions are called: who does it, and whether it is part of what the caller does."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class How(StrEnum):
    """One way of being called."""

    CALL = "call"  # by an expression of the program
    HYBRID = "hybrid"  # the same of a hybrid function: its graph runs
    PROTOCOL = "protocol"  # by a library, as a method that it asks for
    OPERATOR = "operator"  # as a special method
    PROPERTY = "property"  # by reading an attribute
    ATTRIBUTE = "attribute"  # as `__getattr__` or `__setattr__`
    CONTEXT = "context"  # by a `with` statement
    CONSTRUCTION = "construction"  # as a constructor
    BUILD = "build"  # by Keras, once, before the first call of a layer
    CLASS = "class"  # as the body of a class
    KERAS = "keras"  # by Keras, as part of a call of the program
    CALLBACK = "callback"  # by a library, which was given the function
    HOST = "host"  # by a library, as Python even where the caller is a graph
    GRAPH = "graph"  # by a library, in a graph of its own, whatever the caller is
    ROOT = "root"  # by nobody who is seen
    SYMBOLIC = "symbolic"  # by Keras, once, to make a functional model: nothing is computed
    START = "start"  # by a library, once, as the program


#: By expressions of the program that name the function.
DIRECT: Final = frozenset({How.CALL, How.HYBRID})
#: By what the program does, one call for each time that it is done.
BY_CODE: Final = DIRECT | {How.PROTOCOL, How.OPERATOR}
#: The same, through Keras too.
BY_PROGRAM: Final = BY_CODE | {How.KERAS}
#: By library code, as often as it likes.
BY_OTHERS: Final = frozenset({How.CALLBACK, How.HOST})
#: Any number of times for one call of the library.
REPEATED: Final = BY_OTHERS | {How.GRAPH}
#: By nobody's Python code step by step: in a graph, or to make a model.
IN_GRAPHS: Final = frozenset({How.GRAPH, How.SYMBOLIC})
#: By nothing that stands in an order with the rest of the caller.
UNORDERED: Final = frozenset({How.ROOT, How.BUILD, How.CLASS})
#: As part of making objects and classes.
SETS_UP: Final = frozenset({How.BUILD, How.CLASS, How.CONSTRUCTION})
#: Not as part of the caller's trace: Keras builds once, host functions and class bodies run as Python, and functions
#: given to `Dataset.map` and the like are traced in eager programs too.
NOT_TRACED: Final = UNORDERED | {How.HOST, How.GRAPH}
