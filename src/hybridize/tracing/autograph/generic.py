"""Functions that the class of their argument chooses: `functools.singledispatch`, `multipledispatch`."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Bound, Container, Func, Obj, Tup, Value, Wrapper
from hybridize.flow.calls import DISPATCHED, dispatching
from hybridize.library.python.dispatching import is_dispatcher
from hybridize.program import ir
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, ProjectView


def is_dispatched(_: ProjectView, value: Value) -> bool:
    """Whether what is called may be such a function."""
    return any(wrapped.kind == "dispatch" for wrapped, _ in _wrappers(value)) or any(map(is_dispatcher, value))


def choices(view: FrameView, call: ir.Call) -> Iterator[tuple[int, Value]]:
    """What a call asks: the slot of the argument that chooses, and the types that functions are registered for."""
    for wrapped, bound in _wrappers(view.value(call.function)):
        slot = argument(call, dispatching(wrapped) - bound) if wrapped.kind == "dispatch" else -1
        for func in wrapped.inner if slot >= 0 else ():
            if isinstance(func, Func) and DISPATCHED in func.fields:
                for kinds, _ in view.project.solution.engine.calls.registered(view.frame, func):
                    yield slot, kinds
    for dispatcher in filter(is_dispatcher, view.value(call.function)):
        for i, kinds in _asked(view, dispatcher):
            yield argument(call, i), kinds


def _asked(view: FrameView, dispatcher: Obj) -> dict[tuple[int, Value], None]:
    """The classes that a dispatcher asks for, each with the argument that it asks."""
    engine = view.project.solution.engine
    table: Container = engine.cells.backing(dispatcher, "dict")
    pairs = [pair for cell in table.fields.values() for pair in cell.value if isinstance(pair, Tup)]
    return dict.fromkeys((i, kinds) for pair in pairs for i, kinds in enumerate(pair.items[1:]))


def _wrappers(value: Value) -> Iterator[tuple[Wrapper, int]]:
    """The wrapped functions in a value, and how many arguments they are given already."""
    for obj in value:
        if isinstance(obj, Wrapper):
            yield obj, 0
        elif isinstance(obj, Bound) and isinstance(obj.func, Wrapper):
            yield obj.func, 1
