"""Why values are not known, for code that asks; people read the sentence beside it."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final


class Why(Enum):
    """What an unknown value is of; each part of one is of the same."""

    OTHER = auto()  # what only people read
    SUMMARIZED = auto()  # more values than are told apart
    EVALUATED = auto()  # what `eval` gives
    EXECUTED = auto()  # a name that `exec` defines
    LOADED = auto()  # a saved model: graphs, whatever calls them
    LACKING = auto()  # an attribute that a built-in type has not, or that no method has set here: reading it raises
    PART = auto()  # an element, item or attribute of something that is known
    UNSET = auto()  # an attribute that nothing is seen to set, of a class that may get it elsewhere
    UNDEFINED = auto()  # a name that nothing defines: reading it raises
    ARGUMENT = auto()  # what callers whom nobody sees pass
    COMPUTED = auto()  # what has a name that the program computes
    ACTIVATION = auto()  # the setting of that name of a layer


#: How parts of unknown values are taken.
ATTRIBUTE: Final = "an attribute"
ELEMENT: Final = "an element"
RESULT: Final = "the result of a call"
