"""Variables that one graph passes to another, which keeps them inside: in a branch, a loop or a graph of its own.

Measured with TensorFlow 2.15 and 2.21: such a part holds the variable of the trace weakly. The next object's variable
finds that trace again, and where the first object is gone by then it raises ("variables which have been deleted").
Called by eager code, or without such parts, the inner graph is right for every variable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hybridize.domain.calls import DIRECT, NOT_TRACED, How
from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import VARIABLE
from hybridize.facts.calls.callgraph import extent
from hybridize.facts.calls.work import staged
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_of
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.tracing.views import ProjectView


def kept_variable(project: ProjectView, frames: Iterable[Frame], hybrids: Collection[Code]) -> Evidence | None:
    """A call in the graph of a function that would pass a variable to another that keeps it; None for none."""
    for frame in extent(frames, NOT_TRACED | {How.HYBRID}):
        for pos, callee in sorted(calls_of(frame, DIRECT), key=lambda call: (call[0], call[1].uid)):
            if callee.code in hybrids and stages(project, callee):
                args = callee.incoming.get((frame, pos), callee.args)
                if any(isinstance(o, Tensor) and o.kind == VARIABLE for value in args for o in value):
                    said = f"passes a variable to `{callee.code.qualname}`, whose graph keeps that of its first trace"
                    return Evidence(said, frame.code.path, pos >> 16)
    return None


def stages(project: ProjectView, frame: Frame) -> bool:
    """Whether the graph of a function has branches, loops or graphs inside."""
    index, hybrids = index_of(frame.code), project.solution.world.hybrids
    loops = index.of(ir.Loop)
    if any(loop.is_for and staged(frame, loop.iterable) for loop in loops):
        return True
    asked = [instr.condition for instr in index.of(ir.If)] + [loop.condition for loop in loops if not loop.is_for]
    if any(slot >= 0 and project.symbolic.symbolic(frame, slot) for slot in asked):
        return True
    return any(callee.code in hybrids for _, callee in frame.calls)
