"""Changes of what is hybrid already that nobody would notice: a removal by default must gain something, too.

What a graph costs more than eager code counts as often as eager code is seen to call the function, as the gain of a
conversion does (`decide.gains`), and must come to what tracing takes. Where graphs call it, or functions run eagerly
anyway, nothing changes at all. What a text shows by calling it once is not mended for speed.
"""

from __future__ import annotations

from math import inf
from typing import Final

from hybridize.decide.documentation import status_of
from hybridize.decide.gains import WHOLLY, Gains
from hybridize.decide.model import FunctionReport, Status
from hybridize.facts.gain.benefit import Work
from hybridize.program.ir import Code
from hybridize.tracing.running.switches import switched_off
from hybridize.tracing.views import ProjectView

#: So many traces are no reason to take a graph away.
_FEW: Final = 3.0


def removes_for_nothing(
    project: ProjectView, gains: Gains, code: Code, report: FunctionReport, share: float, work: Work | None
) -> Status | None:
    """Why nobody would notice that a function has lost its decorator; None where somebody would."""
    facts = report.facts
    switch = switched_off(project, code)
    if switch is not None:
        return status_of(facts, "graph-may-pay", f"{switch.message}: without a decorator it is the same", (switch,))
    if share >= WHOLLY:
        return status_of(facts, "graph-may-pay", "every caller is a graph: without a decorator it is the same")
    often = gains.calls(code, work) if work is not None else 0.0
    times = f"seen to be called {often:.0f} times" if often > 1 else "not seen to be called more than once"
    said = f"{times}: nobody would notice"
    if work is None or often == inf:
        return None
    if report.decision.precondition == "P3":
        return status_of(facts, "graph-may-pay", said) if often <= _FEW else None
    return None if often * (work.graph - work.eager) >= work.trace else status_of(facts, "graph-may-pay", said)
