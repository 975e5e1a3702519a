"""How often functions are called, and by whom: call sites weighted by the loops around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, isinf
from typing import Final, TypeAlias

from hybridize.domain.calls import BY_OTHERS, IN_GRAPHS, How
from hybridize.domain.objects import Bound as BoundMethod
from hybridize.domain.objects import Class, Func, Inst, Lit, Obj, Tensor, Value
from hybridize.facts.calls.keras_graphs import functional_calls, is_on_symbolic, is_run_by_graph
from hybridize.facts.calls.work import Counts
from hybridize.facts.origins import starts_program
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution, given_position
from hybridize.program.ir import Code
from hybridize.records import dataclass, field

#: A function that only other programs call is called so often.
_UNKNOWN_CALLS: Final = 100.0
_MOST: Final = 1e9
#: Longer chains of calls are not followed to bound the number of calls.
_DEPTH: Final = 12
_NO_CALL: Final = frozenset({How.CLASS})


@dataclass(slots=True)
class Call:
    """All calls of a function by another: how often, at which first position, and how often in one call of the other.

    `most` is a bound of that (inf where a loop's length is not known), `expected` counts such loops as a few turns,
    `likely` only those over layers and other objects: each of these has graphs of its own. `programs` are the weights
    by the modules (as bits) whose top level begins the runs that make these calls; 0: one that nobody begins.
    `places` are where they stand, and what is called there.
    """

    caller: Code
    how: How
    position: int
    weight: float = 0.0
    most: float = 0.0
    expected: float = 0.0
    likely: float = 0.0
    programs: dict[int, float] = field(default_factory=dict)
    places: set[tuple[int, Frame]] = field(default_factory=set)


#: The calls by one frame, by what they call and how, with the places that they stand at.
_Here: TypeAlias = dict[tuple[Code, How], tuple[Call, set[int]]]


@dataclass(frozen=True, slots=True)
class Bound:
    """How often a function is called at most by eager code.

    `count` is inf where that is not known; `looped` says whether that is because of a loop of unknown length alone;
    `folders` are those of the modules whose top level begins all that.
    """

    count: float
    looped: bool
    folders: frozenset[str]

    def is_whole(self, path: str) -> bool:
        """Whether it says how often a file's functions are called: a script elsewhere (an example, a tool) does not
        speak for a library."""
        home = path.rpartition("/")[0]
        return all(f"{home}/".startswith(f"{folder}/") or not folder for folder in self.folders)


_UNBOUND: Final = Bound(inf, False, frozenset())


class Frequency:
    """The calls of each function, and all functions in an order in which callers come before callees.

    `escaped` are those that were handed to code outside the program, `outside` those that only such code calls.
    """

    def __init__(self, solution: Solution, order: list[list[Frame]], counts: Counts) -> None:
        """`order` are the components of the call graph, callees first."""
        self.counts = counts
        self.solution = solution
        self.calls: dict[Code, dict[tuple[Code, How], Call]] = {}
        self.escaped: set[Code] = set()
        self.outside: set[Code] = set()
        self.often: dict[Frame, float] = {}
        self.codes: list[Code] = []
        self._starts = {body: 1 << i for i, body in enumerate(solution.world.module_frames.values())}
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
        here: _Here = {}
        for (pos, callee), how in frame.calls.items():
            if how in _NO_CALL:
                continue
            is_root = how is How.ROOT and pos in (callee.code.position, given_position(callee.code))
            weight = _UNKNOWN_CALLS if is_root else min(mine * self.counts.runs(frame, pos), _MOST)
            if callee not in members:
                self.often[callee] = min(self.often.get(callee, 0.0) + weight, _MOST)
                if not is_root and not callee.code.is_module:
                    self._starts[callee] = self._starts.get(callee, 0) | self._starts.get(frame, 0)
            if is_root:
                self.outside.add(callee.code)
            elif callee.code is not frame.code:
                self._note(here, frame, pos, callee, run_as(frame, pos, how))
        for pos, layer in functional_calls(self.solution, frame):
            self._note(here, frame, pos, layer, How.KERAS)
        for (code, how), (call, _) in here.items():
            known = self.calls.setdefault(code, {}).setdefault((frame.code, how), Call(frame.code, how, call.position))
            known.weight += call.weight
            known.places |= call.places
            starts = self._starts.get(frame, 0)
            known.programs[starts] = known.programs.get(starts, 0.0) + call.weight
            known.most = max(known.most, call.most)
            known.expected = max(known.expected, call.expected)
            known.likely = max(known.likely, call.likely)

    def _note(self, here: _Here, frame: Frame, pos: int, callee: Frame, how: How) -> None:
        """Adds a call to those of one frame; the contexts in which one place calls a function share its turns."""
        call, places = here.setdefault((callee.code, how), (Call(frame.code, how, pos), set()))
        times = self.counts.runs(frame, pos)
        call.places.add((pos, callee))
        call.weight += min((self.often.get(frame, 0.0) or 1.0) * times, _MOST)
        if pos not in places:
            places.add(pos)
            call.most += self.counts.most(frame, pos)
            call.expected += times
            call.likely += self.counts.likely(frame, pos)

    def bound(
        self, code: Code, graphs: Mapping[Code, float] | None = None, within: frozenset[Code] = frozenset()
    ) -> Bound:
        """An upper bound of the calls; those by functions that are wholly `graphs` (a share of 1) do not count."""
        if code.is_module:
            return Bound(1.0, False, frozenset({code.path.rpartition("/")[0]}))
        if code in self.escaped or code in self.outside or code in within or len(within) > _DEPTH:
            return _UNBOUND
        count, looped, folders = 0.0, False, frozenset[str]()
        for call in self.calls.get(code, {}).values():
            if call.how in IN_GRAPHS or (graphs is not None and graphs.get(call.caller, 0.0) >= 1.0):
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


def run_as(frame: Frame, pos: int, how: How) -> How:
    """How Keras runs what a call through it reaches; what a library calls back as the program is called once."""
    if how is not How.KERAS:
        return How.START if how is How.CALLBACK and starts_program(frame, pos) else how
    if is_run_by_graph(frame, pos):
        return How.GRAPH
    return How.SYMBOLIC if is_on_symbolic(frame, pos) else how


def traces(calls: Iterable[Call]) -> int:
    """For how many different arguments calls would have a graph traced, as far as that is seen; at least one.

    Where not all is known of what arrives, each place of a call counts for itself; Python values that come to one place
    are a trace each.
    """
    known: set[tuple[Value, ...]] = set()
    places: dict[tuple[Code, int], int] = {}
    for call in calls:
        for pos, callee in call.places:
            values = [max(1, sum(isinstance(o, Lit) for o in value)) for value in callee.args]
            if all(len(value) == 1 and all(map(_is_one_trace, value)) for value in callee.args):
                known.add(tuple(callee.args))
            else:
                places[call.caller, pos] = max(places.get((call.caller, pos), 0), *values, 1)
    return max(len(known) + sum(places.values()), 1)


def _is_one_trace(obj: Obj) -> bool:
    """Whether all that an object stands for is one to a graph: not with a size that is not known."""
    if isinstance(obj, Tensor):
        return obj.shape is not None and all(dim >= 0 for dim in obj.shape)
    return isinstance(obj, (Lit, Inst, Func, Class))


def _callers_first(calls: dict[Code, dict[tuple[Code, How], Call]], codes: list[Code]) -> list[Code]:
    """All functions, each after its callers and after the function that makes it (but for recursion)."""
    done: dict[Code, None] = {}
    seen: set[Code] = set()
    for start in codes:
        stack = [(start, iter(_before(calls, start)))] if start not in seen else []
        seen.add(start)
        while stack:
            code, callers = stack[-1]
            following = next((c for c in callers if c not in seen), None)
            if following is None:
                done[code] = None
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(_before(calls, following))))
    return list(done)


def _before(calls: dict[Code, dict[tuple[Code, How], Call]], code: Code) -> list[Code]:
    """What is to be decided before a function: its callers, and the one around it, whose graph may hold it."""
    callers = [caller for caller, _ in calls.get(code, ())]
    return callers if code.parent is None or not code.parent.is_function else [*callers, code.parent]
