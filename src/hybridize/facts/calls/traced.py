"""Calls that run a function in a graph, whatever calls them: what is unknown in it is traced as the program stands.

`Dataset.map(f)` traces `f`, and so does `strategy.run(f)` on a TPU: a program that may choose that strategy has its
authors' word that all of `f` can be traced. Another strategy runs `f` as it finds it.
"""

from __future__ import annotations

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM
from hybridize.facts.origins import calls_at, owners
from hybridize.flow.frames import Frame
from hybridize.library.dialect import STRATEGIES, TRACING_STRATEGIES


def is_traced(frame: Frame, position: int, how: How) -> bool:
    """Whether what a call at a position runs in this way is traced there, for some of the objects that it may be of."""
    if how in (How.GRAPH, How.HYBRID):
        found = [
            name for call in calls_at(frame.code, position) for name in owners(frame.vals[call.function] or BOTTOM)
        ]
        strategies = [name for name in found if name.startswith(STRATEGIES)]
        return not strategies or not TRACING_STRATEGIES.isdisjoint(strategies)
    return False
