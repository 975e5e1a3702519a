"""Which share of the time of a run a graph of one function saves: of all that its callers do, up to where runs begin.

What is called once an epoch beside a hundred steps of training saves little however fast its graph is, and so does a
helper of a step that computes elsewhere. A run begins where nobody is seen to call a function, and what no loop is
around counts as a run of its own: a program evaluates, or trains, or both. Of what nobody calls in a program, of what a
library calls back, and of what makes objects, the loops alone are runs: nothing says how often the rest is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hybridize.domain.calls import IN_GRAPHS
from hybridize.facts.calls.frequency import run_as
from hybridize.facts.gain.benefit import Benefits
from hybridize.facts.origins import starts_program
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.ir import Code
from hybridize.records import dataclass, replace

#: Microseconds that a run must save, where it is known how long it is: less is not noticed, whatever its share.
_LEAST: Final = 1e5
#: A run is known where less of it rests on sizes that are not.
_GUESSED: Final = 0.05


@dataclass(frozen=True, slots=True)
class Share:
    """What is saved of the time of a run, at most 1, and the function or module that begins it.

    `saved` are the microseconds of that, and `guessed` those of the run that rest on sizes that are not known.
    `looping` is the share that the library's own loops over models take beside what they compute. `known` says that a
    program is seen to begin, and that all is known which its runs do that save anything.
    """

    of: float
    start: Code
    saved: float = 0.0
    guessed: float = 0.0
    looping: float = 0.0
    known: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of what may save something: where, of what, and whether eager code makes it, and nobody else."""

    pos: int
    callee: Frame
    is_own: bool


class Savings:
    """Answers by the callers that were noted of each function; `is_open` tells code of libraries.

    Who uses a library begins with any of its functions that nothing here calls.
    """

    def __init__(self, benefits: Benefits, is_open: Callable[[Code], bool]) -> None:
        self.benefits = benefits
        self.is_open = is_open
        self._callers: dict[Code, Sequence[Code]] = {}

    def note(self, code: Code, callers: Sequence[Code]) -> None:
        """The functions, no tests, that call another one in eager code; none of what nothing is noted of."""
        self._callers[code] = callers

    def shares(self, graphs: Iterable[Code], of: Iterable[Code]) -> dict[Code, Share]:
        """The largest share of any run that the graph of each function saves, beside those that are made: `graphs`.

        Without those of which nobody knows how often they are called (others do: callbacks).
        """
        made = self.benefits.where(self.benefits.hybrid | set(graphs))
        found = ((code, self._share(code, made)) for code in of)
        return {code: share for code, share in found if share is not None}

    def _share(self, code: Code, made: Benefits) -> Share | None:
        calls = self._calls(code)
        if not calls or any(not c.is_own for found in calls.values() for c in found if c.callee.code is code):
            return None
        is_made = code in made.hybrid
        before = made.where(made.hybrid - {code}, calls) if is_made else made
        after = made if is_made else made.where(made.hybrid | {code}, calls)
        starts, repeated = self._starts(calls), self._repeated(calls)
        known = any(frame.code.is_module for frame in starts)
        best = Share(0.0, next((frame.code for frame in starts), code))
        for frame, within in starts.items():
            for loop in self._outermost(frame, calls[frame], within):
                now = before.around(frame, loop)
                saved = max(now.eager - after.around(frame, loop).eager, 0.0)
                whole = now.eager + now.outside
                sure = frame.code not in repeated and self._is_endless(frame, loop)
                if saved < _LEAST and (within or frame.code.is_module) and not sure:
                    saved = 0.0
                share = saved / whole if whole > 0 else 0.0
                if share > 0:
                    known = known and not now.unknown and now.guessed < _GUESSED * now.eager
                if share > best.of:
                    best = Share(share, frame.code, saved, now.guessed, now.looping / whole)
        return replace(best, known=known)

    def _calls(self, code: Code) -> dict[Frame, list[_Call]]:
        """The calls that lead to a function, by the caller's contexts; those that are part of graphs save nothing."""
        above = self._above(code)
        wanted = {*above, code}
        result: dict[Frame, list[_Call]] = {}
        for caller in above:
            for frame in self.benefits.frames.get(caller, ()):
                found = [
                    _Call(pos, callee, self.benefits.times(frame, pos, how) > 0 or starts_program(frame, pos))
                    for (pos, callee), how in frame.calls.items()
                    if callee.code in wanted and callee.code is not caller and run_as(frame, pos, how) not in IN_GRAPHS
                ]
                if found:
                    result[frame] = found
        return result

    def _above(self, code: Code) -> list[Code]:
        """All that calls a function, directly or not."""
        found: dict[Code, None] = {}
        todo = [code]
        while todo:
            each = todo.pop()
            if each is code or not self._is_way_in(each):
                new = [c for c in self._callers.get(each, ()) if c not in found and c is not code]
                found.update(dict.fromkeys(new))
                todo += new
        return list(found)

    def _is_way_in(self, code: Code) -> bool:
        """Whether who uses a library begins with a function: what eager code here calls is a part of what that does."""
        return self.is_open(code) and not self._callers.get(code)

    def _starts(self, calls: dict[Frame, list[_Call]]) -> dict[Frame, bool]:
        """The contexts that begin a run: nobody calls them, others do, or no loop is around their calls.

        Of some (True) only the loops are runs: what is done once within another is a part of that, and what nobody is
        seen to do may never be done.
        """
        called = {call.callee.code for found in calls.values() for call in found if call.is_own}
        starts = {
            frame: not frame.code.is_module and not self.is_open(frame.code)
            for frame in calls
            if frame.code not in called or self._is_way_in(frame.code)
        }
        starts |= {c.callee: True for found in calls.values() for c in found if not c.is_own and c.callee in calls}
        todo = list(starts)
        while todo:
            frame = todo.pop()
            for call in calls[frame]:
                if call.callee in calls and call.callee not in starts and not self._around(frame, call.pos):
                    starts[call.callee] = True
                    todo.append(call.callee)
        return starts

    def _repeated(self, calls: dict[Frame, list[_Call]]) -> set[Code]:
        """What loops call, directly or not: its loops are a part of longer runs, unless they are known to be long."""
        found = {
            c.callee.code for frame, made in calls.items() for c in made if c.is_own and self._around(frame, c.pos)
        }
        todo = list(found)
        while todo:
            code = todo.pop()
            inner = {c.callee.code for frame, made in calls.items() if frame.code is code for c in made if c.is_own}
            todo += inner - found
            found |= inner
        return found

    def _outermost(self, frame: Frame, found: list[_Call], within: bool) -> list[ir.Loop | None]:
        """The outermost loops around some calls, and the whole of a function."""
        loops = {id(around[0]): around[0] for call in found if (around := self._around(frame, call.pos))}
        return list(loops.values()) if within else [None, *loops.values()]

    def _is_endless(self, frame: Frame, loop: ir.Loop | None) -> bool:
        """Whether a loop may take any number of turns: how long it runs is not known, and it goes over no objects."""
        return loop is not None and self.benefits.counts.is_endless(frame, loop)

    def _around(self, frame: Frame, pos: int) -> tuple[ir.Loop, ...]:
        return self.benefits.counts.places(frame.code).around.get(pos, ())
