"""`jit_compile=True` where XLA can compile a graph, and is likely to run it faster (never provably the same)."""

from __future__ import annotations

from typing import Final

from hybridize.decide.basis import Basis
from hybridize.decide.documentation import status_of
from hybridize.decide.model import Action, FunctionReport
from hybridize.domain.calls import NOT_TRACED
from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import DENSE, VARIABLE, arrived
from hybridize.facts.calls.callgraph import extent
from hybridize.facts.gain.benefit import Work
from hybridize.facts.model import Mode
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.library.dialect import OTHERWISE
from hybridize.program.ir import Code
from hybridize.records import replace
from hybridize.tracing.running.compiled import drops, unsupported
from hybridize.tracing.views import ProjectView

#: XLA is to be so many times as fast as the plain graph; below, the figures do not tell.
_LEAST: Final = 1.2
#: Graphs of fewer operations are calls and little else; for larger tensors the figures go either way.
_FEWEST: Final = 14
_MOST_ELEMENTS: Final = 200_000
#: The first release that takes the argument.
_SINCE: Final = (2, 5)
_CONFIGURED: Final = frozenset({"jit_compile", "experimental_compile", "reduce_retracing", "experimental_relax_shapes"})


class Compilation:
    """Suggestions over one plan; with `asked` new decorators get the argument."""

    def __init__(self, project: ProjectView, basis: Basis, *, asked: bool) -> None:
        self.project = project
        self.basis = basis
        self.asked = asked

    def configure(self, code: Code, report: FunctionReport) -> FunctionReport:
        """The report with the suggestion, or with the argument."""
        facts, decision = report.facts, report.decision
        converts = decision.action is Action.CONVERT_TO_HYBRID
        if self.project.versions.oldest < _SINCE:
            return report
        made = facts.hybridization
        kept = facts.mode is Mode.HYBRID and decision.action is not Action.CONVERT_TO_EAGER
        if not converts and (not kept or made is None or not made.is_decorator):
            return report
        if made is not None and any(map(made.says, _CONFIGURED)):
            return report
        given = decision.arguments or (made.arguments if made is not None else ())
        if any(name in _CONFIGURED or "None" in value for name, value in given):
            return report
        frames = self.basis.frames.get(code, [])
        if not frames or not all(map(_is_fixed, frames)):  # first, for it costs least
            return report
        work = self.basis.benefits.work(frames)
        gain = _gain(work) if work is not None else 0.0
        if gain < _LEAST or not self._compiles(frames):
            return report
        if self.asked and converts:
            decided = replace(decision, arguments=(*decision.arguments, ("jit_compile", "True")))
            return replace(report, decision=decided)
        gained = f"make the graph about {gain:.1f} times as fast as it is without"
        message = f"`jit_compile=True` may {gained}; last digits of floats may differ"
        status = status_of(facts, "may-be-compiled", message)
        return replace(report, statuses=(*report.statuses, status))

    def _compiles(self, frames: list[Frame]) -> bool:
        """Whether nothing in the traced code is what XLA refuses, changes, or is slow at."""
        inside = list(extent(frames, NOT_TRACED))
        if any(True for _ in unsupported(self.project, inside)) or any(True for f in inside for _ in drops(f)):
            return False
        names = {name for frame in inside for name in frame.ops.values()}
        return not any(
            name.startswith(OTHERWISE) or costs.contraction(name) > 1 or costs.per_step(name) for name in names
        )


def _gain(work: Work) -> float:
    """The graph's time divided by that of XLA; 0 where the figures say nothing."""
    if work.operations < _FEWEST or work.elements > _MOST_ELEMENTS:
        return 0.0
    return work.graph / costs.compiled_time(work.operations, work.elements, work.flops)


def _is_fixed(frame: Frame) -> bool:
    """Whether all tensors that arrive have one shape: XLA compiles anew for each."""
    for value in frame.args:
        shapes = {arrived(o.shape) for o in value if isinstance(o, Tensor) and o.kind != VARIABLE}
        if len(shapes) > 1 or any(shape is None or any(dim < 0 for dim in shape) for shape in shapes):
            return False
        if any(isinstance(o, Tensor) and o.kind not in (DENSE, VARIABLE, "ndarray") for o in value):
            return False
    return True
