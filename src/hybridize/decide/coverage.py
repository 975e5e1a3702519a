"""For which share of its calls a function runs as part of graphs, its own or those around it.

A project may hold several programs: scripts that call the same functions, each in a run of its own. What one of them
runs as part of a graph another may call eagerly at every batch: the share is that of the program that gains most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from hybridize.decide.documentation import status_of
from hybridize.decide.gains import WHOLLY
from hybridize.decide.model import Status
from hybridize.domain.calls import BY_OTHERS, How
from hybridize.facts.calls.frequency import Call, Frequency
from hybridize.facts.model import Evidence, FunctionFacts
from hybridize.program.ir import Code
from hybridize.source import Roles

#: A program that calls something eagerly so often does so in loops: what it saves there is noticed.
_OFTEN: Final = 100.0
#: So many callers are named.
_SHOWN: Final = 3


class Coverage:
    """The shares, of functions whose callers have been decided."""

    def __init__(self, frequency: Frequency, roles: Roles, graphs: Mapping[Code, float]) -> None:
        """`graphs` are the shares that are known so far, of functions that are graphs themselves 1."""
        self.frequency = frequency
        self.roles = roles
        self.graphs = graphs

    def share(self, code: Code) -> float:
        """For which share of its calls a function runs inside of a graph; tests count where nothing else calls it."""
        total = inside = 0.0
        programs: dict[int, list[float]] = {}
        for call in self._counted(code):
            part = self._inside(code, call)
            total += call.weight
            inside += call.weight * part
            for starts, weight in call.programs.items():
                sums = programs.setdefault(starts, [0.0, 0.0])
                sums[0] += weight
                sums[1] += weight * part
        if code in self.frequency.escaped:
            total *= 2
        share = inside / total if total else 0.0
        # A call of which several programs are the start is as much a part of one as of the other.
        eager = [
            within / every
            for starts, (every, within) in self._by_program(programs)
            if every - within >= _OFTEN and starts
        ]
        return min([share, *eager])

    @staticmethod
    def _by_program(programs: Mapping[int, list[float]]) -> Iterator[tuple[int, tuple[float, float]]]:
        """For each program the weight of its calls, and of those that are inside of graphs."""
        left = 0
        for starts in programs:
            left |= starts
        while left:
            one = left & -left
            left ^= one
            found = [sums for starts, sums in programs.items() if starts & one]
            yield one, (sum(every for every, _ in found), sum(within for _, within in found))

    def _counted(self, code: Code) -> Iterator[Call]:
        calls = list(self.frequency.calls.get(code, {}).values())
        others = [call for call in calls if not self.roles.is_test(call.caller.path)]
        for call in others or calls:
            if call.how is How.SYMBOLIC:
                continue  # Keras notes what is computed, and computes nothing
            if call.how not in (How.HOST, How.GRAPH) and call.caller not in self.graphs:
                continue  # a recursion: its caller is decided later
            yield call

    def _inside(self, code: Code, call: Call) -> float:
        if call.how is How.HOST:
            return 0.0
        # What a function under `tf.custom_gradient` gives as its gradient stands at the call of that function.
        if call.how in BY_OTHERS and code.parent is not None and self.graphs.get(code.parent, 0.0) >= WHOLLY:
            return 1.0
        return 1.0 if call.how is How.GRAPH else self.graphs.get(call.caller, 0.0)

    def status(self, code: Code, facts: FunctionFacts, share: float) -> Status:
        """That a function runs as part of graphs, and of which."""
        callers = sorted(
            (c for c in self.frequency.calls[code].values() if self._inside(code, c) > 0),
            key=lambda c: (-c.weight, c.caller.path, c.position),
        )
        evidence = tuple(
            Evidence(f"`{c.caller.qualname}` calls it as part of a graph", c.caller.path, c.position >> 16)
            for c in callers[:_SHOWN]
        )
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(c.caller.qualname for c in callers[:_SHOWN]))
        if share >= WHOLLY:
            return status_of(facts, "covered", f"runs as part of the graph of {names}", evidence)
        message = f"mostly runs as part of the graph of {names} (about {share:.0%} of its calls)"
        return status_of(facts, "covered", message, evidence)
