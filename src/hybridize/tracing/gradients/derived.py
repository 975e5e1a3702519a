"""What functions derive by: the sources of gradients in the extent of a function, as its own arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from hybridize.domain.objects import Container, LibInst, Tup, Value
from hybridize.facts.state.guards import may_hold_tensor
from hybridize.facts.symbolic import parameters_of
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.tracing.state.paths import Origin, before, origins, sites
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

_TAPE: Final = "tf.GradientTape"
_METHODS: Final = {"gradient": "sources", "jacobian": "sources", "batch_jacobian": "source"}
_FORWARD: Final = "tf.autodiff.ForwardAccumulator"
_CALLS: Final = 4


@dataclass(frozen=True, slots=True)
class Derived:
    """A derivative in the extent of a frame: where its sources came from, and the parameters that its target needs."""

    frame: Frame
    sources: frozenset[Origin]
    parameters: tuple[int, ...]
    path: str
    position: int


def derivatives(function: FunctionView) -> Iterator[Derived]:
    """The derivatives by tensors (not by variables) in the extent of each frame of a function."""
    project = function.project
    asking = project.shared("frames that derive", lambda: _asking(project))
    if not asking:
        return
    extents = project.extents
    every = project.shared("frames that derive, as a set", lambda: extents.set_of(asking))
    for frame in function.frames:
        inside = extents.of(frame)
        for each in sorted(extents.frames(inside & every), key=lambda f: f.uid):
            for call, target, source in asking[each]:
                for sources, needed in _ways(FrameView(project, each), call.position, target, source).to(frame):
                    places = range(len(frame.code.params))
                    needs = [i for i in parameters_of(needed) if i in places] if needed >= 0 else []
                    yield Derived(frame, sources, tuple(needs or places), each.code.path, call.position)


def _asking(project: ProjectView) -> dict[Frame, list[tuple[ir.Call, int, int]]]:
    """The calls that derive by tensors, by frame: the call, its target (-1: not told), its sources."""
    found: dict[Frame, list[tuple[ir.Call, int, int]]] = {}
    for code, frames in project.solution.frames.items():
        if not _may_derive(code):
            continue
        for frame in frames:
            calls = [each for each in _calls(FrameView(project, frame)) if each[2] >= 0]
            if calls and not frame.code.is_body:
                found[frame] = calls
    return found


def _may_derive(code: Code) -> bool:
    index = index_of(code)
    return not index.attributes.keys().isdisjoint((*_METHODS, "ForwardAccumulator"))


def _calls(view: FrameView) -> Iterator[tuple[ir.Call, int, int]]:
    for call in index_of(view.code).of(ir.Call):
        made = view.definition(call.function)
        if not isinstance(made, ir.Attr):
            continue
        if made.name in _METHODS and any(isinstance(o, LibInst) and o.cls == _TAPE for o in view.value(made.owner)):
            source = argument(call, 1, _METHODS[made.name])
            if may_hold_tensor(view.value(source)):
                yield call, argument(call, 0, "target"), source
        elif _FORWARD in view.names(call.function) and may_hold_tensor(view.value(argument(call, 0, "primals"))):
            yield call, -1, argument(call, 0, "primals")


def _ways(view: FrameView, position: int, target: int, source: int) -> _Ways:
    """Those to one derivative: of the sources, and of what the target needs."""
    mask = view.mask(target) if target >= 0 else -1
    key = "ways to a derivative", view.frame, position, target, source
    return view.project.shared(key, lambda: _Ways(view, origins(view, source), mask))


class _Ways:
    """Origins and a mask of a frame as those of each function that runs it by a few calls, all found in one walk."""

    def __init__(self, view: FrameView, found: frozenset[Origin], mask: int) -> None:
        self._project = view.project
        self._found: dict[Frame, dict[tuple[frozenset[Origin], int], None]] = {}
        self._seen: dict[tuple[Frame, frozenset[Origin], int], int] = {}
        self._follow(view, found, mask, ())

    def to(self, top: Frame) -> Collection[tuple[frozenset[Origin], int]]:
        """As those of one function."""
        return self._found.get(top, {})

    def _follow(self, view: FrameView, found: frozenset[Origin], mask: int, below: tuple[Frame, ...]) -> None:
        frame, left = view.frame, _CALLS - len(below)
        if frame not in below:  # a way ends where it first gets there
            self._found.setdefault(frame, {})[found, mask] = None
        key = frame, found, mask
        if not left or (self._seen.get(key, 0) >= left and not self._project.extents.is_recursive(frame)):
            return
        self._seen[key] = left
        for caller, pos in sites(frame):
            around = FrameView(self._project, caller)
            lifted = self._project.symbolic.lift(caller, pos, frame, mask) if mask >= 0 else mask
            self._follow(around, before(around, pos, frame, found), lifted, (*below, frame))


def others(derived: Derived) -> frozenset[Origin]:
    """The arguments, beside its sources, that bring tensors which what is derived depends on."""
    frame = derived.frame
    taken = {o.place[2] for o in derived.sources if o.place[:2] == ("param", frame)}
    left = (i for i in derived.parameters if i not in taken and may_hold_tensor(frame.args[i]))
    return frozenset(Origin(("param", frame, i)) for i in left)


def may_be_passed_twice(function: FunctionView) -> Derived | None:
    """A derivative by an argument that another argument may hold: a list or the like, and one of its elements."""
    for each in derivatives(function):
        args = each.frame.args
        by = [o.place[2] for o in each.sources if o.place[:2] == ("param", each.frame)]
        with_ = [o.place[2] for o in others(each)]
        if any(_is_structure(args[i]) or _is_structure(args[k]) for i in by for k in with_):  # type: ignore[call-overload]
            return each
    return None


def _is_structure(value: Value) -> bool:
    return any(isinstance(o, (Tup, Container)) for o in value)
