"""Why values are not known, for code that asks; people read the sentence beside it."""

from __future__ import annotations

from enum import Enum, auto


class Why(Enum):
    """What an unknown value is of; each part of one is of the same."""

    OTHER = auto()  # what only people read
    SUMMARIZED = auto()  # more values than are told apart
    EVALUATED = auto()  # what `eval` gives
    EXECUTED = auto()  # a name that `exec` defines
    LOADED = auto()  # a saved model: graphs, whatever calls them
    LACKING = auto()  # an attribute that a built-in type has not, or that no method has set here: reading it raises
