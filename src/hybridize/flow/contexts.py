"""How the contexts of a function are told apart.

The context of a call is what arrives: at first the argument values themselves; once a function has too many, only their
kinds; then only the receiver and the functions or classes that are passed; at last nothing. The step to a coarser level
is taken for all calls of the function at once, so the result does not depend on which call came first.
"""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.objects import (
    Bound,
    Class,
    Container,
    Func,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    Wrapper,
)
from hybridize.domain.session import cached
from hybridize.flow.frames import Frame
from hybridize.flow.handed import returned_parameters
from hybridize.program.ir import Code

#: How many frames a function may have at each of the two finest levels; at the third, so many slots in all its frames
#: (but at least as many frames): there small functions, such as layers and decorators, afford one for each receiver.
LEVEL_LIMIT: Final = 4
#: How many in a small project, where it costs little to tell every call apart.
SMALL_LIMIT: Final = 16
SLOTS_BY_RECEIVER: Final = 400
#: The level at which only receivers and definitions among the arguments count.
BY_RECEIVER: Final = 2
#: The coarsest level has no bound: it has one frame for each function object.
COARSEST: Final = 3
#: What following a function may cost over all its frames and runs: so much, and so much more for each of its slots.
#: The unit is an instruction, a call, or a container or attribute that is read. Sound programs need a tenth at most.
ALLOWANCE: Final = 250_000
ALLOWANCE_BY_SLOT: Final = 2_500


class Contexts:
    """The frames of one function's code, and the level at which its contexts are told apart."""

    __slots__ = ("allowance", "frames", "level", "limit", "returned", "size", "spent")

    def __init__(self, code: Code, limit: int = LEVEL_LIMIT) -> None:
        self.limit = limit
        self.frames: dict[Any, Frame] = {}
        self.level = 0
        self.size = code.size
        self.spent = 0
        self.allowance = ALLOWANCE + ALLOWANCE_BY_SLOT * code.size
        self.returned = returned_parameters(code)

    @property
    def exhausted(self) -> bool:
        """Whether the function is no longer followed: its frames have the results so far, and unknown ones."""
        return self.spent > self.allowance

    @property
    def merged(self) -> bool:
        """Whether its calls are told apart by no arguments: by receivers at most, and functions that are passed."""
        return self.level >= BY_RECEIVER

    def fits(self, count: int) -> bool:
        """Whether so many contexts are affordable at this level."""
        if count <= self.limit or self.level == COARSEST:
            return True
        return self.level == BY_RECEIVER and (count - 1) * (self.size + 1) <= SLOTS_BY_RECEIVER

    def key(self, func: Func, args: list[Value], has_receiver: bool) -> Any:
        """The context of a call."""
        match self.level:
            case 0:
                return (func, *args)
            case 1:
                return (func, *[kinds(v) for v in args])
            case 2:  # BY_RECEIVER
                return (func, *_identities(args, has_receiver))
        return (func,)


def _identities(args: list[Value], has_receiver: bool) -> list[Any]:
    """The receiver, and the arguments that are a definition: what a decorator is given."""
    found: list[Any] = []
    for i, value in enumerate(args):
        if i == 0 and has_receiver:
            found.append(_receiver(value))
        elif len(value) == 1 and isinstance(next(iter(value)), (Func, Class, Bound, Wrapper)):
            found.append((i, value))
    return found


def _receiver(value: Value) -> Value | None:
    """The receiver among the arguments that begin with this value, which may be those of `*args`."""
    if len(value) == 1:
        (obj,) = value
        if isinstance(obj, Tup):
            return obj.items[0] if obj.items else None
    return value


@cached
def kinds(value: Value) -> Any:
    """What a value is at the second level of contexts: shapes, dtypes and most constants are dropped."""
    return frozenset([_kind(obj) for obj in value])


def _kind(obj: Obj) -> Any:
    match obj:
        case Lit():
            return obj if obj.kind in ("bool", "None") else obj.kind
        case Prim():
            return obj.kind
        case Tensor():
            return ("tensor", obj.kind)
        case Tup():
            return ("tuple", len(obj.items))
        case Stream() | Container():
            return obj.kind
        case Unknown():
            return "unknown"
        case _:
            return obj
