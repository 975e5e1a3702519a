"""Calls of which nobody knows which function they run: of several that the analysis sees, a run takes one."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Bound, Class, Func, Inst, Obj, Wrapper
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame


def is_either(frame: Frame, position: int) -> bool:
    """Whether a call at a position may run one or another function of the project.

    So do calls of what a decorator has captured, of the elements of a list, or of a field, once contexts or objects
    were merged.
    """
    for instr in calls_at(frame.code, position):
        func = frame.vals[instr.function]
        # One object runs one thing, unless it is a wrapper: no need to look what.
        several = func and (len(func) > 1 or isinstance(next(iter(func)), Wrapper))
        if several and len({each for obj in func for each in _runs(obj, 4)}) > 1:
            return True
    return False


def _runs(obj: Obj, depth: int) -> Iterator[object]:
    """What a call of an object runs: the code of a function, or a class whose methods it stands for."""
    if isinstance(obj, Func):
        yield obj.code
    elif isinstance(obj, Bound):
        if isinstance(obj.func, Func):
            yield obj.func.code
        elif isinstance(obj.func, str):
            yield obj.func
    elif isinstance(obj, Inst):
        yield obj.cls
    elif isinstance(obj, Class):
        yield obj
    elif isinstance(obj, Wrapper) and depth:
        for inner in obj.inner:
            yield from _runs(inner, depth - 1)
