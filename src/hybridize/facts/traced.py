"""Calls that run a function in a graph, whatever calls them: what is unknown in it is traced as the program stands.

`Dataset.map(f)` traces `f`, and so does `strategy.run(f)` on a TPU: a program that may choose that strategy has its
authors' word that all of `f` can be traced. Another strategy runs `f` as it finds it.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridize.domain.calls import How
from hybridize.domain.objects import Bound, LibInst, Obj
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.library.dialect import STRATEGIES, TRACING_STRATEGIES


def is_traced(frame: Frame, position: int, how: How) -> bool:
    """Whether what a call at a position runs in this way is traced there, for some of the objects that it may be of."""
    if how in (How.GRAPH, How.HYBRID):
        found = [name for call in calls_at(frame.code, position) for name in _owners(frame.vals[call.function] or ())]
        strategies = [name for name in found if name.startswith(STRATEGIES)]
        return not strategies or not TRACING_STRATEGIES.isdisjoint(strategies)
    return False


def _owners(value: Iterable[Obj]) -> list[str]:
    """The library classes of the objects whose methods a value may be."""
    receivers = (obj.receiver for obj in value if isinstance(obj, Bound))
    return [obj.cls for obj in receivers if isinstance(obj, LibInst)]
