"""What code does in graphs that runs while some state is set up: eagerly once, in a graph at every call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.calls import BY_CALL, How
from hybridize.domain.objects import Bound, Lib
from hybridize.facts.origins import called_at, definitions
from hybridize.flow.frames import Frame
from hybridize.library.acting import acts
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr

#: How the names of methods begin that give a variable another value.
_ASSIGN: Final = ("assign", "scatter_", "batch_scatter_")
_DEPTH: Final = 3
_MAKES: Final = BY_CALL | {How.CONSTRUCTION}


def acting(frame: Frame, block: Sequence[Instr], depth: int = _DEPTH) -> bool:
    """Whether code, or what it calls, runs operations that check, print, draw, or fill something."""
    for instr in block:
        if not isinstance(instr, ir.Call):
            continue
        called = {frame.ops.get(instr.position, ""), *_library_names(frame, instr)}
        if any(map(acts, called)):
            return True
        for callee in called_at(frame, instr.position, BY_CALL) if depth else ():
            if callee is not frame and acting(callee, index_of(callee.code).flat, depth - 1):
                return True
    return False


def assigns(frame: Frame, block: Sequence[Instr], depth: int = _DEPTH) -> bool:
    """Whether code, or what it calls, gives variables other values: of those that it makes, too.

    Where TensorFlow can make them before the graph runs, the first call runs a second trace, that made none.
    """
    known = definitions(frame.code)
    for instr in block:
        if not isinstance(instr, ir.Call):
            continue
        made = known.get(instr.function)
        if isinstance(made, ir.Attr) and str(made.name).startswith(_ASSIGN):
            return True
        for callee in called_at(frame, instr.position, _MAKES) if depth else ():
            if callee is not frame and assigns(callee, index_of(callee.code).flat, depth - 1):
                return True
    return False


def _library_names(frame: Frame, call: ir.Call) -> Iterator[str]:
    for obj in frame.vals[call.function] or ():
        if isinstance(obj, Lib):
            yield obj.name
        elif isinstance(obj, Bound) and isinstance(obj.func, str):
            yield obj.func
