"""Frames: a function in one calling context, with the values of its slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import collapse, join, widen
from hybridize.domain.objects import BOTTOM, Cell, Class, Func, Mod, Obj, Value
from hybridize.program.ir import Code

#: After so many changes of one place, its value is widened instead of joined.
PATIENCE: Final = 8


class ExhaustedError(Exception):
    """Following the function that runs has cost all that it may."""


#: What a class is asked for by who looks at all of its instances.
INSTANCES: Final = "<instances>", 0

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


#: The inputs of a step that is to be executed in any case.
NOTHING: Final = object()
#: What a step notes: an effect, a call, an operation, and one that any other at its place stands before.
EFFECT: Final = 0
CALLED: Final = 1
COMPUTED: Final = 2
COMPUTED_ELSE: Final = 3
_ITEM: Final = "tf.getitem"


class Step:
    """What reads cells and calls functions for a frame: one instruction, or (`Frame.base`) all that have no step.

    A frame that runs again executes such an instruction only if it is given something else (`inputs`) or something that
    it has read is no longer as it was (`dirty`); else it has the `result` and notes what is in `log` (`flow.steps`).
    """

    __slots__ = ("dirty", "frame", "inputs", "log", "result", "runs", "seen")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.inputs: Any = NOTHING
        self.result: Value | None = None
        self.log: Sequence[tuple[int, Any, Any]] = ()
        self.dirty = False
        self.runs = 0  # the run of the frame that last executed it: what it read in earlier ones no longer counts
        self.seen = 0  # the run of the frame that last came to it


class Frame:
    """A function (or module, class body, lambda) in one context."""

    __slots__ = (
        "args",
        "around",
        "base",
        "bound",
        "callers",
        "calls",
        "cells",
        "code",
        "common",
        "dead",
        "doubts",
        "earlier",
        "edges",
        "effects",
        "ended",
        "exhausted",
        "explicit",
        "filled",
        "func",
        "grown",
        "handed",
        "incoming",
        "key",
        "lenient",
        "log",
        "looking",
        "looping",
        "mixed",
        "module",
        "namespace",
        "ops",
        "phase",
        "queued",
        "rank",
        "ret",
        "roots",
        "running",
        "runs",
        "sites",
        "stale",
        "step",
        "steps",
        "stuck",
        "symbolic",
        "turn",
        "uid",
        "uses",
        "vals",
        "volatile",
        "waiters",
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
        self.handed = -1  # the parameter that it gives back as it came (`flow.handed`)
        self.callers: dict[Frame, None] = {}
        self.waiters: dict[Step, int] = {}  # the steps that go on with what this frame gives, as the readers of a cell
        self.incoming: dict[tuple[Frame | None, int], list[Value]] = {}
        self.calls: dict[tuple[int, Frame], How] = {}
        self.earlier: dict[tuple[int, Frame], How] = {}  # while it runs: the calls of the run before
        self.roots: dict[tuple[int, Frame], None] = {}  # what the unknown caller calls from the place of this frame
        self.common: Any = None  # of a frame that only stands for what several ask for: what they get (`Cells.shared`)
        self.uses = 0  # how many call sites go here, of frames that are in use themselves
        self.stale = False  # out of use, and behind what it depends on
        self.bound = False  # called with a receiver
        self.mixed: set[tuple[Frame, int]] = set()  # the calls where that is otherwise
        self.sites: dict[tuple[int, Func], Frame] = {}  # the frame that each call of a function last went to
        self.effects: dict[tuple[str, Obj | None, int], Effect] = {}
        self.ops: dict[int, str] = {}
        self.steps: dict[int, Step] = {}  # of the instructions that have one
        self.step = self.base = Step(self)  # that which runs
        self.looking: dict[Step, None] = {}  # those that look at the arguments themselves
        self.log: list[tuple[int, Any, Any]] = []  # what the steps of this run have noted
        self.volatile = False  # the step that runs rests on more than what it is given and reads
        self.symbolic = False
        self.turn: tuple[int, ...] = ()  # the turns of the loops that are being followed item by item
        self.around: tuple[int | None, ...] = ()  # how many turns the loops take that are being executed
        self.filled: dict[int, int] = {}  # the elements so far, by slot, of comprehensions with loops in loops
        self.doubts = 0  # branches around the present place that may not be taken (where appends are counted)
        self.queued = False
        self.rank = 0  # above that of every function it calls, but for recursion: callees go first
        self.running = False
        self.dead = False
        self.lenient = False
        self.looping = False  # in a loop that keeps what a call gave at first
        self.stuck = False
        self.ended = False  # some path of the last run raises, or ends in a call that does not come back
        self.exhausted = False  # no longer followed: what it does is unknown
        self.grown = 0
        self.runs = 0
        self.phase = 0

    @property
    def gone(self) -> bool:
        """Whether no call of the program runs this frame any more."""
        return self.dead or not self.uses

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
                        new = collapse(new, 0) if self.grown > 16 * PATIENCE else collapse(new)
                if new != old:
                    mine[i] = new
                    changed = True
        if changed:
            self.grown += 1
            for step in self.looking:
                step.dirty = True
        return changed

    def looks_at_arguments(self) -> None:
        """Notes that the step that runs looks at what the function is given: it is executed again when that grows."""
        self.looking[self.step] = None

    def started_by(self, caller: Frame, position: int) -> bool:
        """Whether a call is that of the unknown caller: at the definition itself, where the program has no call."""
        return position == self.code.position and caller.code.path == self.code.path

    def seen_calls(self) -> Iterator[tuple[Frame, int, list[Value]]]:
        """The calls that the program makes, where they stand, and what they pass: not those of the unknown caller."""
        for (caller, pos), args in self.incoming.items():
            if caller is not None and not self.started_by(caller, pos):
                yield caller, pos, args

    def is_shared(self, passed: list[Value]) -> bool:
        """Whether it was given more than what one call passes: contexts have been merged."""
        for mine, given in zip(self.args, passed, strict=True):
            if mine is not given:
                return True
        return False

    def effect(self, kind: str, target: Obj | None, detail: str, position: int) -> Effect:
        """Notes an effect of this frame's own instructions."""
        key = (kind, target, position)
        found = self.effects.get(key)
        if found is None:
            found = self.effects[key] = Effect(kind, target, detail, position)
        self.log.append((EFFECT, key, found))
        return found

    def computes(self, position: int, name: str) -> None:
        """Notes that an operation on tensors is computed."""
        self.ops[position] = name
        self.log.append((COMPUTED, position, name))

    def computes_else(self, position: int, name: str) -> None:
        """Notes that an operation on tensors is computed, unless another one is at this place."""
        self.ops.setdefault(position, name)
        self.log.append((COMPUTED_ELSE, position, name))

    def computes_operator(self, position: int, name: str) -> None:
        """Notes that an operator computes; a call on its left stands at the same place, and says more."""
        first = self.ops.get(position, _ITEM) == _ITEM
        (self.computes if first else self.computes_else)(position, name)

    def __repr__(self) -> str:
        return f"<frame {self.uid} {self.code.qualname}>"
