"""Gradient tapes from outside of a function that record and differentiate only what it computes itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.closure import closure
from hybridize.domain.calls import SEEN
from hybridize.domain.objects import Inst, LibInst, Lit, Tensor
from hybridize.domain.tensors import VARIABLE
from hybridize.facts.origins import called_at, callees_at, calls_at, definitions
from hybridize.facts.state.guards import holds_plain_tensor
from hybridize.flow.frames import Frame
from hybridize.library.dialect import DERIVES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments, operands
from hybridize.tracing.views import FunctionView, ProjectView

_TAPE: Final = "tf.GradientTape"
_STEPS: Final = 60
#: What carries on what was recorded.
_CARRIES: Final = (ir.Passing, ir.Attr, ir.Item, ir.Unpack, ir.Sequence, ir.Call, ir.Computed)


def all_inside(function: FunctionView, tapes: Sequence[LibInst], extent: int) -> bool:
    """Whether every gradient of some tapes is asked for in the extent of a function, of what is computed there.

    Such a tape records the operations of the graph, and what it is asked for is what it has recorded. What its
    caller has computed under the tape, or has it watch, is unknown to the graph.
    """
    extents = function.project.extents
    asked = function.project.shared("gradients of tapes", lambda: _gradients(function.project))
    frames = [frame for tape in tapes for frame in asked.get(tape, ())]
    if not frames or not all(extents.set_of([frame]) & extent for frame in frames):
        return False
    callers = [(caller, pos) for caller, pos, _ in function.called_by(SEEN)]
    return bool(callers) and not any(_passes_recorded(caller, pos, tapes) for caller, pos in callers)


def opening_tapes(project: ProjectView) -> list[Frame]:
    """The frames that open gradient tapes."""
    return project.shared("frames that open tapes", lambda: list(_opening(project)))


def _opening(project: ProjectView) -> Iterator[Frame]:
    for code, frames in project.solution.frames.items():
        opened = [instr.source for instr in index_of(code).of(ir.Enter)]
        for frame in frames if opened else ():
            if any(isinstance(o, LibInst) and o.cls == _TAPE for slot in opened for o in frame.vals[slot] or ()):
                yield frame


def _gradients(project: ProjectView) -> dict[LibInst, list[Frame]]:
    """The frames that ask each tape for gradients, or have it watch something."""
    found: dict[LibInst, list[Frame]] = {}
    for code, frames in project.solution.frames.items():
        for slot in _asking(code):
            for frame in frames:
                for obj in frame.vals[slot] or ():
                    if isinstance(obj, LibInst) and obj.cls == _TAPE:
                        found.setdefault(obj, []).append(frame)
    return found


def _asking(code: Code) -> Iterator[int]:
    attributes = index_of(code).attributes
    for name in (*DERIVES, "watch"):
        for instr in attributes.get(name, ()):
            yield instr.owner


def _passes_recorded(caller: Frame, pos: int, tapes: Sequence[LibInst]) -> bool:
    """Whether a call passes what was computed from variables or by layers while the tape was open."""
    opened = [i for i in index_of(caller.code).of(ir.Enter) if any(t in (caller.vals[i.source] or ()) for t in tapes)]
    if not opened:
        return True  # it comes from further away
    start = min(instr.position for instr in opened)
    return any(
        holds_plain_tensor(caller.vals[slot] or frozenset()) and _is_recorded(caller, slot, start)
        for call in calls_at(caller.code, pos)
        for slot in arguments(call)
        if slot >= 0
    )


def _is_recorded(caller: Frame, slot: int, start: int) -> bool:
    known = definitions(caller.code)

    def inside(each: int) -> list[int]:
        made = known.get(each)
        return [] if made is None or made.position < start else _used(made)

    for i, each in enumerate(closure([slot], inside)):
        made = known.get(each)
        called = isinstance(made, ir.Call) and made.position >= start and _is_of_project(caller, made)
        variable = each != slot and any(isinstance(o, Tensor) and o.kind == VARIABLE for o in caller.vals[each] or ())
        if called or variable or i >= _STEPS:
            return True
    return False


def _is_of_project(caller: Frame, call: ir.Call) -> bool:
    """Whether a call runs code of the project, or a layer: either may use variables."""
    called = caller.vals[call.function] or ()
    return bool(callees_at(caller, call.position)) or any(isinstance(o, (Inst, LibInst)) for o in called)


# Results that are derived by other results ----------------------------------------------------------------------------


def by_own_results(function: FunctionView) -> Iterator[tuple[ir.Return, Frame, ir.Call]]:
    """Results of which a caller derives one by another that it is computed from: the result, the caller, the call.

    To a tape the call of a graph is one operation, so that none of its results depends on another one.
    """
    project = function.project
    asked = project.shared("gradients of tapes", lambda: _gradients(project))
    asking = project.shared("frames with gradients", lambda: {frame for frames in asked.values() for frame in frames})
    for caller, pos, frame in function.called_by(SEEN) if asking else ():
        if caller not in asking:
            continue
        for result in index_of(frame.code).of(ir.Return):
            pairs = _pairs(function, frame, result)
            for call in calls_at(caller.code, pos) if pairs else ():
                parts = _parts(caller, call.target)
                for derives in _derivatives(caller):
                    target, *sources = _flat(caller, [slot for slot, _ in derives.arguments[:2]])
                    if any(
                        parts.get(source) == i and any(_leads(caller, target, s) for s, k in parts.items() if k == j)
                        for source in sources
                        for i, j in pairs
                    ):
                        yield result, caller, derives


def _pairs(function: FunctionView, frame: Frame, result: ir.Return) -> list[tuple[int, int]]:
    """What `_depending` gives, for all callers of the frame."""
    return function.project.shared(("depending", frame, id(result)), lambda: list(_depending(frame, result)))


def _depending(frame: Frame, result: ir.Return, depth: int = 3) -> Iterator[tuple[int, int]]:
    """The places in the tuple of a result: of an element, and of another one that is computed from it."""
    made = definitions(frame.code).get(result.value)
    if isinstance(made, ir.Call) and depth:
        for callee in called_at(frame, made.position):
            for inner in index_of(callee.code).of(ir.Return):
                yield from _depending(callee, inner, depth - 1)
    if not isinstance(made, ir.Sequence) or any(starred for _, starred in made.elements):
        return
    slots = [slot for slot, _ in made.elements]
    for i, first in enumerate(slots):
        for j, second in enumerate(slots):
            if i != j and first != second and _leads(frame, second, first):
                yield i, j


def _parts(caller: Frame, slot: int) -> dict[int, int]:
    """The slots that hold the elements of a tuple, with their places in it."""
    found: dict[int, int] = {}
    for unpack in index_of(caller.code).of(ir.Unpack):
        if unpack.source == slot and unpack.star < 0:
            found.update((part, i) for i, part in enumerate(unpack.targets))
    for item in index_of(caller.code).of(ir.Item):
        place = next((o.const for o in caller.vals[item.index] or () if isinstance(o, Lit)), None)
        if item.source == slot and isinstance(place, int):
            found[item.target] = place
    return found


def _derivatives(caller: Frame) -> Iterator[ir.Call]:
    """The calls of methods of tapes that derive, target and source given by place."""
    known = definitions(caller.code)
    for call in index_of(caller.code).of(ir.Call):
        method = known.get(call.function)
        if not isinstance(method, ir.Attr) or method.name not in DERIVES or len(call.arguments) < 2:
            continue
        if any(isinstance(o, LibInst) and o.cls == _TAPE for o in caller.vals[method.owner] or ()):
            yield call


def _flat(caller: Frame, given: list[int]) -> list[int]:
    """The target and the sources, those in a display one by one."""
    made = definitions(caller.code).get(given[1])
    return [given[0], *operands(made)] if isinstance(made, ir.Sequence) else given


def _leads(frame: Frame, slot: int, source: int) -> bool:
    """Whether a value is computed from another one of the frame, or is that."""
    known = definitions(frame.code)
    used = closure([slot], lambda each: _used(known[each]) if each in known else (), _STEPS)
    return source in used


def _used(made: Instr) -> list[int]:
    if isinstance(made, ir.Item):
        return [made.source]
    return operands(made) if isinstance(made, _CARRIES) else []
