"""Which models and layers have their weights when a function is first called, and which get them later.

A model makes its weights when it is first called on data, unless its shapes are known before. Code is walked in the
order of its lines, callees where they are called: what is called on the way has its weights from there on, and so has
what holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Final

from hybridize.domain.calls import NOT_TRACED, TRACED
from hybridize.domain.objects import Container, Inst, LibInst, Obj, Tup, Value
from hybridize.domain.session import solved
from hybridize.facts.calls.extents import Having
from hybridize.facts.calls.work import Counts
from hybridize.flow.frames import Frame
from hybridize.library.dialect import LAYERS
from hybridize.library.keras.running import STEP_OF
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.tracing.keras.building import is_built, owns_weights
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

_LAYERS: Final = (*LAYERS, "keras.models.")
#: Methods that run a model, or give it its weights.
_RUNS: Final = frozenset({"__call__", "call", "build", "summary", *STEP_OF})
_DEPTH: Final = 4
_STEPS: Final = 300


def is_lazy(project: ProjectView, obj: Obj, depth: int = 0) -> bool:
    """Whether a model or layer of Keras gets weights only when it is first called."""
    known: dict[tuple[Obj, int], bool] = project.shared("lazily built", dict)
    if (obj, depth) not in known:
        known[obj, depth] = _is_lazy(project, obj, depth)
    return known[obj, depth]


def _is_lazy(project: ProjectView, obj: Obj, depth: int) -> bool:
    if not isinstance(obj, (Inst, LibInst)) or is_built(project, obj):
        return False
    outputs = obj.fields.get("$outputs")
    if outputs is not None and outputs.value:
        return False
    if owns_weights(project, obj):
        return True
    if isinstance(obj, LibInst):
        return False
    if not any(name.startswith(_LAYERS) for name in obj.cls.library):
        return False
    return depth < _DEPTH and any(is_lazy(project, held, depth + 1) for held in _held(obj))


def _held(obj: Inst | LibInst) -> Iterator[Obj]:
    """What is in the fields of an object, and in lists there."""
    for cell in list(obj.fields.values()):
        for held in cell.value:
            if isinstance(held, Container):
                yield from (o for inner in list(held.fields.values()) for o in inner.value)
                yield from held.rest.value if held.rest is not None else ()
            elif isinstance(held, Tup):
                yield from (o for item in held.items for o in item)
            else:
                yield held


class Walk:
    """Walks what a call runs; `built` are the objects that are run on the way."""

    def __init__(self, project: ProjectView, built: Set[Obj] = frozenset()) -> None:
        self.project = project
        self.built: set[Obj] = set(built)
        self._seen: set[Frame] = set()

    def reads(self, frame: Frame, names: frozenset[str]) -> Iterator[tuple[Frame, ir.Attr, Obj]]:
        """The places where one of some attributes is read of what is lazy and not built by then."""
        if frame in self._seen or len(self._seen) > _STEPS:
            return
        self._seen.add(frame)
        callees = self._callees(frame)
        for instr in self.project.shared(("reads or calls", names, frame.code), lambda: _asking(frame.code, names)):
            if isinstance(instr, ir.Attr):
                for obj in frame.vals[instr.owner] or ():
                    if is_lazy(self.project, obj) and not self.is_run(obj):
                        yield frame, instr, obj
            else:
                for callee in callees.pop(instr.position, ()):
                    yield from self.reads(callee, names)
                self._run(frame, instr)

    def until(self, frame: Frame, position: int) -> None:
        """Runs what stands before a place of a frame for certain, not under a condition."""
        counts: Counts = self.project.shared("counts of runs", Counts)
        share, callees = counts.places(frame.code).share, self._callees(frame)
        for instr in self.project.symbolic.instructions(frame.code):
            pos = instr.position
            if isinstance(instr, ir.Call) and pos < position and pos not in share:
                for callee in callees.pop(pos, ()):
                    for _ in self.reads(callee, frozenset()):
                        pass
                self._run(frame, instr)

    def _callees(self, frame: Frame) -> dict[int, list[Frame]]:
        """What a frame calls as part of itself, by position."""
        found: dict[int, list[Frame]] = {}
        for pos, callee, how in self.project.extents.calls(frame):
            if how not in NOT_TRACED:
                found.setdefault(pos, []).append(callee)
        return found

    def _run(self, frame: Frame, call: ir.Call) -> None:
        self.built |= {o for o in frame.vals[call.function] or () if isinstance(o, (Inst, LibInst))}
        view = FrameView(self.project, frame)
        made = view.definition(call.function)
        if isinstance(made, ir.Attr) and made.name in _RUNS:
            self.built |= {o for o in view.value(made.owner) if isinstance(o, (Inst, LibInst))}

    def is_run(self, obj: Obj) -> bool:
        """Whether an object was called, or some of what it holds, which is taken for all."""
        todo, seen = [obj], {obj}
        for _ in range(_DEPTH + 1):
            if not self.built.isdisjoint(todo):
                return True
            new = {o for each in todo if isinstance(each, (Inst, LibInst)) for o in _held(each)} - seen
            seen |= new
            todo = list(new)
        return False


def _asking(code: Code, names: frozenset[str]) -> list[ir.Attr | ir.Call]:
    """The calls of a function, and where it reads one of some attributes, in order."""
    return [i for i in index_of(code).flat if isinstance(i, ir.Call) or (isinstance(i, ir.Attr) and i.name in names)]


@solved
def early(project: ProjectView) -> frozenset[Obj]:
    """What is run while objects are constructed, before anything calls their methods."""
    walk = Walk(project)
    for frames in project.solution.frames.values():
        for frame in frames:
            if frame.code.name == "__init__":
                walk.until(frame, frame.code.end_line + 1 << 16)
    return frozenset(walk.built)


def before(function: FunctionView) -> frozenset[Obj]:
    """What has run before each call of a function that is seen: in the constructors, or before it in its callers."""
    project = function.project
    sites = [(caller, pos) for caller, pos, _ in function.called_by(TRACED)]
    if not sites:
        return early(project)
    found: Value | None = None
    for caller, pos in sites:
        walk = Walk(project, early(project))
        walk.until(caller, pos)
        found = frozenset(walk.built) if found is None else found & walk.built
    return found or frozenset()


def _mentions(frame: Frame, names: frozenset[str]) -> bool:
    return any(name in index_of(frame.code).attributes for name in names)


def unbuilt(function: FunctionView, names: Iterable[str]) -> Iterator[tuple[Frame, ir.Attr, Obj]]:
    """Where a function or its callees read one of some attributes of what may have no weights at the first call."""
    asked = frozenset(names)
    project = function.project
    readers: Having = project.shared(
        ("readers", asked), lambda: project.extents.having(lambda frame: _mentions(frame, asked))
    )
    if not readers.within(project.extents.of_all(function.frames)):
        return
    built: frozenset[Obj] | None = None
    for frame in function.frames:
        for place in Walk(project).reads(frame, asked):
            built = before(function) if built is None else built
            if not Walk(project, built).is_run(place[2]):
                yield place
