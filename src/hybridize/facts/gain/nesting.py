"""How many derivatives eager code takes one of another of what a function gives: the tapes that record its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hybridize.domain.calls import IN_GRAPHS
from hybridize.domain.objects import Value
from hybridize.facts.calls.frequency import Frequency
from hybridize.facts.tapes import around, managers
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Code

#: Through so many callers tapes are looked for.
_FAR: Final = 8
_NOTHING: Final[Value] = frozenset()


class Nesting:
    """Answers over a solved program; `is_graph` tells functions that are wholly parts of graphs."""

    def __init__(
        self, frequency: Frequency, frames: Mapping[Code, list[Frame]], is_graph: Callable[[Code], bool]
    ) -> None:
        self.frequency = frequency
        self.frames = frames
        self.is_graph = is_graph

    def of(self, code: Code) -> int:
        """The most derivatives that follow one after another from a call by eager code."""
        return self._of(code, (code,))

    def _of(self, code: Code, seen: tuple[Code, ...]) -> int:
        most = 0
        for call in self.frequency.calls.get(code, {}).values() if len(seen) < _FAR else ():
            caller = call.caller
            if call.how not in IN_GRAPHS and caller not in seen and not self.is_graph(caller):
                most = max(most, self._tapes(caller, code) + self._of(caller, (*seen, caller)))
        return most

    def _tapes(self, caller: Code, code: Code) -> int:
        """The most tapes of a function that record one of its calls of another."""
        most = 0
        for frame in self.frames.get(caller, ()) if index_of(caller).of(ir.Exit) else ():
            for (pos, callee), _ in frame.calls.items():
                if callee.code is code:
                    most = max(most, _recording(frame, index_of(caller), pos))
        return most


def _recording(frame: Frame, index: Index, pos: int) -> int:
    """The tapes around a place; one that is asked within its own body records that derivative, too."""
    return sum(2 if _asked_within(frame, index, instr) else 1 for instr in around(frame, pos))


def _asked_within(frame: Frame, index: Index, left: ir.Exit) -> bool:
    """Whether a tape is asked in its own body, which it records, and again after it: for what it was asked before."""
    tapes = managers(frame, index, left)
    asked = [
        call.position >> 16 in left.lines
        for call in index.of(ir.Call)
        for made in [index.source(call.function)]
        if isinstance(made, ir.Attr) and tapes & (frame.vals[made.owner] or _NOTHING)
        if costs.differentiates(frame.ops.get(call.position, ""))
    ]
    return len(set(asked)) > 1
