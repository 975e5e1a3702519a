"""What code does in graphs that runs while some state is set up: eagerly once, in a graph at every call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Bound, Lib, Tensor
from hybridize.domain.tensors import VARIABLE
from hybridize.facts.origins import callees_at, definitions
from hybridize.flow.frames import Frame
from hybridize.library.acting import acts
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr

#: How the names of methods begin that give a variable another value.
_ASSIGN: Final = ("assign", "scatter_", "batch_scatter_")
_PYTHON: Final = "builtins."
_DEPTH: Final = 3


def acting(frame: Frame, block: Sequence[Instr], depth: int = _DEPTH) -> bool:
    """Whether code, or what it calls, runs operations that check, print, draw, or fill something."""
    for instr in block:
        if not isinstance(instr, ir.Call):
            continue
        called = {frame.ops.get(instr.position, ""), *_library_names(frame, instr)}
        if any(map(acts, called)):
            return True
        for callee, how in callees_at(frame, instr.position) if depth else ():
            if how is How.CALL and callee is not frame and acting(callee, index_of(callee.code).flat, depth - 1):
                return True
    return False


def variables(frame: Frame, block: Sequence[Instr], depth: int = _DEPTH) -> tuple[bool, bool]:
    """Whether code, and what it calls, assigns to variables that it does not make, and whether it makes some before."""
    known = definitions(frame.code)
    assigns = makes = False
    for instr in block:
        if isinstance(instr, ir.Call):
            made = known.get(instr.function)
            assigns = assigns or (isinstance(made, ir.Attr) and str(made.name).startswith(_ASSIGN))
            makes = makes or (_gives_new(frame, instr) and not assigns)
            for callee, how in callees_at(frame, instr.position) if depth else ():
                if how in (How.CALL, How.CONSTRUCTION) and callee is not frame:
                    inner = variables(callee, index_of(callee.code).flat, depth - 1)
                    makes = makes or (inner[1] and not assigns)
                    assigns = assigns or inner[0]
    return assigns, makes


def _gives_new(frame: Frame, call: ir.Call) -> bool:
    """Whether a function of TensorFlow gives a variable: it makes it, as no function of Python does."""
    gives = any(isinstance(o, Tensor) and o.kind == VARIABLE for o in frame.vals[call.target] or ())
    return gives and any(not name.startswith(_PYTHON) for name in _library_names(frame, call))


def _library_names(frame: Frame, call: ir.Call) -> Iterator[str]:
    for obj in frame.vals[call.function] or ():
        if isinstance(obj, Lib):
            yield obj.name
        elif isinstance(obj, Bound) and isinstance(obj.func, str):
            yield obj.func
