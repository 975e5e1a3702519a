"""Whether what raises while tracing does so for certain: the code runs at each call, and a program calls it.

Somebody who has decorated a function and runs it finds out at once; whoever has not run it yet is told by an error.
"""

from __future__ import annotations

from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Op
from hybridize.rules.processes import programs_of
from hybridize.rules.views import FunctionView

_CALLS = frozenset({"call", "hybrid"})


def is_called(function: FunctionView) -> bool:
    """Whether a program of the project calls a hybrid function itself, and its decorator is always applied."""
    made = function.facts.hybridization
    if made is None or made.conditional or not made.is_decorator:
        return False
    calls = any(how in _CALLS for _, _, _, how in function.callers())
    return calls and any(True for _ in programs_of(function))


def runs_always(frame: Frame, position: int) -> bool:
    """Whether each call of a function comes to an instruction: nothing stands around it, no exit before it."""
    index = index_of(frame.code)
    exits = [instr[-1] for op in (Op.RETURN, Op.RAISE) for instr in index.of(op) if instr[-1] < position]
    return not exits and any(instr[-1] == position for instr in frame.code.body)
