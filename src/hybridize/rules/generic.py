"""Functions that the class of their argument chooses: `functools.singledispatch`."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Bound, Func, Value, Wrapper
from hybridize.flow.calls import DISPATCHED, dispatching
from hybridize.program.ir import Instr
from hybridize.rules.values import argument
from hybridize.rules.views import FrameView, ProjectView


def is_dispatched(_: ProjectView, value: Value) -> bool:
    """Whether what is called may be such a function."""
    return any(wrapped.kind == "dispatch" for wrapped, _ in _wrappers(value))


def choices(view: FrameView, call: Instr) -> Iterator[tuple[int, Value]]:
    """What a call asks: the slot of the argument that chooses, and the types that functions are registered for."""
    for wrapped, bound in _wrappers(view.value(call[2])):
        slot = argument(call, dispatching(wrapped) - bound) if wrapped.kind == "dispatch" else -1
        for func in wrapped.inner if slot >= 0 else ():
            if isinstance(func, Func) and DISPATCHED in func.fields:
                for kinds, _ in view.project.solution.engine.registered(view.frame, func):
                    yield slot, kinds


def _wrappers(value: Value) -> Iterator[tuple[Wrapper, int]]:
    """The wrapped functions in a value, and how many arguments they are given already."""
    for obj in value:
        if isinstance(obj, Wrapper):
            yield obj, 0
        elif isinstance(obj, Bound) and isinstance(obj.func, Wrapper):
            yield obj.func, 1
