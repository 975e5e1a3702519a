"""Variables of optimizers that a function makes under a condition on its arguments, which a later call is the first to
meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import SEEN
from hybridize.domain.objects import Inst, LibInst, Obj, Unknown
from hybridize.facts.calls.pruned import Pruned, conditions
from hybridize.facts.model import FunctionKind
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.tracing.keras.building import is_built
from hybridize.tracing.retraced.lifetimes import lifetimes
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: What lets an optimizer take a step, at the first of which it makes its variables.
STEPS: Final = frozenset({"apply_gradients", "minimize", "apply"})
_PLAIN: Final = frozenset({"keras.optimizers.SGD", "keras.optimizers.legacy.SGD"})
_STEP: Final = "apply_gradients"  # nothing but optimizers has a method of this name


def is_optimizer(project: ProjectView, obj: object) -> bool:
    """Whether an object is an optimizer of Keras, or of a class that derives from one."""
    if not isinstance(obj, (Inst, LibInst)):
        return False
    return any(n.startswith("keras.optimizers.") for n in registry.mro_names(obj))


def is_steady(obj: Obj) -> bool:
    """Whether an optimizer goes down the gradient without momentum: it needs no variables but its own."""
    if not isinstance(obj, (Inst, LibInst)) or _PLAIN.isdisjoint(registry.mro_names(obj)[:1]):
        return False
    code, position = obj.site
    made = [i for i in index_of(code).at(position) if isinstance(i, ir.Call)] if isinstance(code, Code) else []
    return bool(made) and all(
        len(i.arguments) < 2 and not any(starred for _, starred in i.arguments) and _is_plain(i) for i in made
    )


def _is_plain(call: ir.Call) -> bool:
    return all(key not in ("momentum", "**", None) for key, _ in call.keywords)


def stepping(function: FunctionView) -> list[Frame]:
    """The frames of a function's traced extent that let some object take a step."""
    project, extents = function.project, function.project.extents

    def find() -> int:
        every = (frame for frames in project.solution.frames.values() for frame in frames)
        return extents.set_of(f for f in every if not STEPS.isdisjoint(index_of(f.code).attributes))

    found = extents.of_all(function.frames) & project.shared("optimizer steps", find)
    return sorted(extents.frames(found), key=lambda frame: frame.uid)


def comes_again(function: FunctionView, objects: set[Obj]) -> bool:
    """Whether a loop makes one such object after the other: a function of a module has its graphs for all of them."""
    if len(objects) != 1 or function.facts.kind is not FunctionKind.FUNCTION:
        return False
    made = next(iter(objects))
    if not isinstance(made, (Inst, LibInst)):
        return False
    frames = [f for f in function.project.solution.frames.get(made.site[0], ()) if f.uid == made.frame]
    return any(lifetimes(function.project).is_looped(frame, made.site[1]) for frame in frames)


def made_late(function: FunctionView) -> Iterator[tuple[int, str]]:
    """Places in the function that make variables which its first call does not make: position, and what is made."""
    asked = conditions(function.code)
    if not asked:
        return
    for frame in function.frames:
        for pos, what in _makers(function, frame):
            if asked.get(pos) and _comes_second(function, pos):
                yield pos, what


def _makers(function: FunctionView, frame: Frame) -> Iterator[tuple[int, str]]:
    """The places in a frame where an optimizer without variables takes a step."""
    project, view = function.project, FrameView(function.project, frame)
    for instr in index_of(frame.code).of(ir.Attr):
        if instr.name in STEPS:
            found = [o for o in view.value(instr.owner) if isinstance(o, (Inst, LibInst)) and is_optimizer(project, o)]
            foreign = instr.name == _STEP and any(isinstance(o, Unknown) for o in view.value(instr.owner))
            if foreign or (found and not all(is_built(project, o) for o in found)):
                yield instr.position, "an optimizer makes its variables"


def _comes_second(function: FunctionView, pos: int) -> bool:
    """Whether the first of the function's calls does not get to a place, and a later one does."""
    place = (function.code.path, pos)
    sites = list(function.called_by(SEEN))
    if len({caller.code for caller, _, _ in sites}) != 1 or len({at for _, at, _ in sites}) < 2:
        return False
    misses: dict[int, set[bool]] = {}
    for caller, at, callee in sites:
        misses.setdefault(at, set()).add(_misses(function.project, caller, at, callee, place))
    first = min(misses)
    return misses[first] == {True} and any(found == {False} for found in misses.values())


def _misses(project: ProjectView, caller: Frame, at: int, callee: Frame, place: tuple[str, int]) -> bool:
    """Whether a call does not get to a place: its own arguments decide, or what its frame was given has decided."""
    if place in Pruned(caller, at, callee, again=project.extents.is_recursive(callee)):
        return True
    return all(
        callee.vals[i.target] is None
        for i in index_of(callee.code).at(place[1])
        if isinstance(i.target, int) and i.target >= 0
    )
