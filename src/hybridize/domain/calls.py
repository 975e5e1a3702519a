"""How functions are called: who does it, and whether it is part of what the caller does."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class How(StrEnum):
    """One way of being called.

    CALL: by an expression of the program.
    HYBRID: the same of a hybrid function: its graph runs.
    PROTOCOL: by a library, as a method that it asks for.
    OPERATOR: as a special method.
    PROPERTY: by reading an attribute.
    ATTRIBUTE: as `__getattr__` or `__setattr__`.
    CONTEXT: by a `with` statement.
    CONSTRUCTION: as a constructor.
    BUILD: by Keras, once, before the first call of a layer.
    CLASS: as the body of a class.
    KERAS: by Keras, as part of a call of the program.
    CALLBACK: by a library, which was given the function.
    HOST: by a library, as Python even where the caller is a graph.
    GRAPH: by a library, in a graph of its own, whatever the caller is.
    ROOT: by nobody who is seen.
    SYMBOLIC: by Keras, once, to make a functional model: nothing is computed.
    START: by a library, once, as the program.
    """

    CALL = "call"
    HYBRID = "hybrid"
    PROTOCOL = "protocol"
    OPERATOR = "operator"
    PROPERTY = "property"
    ATTRIBUTE = "attribute"
    CONTEXT = "context"
    CONSTRUCTION = "construction"
    BUILD = "build"
    CLASS = "class"
    KERAS = "keras"
    CALLBACK = "callback"
    HOST = "host"
    GRAPH = "graph"
    ROOT = "root"
    SYMBOLIC = "symbolic"
    START = "start"


#: Somehow.
ANY: Final = frozenset(How)
#: By somebody who is seen.
SEEN: Final = ANY - {How.ROOT}
#: By an expression that runs the function itself.
BY_CALL: Final = frozenset({How.CALL})
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
#: As part of the caller's trace, where the caller is traced.
TRACED: Final = ANY - NOT_TRACED
