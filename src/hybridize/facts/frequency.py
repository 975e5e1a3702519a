"""How often functions are called, and by whom: call sites weighted by the loops around them."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf
from typing import Final

from hybridize.domain.objects import Bound as BoundMethod
from hybridize.domain.objects import Func
from hybridize.facts.work import Counts
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution, given_position
from hybridize.program.ir import Code
from hybridize.records import dataclass

#: A function that only other programs call is called so often.
_UNKNOWN_CALLS: Final = 100.0
_MOST: Final = 1e9
#: Calls by library code, as often as it likes.
BY_OTHERS: Final = frozenset({"callback", "host"})
#: Longer chains of calls are not followed to bound the number of calls.
_DEPTH: Final = 12
_NO_CALL: Final = frozenset({"class"})


@dataclass(slots=True)
class Call:
    """All calls of a function by another: how often, at which first position, and how often in one call of the other.

    `most` is a bound of that (inf where a loop's length is not known), `expected` counts such loops as a few turns.
    """

    caller: Code
    how: str
    position: int
    weight: float = 0.0
    most: float = 0.0
    expected: float = 0.0


@dataclass(frozen=True, slots=True)
class Bound:
    """How often a function is called at most by eager code.

    `count` is inf where that is not known; `looped` says whether that is because of a loop of unknown length alone;
    `folders` are those of the modules whose top level begins all that.
    """

    count: float
    looped: bool
    folders: frozenset[str]


_UNBOUND: Final = Bound(inf, False, frozenset())


class Frequency:
    """The calls of each function, and all functions in an order in which callers come before callees.

    `escaped` are those that were handed to code outside the program, `outside` those that only such code calls.
    """

    def __init__(self, solution: Solution, order: list[list[Frame]], counts: Counts) -> None:
        """`order` are the components of the call graph, callees first."""
        self.counts = counts
        self.calls: dict[Code, dict[tuple[Code, str], Call]] = {}
        self.escaped: set[Code] = set()
        self.outside: set[Code] = set()
        self.often: dict[Frame, float] = {}
        self.codes: list[Code] = []
        for obj in solution.world.escaped:
            func = obj.func if isinstance(obj, BoundMethod) else obj
            if isinstance(func, Func):
                self.escaped.add(func.code)
        for component in reversed(order):
            members = set(component)
            for frame in sorted(component, key=lambda f: f.uid):
                self._frame(frame, members)
        self.codes = _callers_first(self.calls, list(solution.frames))

    def _frame(self, frame: Frame, members: set[Frame]) -> None:
        mine = self.often.get(frame, 0.0) or 1.0
        most: dict[tuple[Code, str], float] = {}
        expected: dict[tuple[Code, str], float] = {}
        for (pos, callee), how in frame.calls.items():
            if how in _NO_CALL:
                continue
            is_root = how == "root" and pos in (callee.code.position, given_position(callee.code))
            times = self.counts.runs(frame, pos)
            weight = _UNKNOWN_CALLS if is_root else min(mine * times, _MOST)
            if callee not in members:
                self.often[callee] = min(self.often.get(callee, 0.0) + weight, _MOST)
            if is_root:
                self.outside.add(callee.code)
            if not is_root and callee.code is not frame.code:
                calls = self.calls.setdefault(callee.code, {})
                known = calls.get((frame.code, how))
                if known is None:
                    known = calls[frame.code, how] = Call(frame.code, how, pos)
                known.weight += weight
                most[callee.code, how] = most.get((callee.code, how), 0.0) + self.counts.most(frame, pos)
                expected[callee.code, how] = expected.get((callee.code, how), 0.0) + times
        for (code, how), count in most.items():
            call = self.calls[code][frame.code, how]
            call.most = max(call.most, count)
            call.expected = max(call.expected, expected[code, how])

    def bound(
        self, code: Code, graphs: Mapping[Code, float] | None = None, within: frozenset[Code] = frozenset()
    ) -> Bound:
        """An upper bound of the calls; those by functions that are wholly `graphs` (a share of 1) do not count."""
        if code.kind == "module":
            return Bound(1.0, False, frozenset({code.path.rpartition("/")[0]}))
        if code in self.escaped or code in self.outside or code in within or len(within) > _DEPTH:
            return _UNBOUND
        count, looped, folders = 0.0, False, frozenset[str]()
        for call in self.calls.get(code, {}).values():
            if call.how == "graph" or (graphs is not None and graphs.get(call.caller, 0.0) >= 1.0):
                continue
            caller = self.bound(call.caller, graphs, within | {code})
            if call.how in BY_OTHERS or (isinf(caller.count) and not caller.looped):
                return _UNBOUND
            looped = looped or caller.looped or isinf(call.most)
            folders |= caller.folders
            count += caller.count * call.most if call.most else 0.0
        return Bound(count, looped, folders) if count else _UNBOUND

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
