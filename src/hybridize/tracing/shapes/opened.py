"""Dims that a function of the project gets or gives and that a graph does not know: through helpers, and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeAlias

from hybridize.domain.calls import DIRECT, How
from hybridize.domain.objects import Lit, Tensor
from hybridize.facts.origins import call_at, called_at, passed_slots
from hybridize.flow.frames import Frame
from hybridize.library.dialect import TENSOR_LIBRARIES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.tracing.values import has_tensor
from hybridize.tracing.views import FrameView, ProjectView

#: Places of dims from the start; none: every dim, the rank included.
Dims: TypeAlias = tuple[int, ...]
#: Tells which dims of a slot a graph does not know.
Ask: TypeAlias = "Callable[[FrameView, int], Dims | None]"
#: So many calls are followed into each other.
_CALLS: Final = 4
_RETURNS: Final = DIRECT | {How.KERAS, How.OPERATOR}
_PROPERTY: Final = frozenset({How.PROPERTY})
_WRAPPED: Final = frozenset({How.HYBRID, How.KERAS})


class OpenView(FrameView):
    """A function whose parameters in `given` have dims that a graph does not know: another function computed them."""

    __slots__ = ("given", "level")

    def __init__(self, project: ProjectView, frame: Frame, given: dict[int, Dims], level: int) -> None:
        super().__init__(project, frame)
        self.given = given
        self.level = level


def given_to(view: FrameView) -> tuple[tuple[int, Dims], ...]:
    """What a view takes to be unknown of its parameters."""
    return tuple(sorted(view.given.items())) if isinstance(view, OpenView) else ()


def level_of(view: FrameView) -> int:
    """How many calls lead to a view from the function that is asked about."""
    return view.level if isinstance(view, OpenView) else 0


def opened(view: FrameView, pos: int, callee: Frame, ask: Ask) -> OpenView | None:
    """A callee as a call at a position runs it; None where calls are not followed that far."""
    if level_of(view) >= _CALLS or callee.gone:
        return None
    given: dict[int, Dims] = {}
    for index, param in enumerate(callee.code.params):
        for slot in passed(view, pos, callee, index) or ():
            dims = ask(view, slot) if has_tensor(view.value(slot), arrays=False) else None
            if dims is not None and has_tensor(callee.args[index], arrays=False):
                given[param.slot] = dims
    return OpenView(view.project, callee, given, level_of(view) + 1)


def passed(view: FrameView, pos: int, callee: Frame, index: int) -> list[int] | None:
    """The slots that a call passes for a parameter, that of a graph or layer too; None where that cannot be told."""
    slots = passed_slots(view.frame, pos, callee, index)
    if slots is None and view.frame.calls.get((pos, callee)) in _WRAPPED:
        return _by_place(view, pos, callee, index)
    return slots


def returned(view: FrameView, call: ir.Call, ask: Ask, element: int | None = None) -> Dims | None:
    """The unknown dims of what a function of the project returns to a call, or of one element of that tuple."""
    if any(name.startswith(TENSOR_LIBRARIES) for name in view.names(call.function)):
        return None
    return _of_any(view, call.position, _RETURNS, ask, element)


def computed(view: FrameView, read: ir.Attr, ask: Ask) -> Dims | None:
    """The unknown dims of what a property of the project gives."""
    return _of_any(view, read.position, _PROPERTY, ask, None)


def _of_any(view: FrameView, pos: int, hows: Collection[How], ask: Ask, element: int | None) -> Dims | None:
    """The unknown dims of what a function at a position returns that is called in one of some ways."""
    callees = called_at(view.frame, pos, hows)
    known: dict[object, Dims | None] = view.project.shared("dims of results", dict)
    for callee in callees:  # of several, one is enough
        inner = opened(view, pos, callee, ask)
        if inner is None or not _computes(callee):
            continue
        key = (callee, element, given_to(inner), inner.level)
        if key not in known:
            known[key] = None  # of a recursive call
            known[key] = _result(inner, ask, element)
        if known[key] is not None:
            return known[key]
    return None


def _by_place(view: FrameView, pos: int, callee: Frame, index: int) -> list[int]:
    """The slots that the call of a graph, or of a layer, passes for a parameter of the function behind it."""
    call = call_at(view.code, pos)
    if call is None or any(starred for _, starred in call.arguments):
        return []
    named = [slot for name, slot in call.keywords if name == callee.code.params[index].name]
    place = index - FrameView(view.project, callee).has_receiver
    return named or [slot for slot, _ in call.arguments[place : place + 1] if place >= 0]


def _computes(frame: Frame) -> bool:
    """Whether a function runs operations, or calls functions that may."""
    return bool(frame.ops or frame.calls)


def _result(inner: OpenView, ask: Ask, element: int | None) -> Dims | None:
    for instr in index_of(inner.code).of(ir.Return):
        slot = instr.value
        if element is not None:
            made = inner.definition(slot)
            parts = made.elements if isinstance(made, ir.Sequence) else ()
            if element >= len(parts) or any(starred for _, starred in parts):
                continue
            slot = parts[element][0]
        found = ask(inner, slot)
        if found is not None:
            return found
    return None


def indexed(view: FrameView, made: ir.Item, dims: Dims) -> Dims | None:
    """The unknown dims of `x[...]`, where those of x are known to be unknown."""
    index = view.definition(made.index)
    if not dims or (index is None and not view.value(made.index)):
        return None
    if isinstance(index, ir.Tuple):
        if any(starred for _, starred in index.elements):
            return None
        parts = [slot for slot, _ in index.elements]
    else:
        parts = [made.index]
    found: list[int] = []
    place = result = 0
    for part in parts:
        inner = view.definition(part)
        constants = {o.const for o in view.value(part) if isinstance(o, Lit)}
        if isinstance(inner, ir.Slice):
            found += [result] * (place in dims)
            place, result = place + 1, result + 1
        elif constants == {None}:
            result += 1
        elif any(isinstance(o, Tensor) and o.shape != () for o in view.value(part)) or ... in constants:
            return None
        else:
            place += 1
    found += [d - place + result for d in dims if d >= place]
    return tuple(found) or None


def moved(name: str, view: FrameView, call: ir.Call, dims: Dims) -> Dims | None:
    """The unknown dims of what an operation gives that adds or takes one axis of its first operand."""
    axes = [o.const for slot in _axis_slots(call) for o in view.value(slot) if isinstance(o, Lit)]
    if len(axes) != 1 or type(axes[0]) is not int or axes[0] < 0 or not dims:
        return None
    axis = axes[0]
    if name == "tf.expand_dims":
        return tuple(d + (d >= axis) for d in dims)
    if any(
        isinstance(o, Lit) and o.const is True
        for key, slot in call.keywords
        if key == "keepdims"
        for o in view.value(slot)
    ):
        return tuple(d for d in dims if d != axis) or None
    return tuple(d - (d > axis) for d in dims if d != axis) or None


def _axis_slots(call: ir.Call) -> Iterator[int]:
    yield from (slot for key, slot in call.keywords if key == "axis")
    if len(call.arguments) > 1:
        yield call.arguments[1][0]
