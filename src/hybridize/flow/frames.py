"""Frames: a function in one calling context, with the values of its slots; and how contexts are told apart.

The context of a call is what arrives: at first the argument values themselves; once a function has too many, only their
kinds; then only the receiver and the functions or classes that are passed; at last nothing. The step to a coarser level
is taken for all calls of the function at once, so the result does not depend on which call came first.
"""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.lattice import collapse, join, widen
from hybridize.domain.objects import (
    BOTTOM,
    Bound,
    Cell,
    Class,
    Container,
    Func,
    Lit,
    Mod,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    Wrapper,
)
from hybridize.program.ir import Code

#: How many frames a function may have at each of the two finest levels; at the third, so many slots in all its frames
#: (but at least as many frames): there small functions, such as layers and decorators, afford one for each receiver.
LEVEL_LIMIT: Final = 4
#: How many in a program of at most so many functions, where it costs little to tell every call apart.
SMALL_LIMIT: Final = 16
SMALL_PROGRAM: Final = 120
SLOTS_BY_RECEIVER: Final = 400
#: The coarsest level has no bound: it has one frame for each function object.
COARSEST: Final = 3
#: After so many changes of one place, its value is widened instead of joined.
PATIENCE: Final = 8


#: The frame number of objects that all frames of a site share (see `World.site`).
SHARED: Final = -1


class Effect:
    """A change that outlives a statement: what kind, of which object (None: of the outside world), where."""

    __slots__ = ("cell", "detail", "kind", "position", "slot", "target")

    def __init__(self, kind: str, target: Obj | None, detail: str, position: int) -> None:
        self.kind = kind
        self.target = target
        self.detail = detail
        self.position = position
        self.slot = -1  # where the changed array was, for values that have no identity
        self.cell: Cell | None = None  # the captured variable that was written


class Frame:
    """A function (or module, class body, lambda) in one context."""

    __slots__ = (
        "args",
        "callers",
        "calls",
        "cells",
        "code",
        "dead",
        "edges",
        "effects",
        "explicit",
        "func",
        "grown",
        "incoming",
        "key",
        "lenient",
        "module",
        "namespace",
        "ops",
        "phase",
        "queued",
        "rank",
        "ret",
        "running",
        "runs",
        "sites",
        "stuck",
        "symbolic",
        "turn",
        "uid",
        "vals",
        "yields",
    )

    def __init__(self, uid: int, code: Code, module: Mod, func: Func | None, key: Any) -> None:
        self.uid = uid
        self.code = code
        self.module = module
        self.func = func
        self.key = key
        self.args: list[Value] = [BOTTOM] * len(code.params)
        self.explicit = 0  # bits of the parameters that some call gives
        self.vals: list[Any] = code.template.copy()
        self.edges = bytearray(code.edges)
        self.cells: dict[str, Cell] = {name: Cell() for name in code.cells}
        self.namespace: Class | None = None
        self.ret: Value = BOTTOM
        self.yields: Value = BOTTOM
        self.callers: dict[Frame, None] = {}
        self.incoming: dict[tuple[Frame | None, int], list[Value]] = {}
        self.calls: dict[tuple[int, Frame], str] = {}
        self.sites: dict[tuple[int, Func], Frame] = {}  # the frame that each call of a function last went to
        self.effects: dict[tuple[str, Obj | None, int], Effect] = {}
        self.ops: dict[int, str] = {}
        self.symbolic = False
        self.turn: tuple[int, ...] = ()  # the turns of the loops that are being followed item by item
        self.queued = False
        self.rank = 0  # above that of every function it calls, but for recursion: callees go first
        self.running = False
        self.dead = False
        self.lenient = False
        self.stuck = False
        self.grown = 0
        self.runs = 0
        self.phase = 0

    def take(self, args: list[Value]) -> bool:
        """Adds what a call passes to the arguments; true if they grew."""
        changed = False
        mine = self.args
        for i, value in enumerate(args):
            old = mine[i]
            if old is not value:
                new = join(old, value)
                if new is old:
                    continue
                if self.grown > PATIENCE:
                    new = widen(old, value)
                    if self.grown > 4 * PATIENCE:
                        new = collapse(new)
                if new != old:
                    mine[i] = new
                    changed = True
        if changed:
            self.grown += 1
        return changed

    def started_by(self, caller: Frame, position: int) -> bool:
        """Whether a call is that of the unknown caller: at the definition itself, where the program has no call."""
        return position == self.code.position and caller.code.path == self.code.path

    def effect(self, kind: str, target: Obj | None, detail: str, position: int) -> Effect:
        """Notes an effect of this frame's own instructions."""
        key = (kind, target, position)
        found = self.effects.get(key)
        if found is None:
            found = self.effects[key] = Effect(kind, target, detail, position)
        return found

    def __repr__(self) -> str:
        return f"<frame {self.uid} {self.code.qualname}>"


class Contexts:
    """The frames of one function's code, and the level at which its contexts are told apart."""

    __slots__ = ("frames", "level", "limit", "size")

    def __init__(self, code: Code, limit: int = LEVEL_LIMIT) -> None:
        self.limit = limit
        self.frames: dict[Any, Frame] = {}
        self.level = 0
        self.size = code.size

    @property
    def full(self) -> bool:
        """Whether one context more is too many at this level."""
        if len(self.frames) < self.limit or self.level == COARSEST:
            return False
        return self.level < COARSEST - 1 or len(self.frames) * (self.size + 1) > SLOTS_BY_RECEIVER

    def key(self, func: Func, args: list[Value], has_receiver: bool) -> Any:
        """The context of a call."""
        match self.level:
            case 0:
                return (func, *args)
            case 1:
                return (func, *[kinds(v) for v in args])
            case 2:
                return (func, *_identities(args, has_receiver))
        return (func,)

    def coarsen(self) -> list[Frame]:
        """Goes to the next level; returns the frames that are no longer valid."""
        self.level += 1
        old = list(self.frames.values())
        self.frames = {}
        return old


def _identities(args: list[Value], has_receiver: bool) -> list[Any]:
    """The receiver, and the arguments that are a definition: what a decorator is given."""
    found: list[Any] = []
    for i, value in enumerate(args):
        if i == 0 and has_receiver:
            found.append(_receiver(value))
        elif len(value) == 1 and isinstance(next(iter(value)), Func | Class | Bound | Wrapper):
            found.append((i, value))
    return found


def _receiver(value: Value) -> Value | None:
    """The receiver among the arguments that begin with this value, which may be those of `*args`."""
    if len(value) == 1:
        (obj,) = value
        if isinstance(obj, Tup):
            return obj.items[0] if obj.items else None
    return value


_kinds: dict[Value, Any] = {}


def reset_kinds() -> None:
    """Forgets memoized kinds (between analyses)."""
    _kinds.clear()


def kinds(value: Value) -> Any:
    """What a value is at the second level of contexts: shapes, dtypes and most constants are dropped."""
    found = _kinds.get(value)
    if found is None:
        found = _kinds[value] = frozenset([_kind(obj) for obj in value])
    return found


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
