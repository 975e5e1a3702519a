"""How often functions are called, and by whom: call sites weighted by the loops around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hybridize.domain.objects import Bound, Func
from hybridize.facts.work import Counts
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution, given_position
from hybridize.program.ir import Code

#: A function that only other programs call is called so often.
_UNKNOWN_CALLS: Final = 100.0
_MOST: Final = 1e9
_NO_CALL: Final = frozenset({"class"})


@dataclass(slots=True)
class Call:
    """All calls of a function by another: how often, and at which first position."""

    caller: Code
    how: str
    position: int
    weight: float = 0.0


class Frequency:
    """The calls of each function, and all functions in an order in which callers come before callees.

    `open` are those that code outside the program may call as well: they are handed out, or nothing else calls them.
    """

    def __init__(self, solution: Solution, order: list[list[Frame]], counts: Counts) -> None:
        """`order` are the components of the call graph, callees first."""
        self.counts = counts
        self.calls: dict[Code, dict[tuple[Code, str], Call]] = {}
        self.escaped: set[Code] = set()
        self.often: dict[Frame, float] = {}
        self.codes: list[Code] = []
        for obj in solution.world.escaped:
            func = obj.func if isinstance(obj, Bound) else obj
            if isinstance(func, Func):
                self.escaped.add(func.code)
        for component in reversed(order):
            members = set(component)
            for frame in sorted(component, key=lambda f: f.uid):
                self._frame(frame, members)
        self.codes = _callers_first(self.calls, list(solution.frames))

    def _frame(self, frame: Frame, members: set[Frame]) -> None:
        mine = self.often.get(frame, 0.0) or 1.0
        for (pos, callee), how in frame.calls.items():
            if how in _NO_CALL:
                continue
            is_root = how == "root" and pos in (callee.code.position, given_position(callee.code))
            weight = _UNKNOWN_CALLS if is_root else min(mine * self.counts.runs(frame, pos), _MOST)
            if callee not in members:
                self.often[callee] = min(self.often.get(callee, 0.0) + weight, _MOST)
            if not is_root and callee.code is not frame.code:
                calls = self.calls.setdefault(callee.code, {})
                known = calls.get((frame.code, how))
                if known is None:
                    known = calls[frame.code, how] = Call(frame.code, how, pos)
                known.weight += weight

    def of(self, frames: list[Frame]) -> float:
        """How often a function is called, in all its contexts."""
        return sum(self.often.get(frame, 0.0) for frame in frames)


def _callers_first(calls: dict[Code, dict[tuple[Code, str], Call]], codes: list[Code]) -> list[Code]:
    """All functions, each after its callers (but for recursion)."""
    done: dict[Code, None] = {}
    seen: set[Code] = set()
    for start in codes:
        stack = [(start, iter([c for c, _ in calls.get(start, ())]))] if start not in seen else []
        seen.add(start)
        while stack:
            code, callers = stack[-1]
            following = next((c for c in callers if c not in seen), None)
            if following is None:
                done[code] = None
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter([c for c, _ in calls.get(following, ())])))
    return list(done)
