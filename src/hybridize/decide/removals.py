"""What a removal costs: a decorator goes only where the estimate says that nothing is lost without the graph.

The same figures decide as for a conversion (`facts.gain.benefit`), read the other way: what is not known counts for the
graph. A function that is called with new Python values is traced each time; where that is certain it counts against
the graph what tracing takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from math import inf
from typing import Final

from hybridize.closure import closure
from hybridize.decide.documentation import status_of
from hybridize.decide.model import FunctionReport, Status
from hybridize.domain.calls import How
from hybridize.domain.nesting import held
from hybridize.domain.objects import (
    NONE,
    Bound,
    Container,
    Func,
    Lib,
    LibInst,
    Lit,
    Obj,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    Wrapper,
)
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.facts.calls.frequency import Frequency
from hybridize.facts.calls.public import Public
from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.functions.looking import Looker
from hybridize.facts.gain.benefit import SKIPPED, Benefits, Work
from hybridize.facts.model import Evidence, FunctionFacts, Ternary
from hybridize.facts.origins import runs_at_once
from hybridize.facts.state.guards import parts
from hybridize.facts.state.reasons import OPAQUE
from hybridize.flow.frames import Frame
from hybridize.library import costs, registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments, operands
from hybridize.records import dataclass, replace
from hybridize.source import Role, Roles

#: Eager operations may take so many times what the estimate says (Keras 3 against Keras 2, a slow machine).
_DOUBT: Final = 2.0
#: A graph that gains so much is said to gain, and not only to hold a loop that nobody can count.
_CLEAR: Final = 1.5
#: So large may be the tensors that an unknown caller passes, in elements.
_LARGE: Final = 1e6
_OPERATORS: Final = (ir.Operator, ir.Unary)
#: Libraries whose operations the estimate counts, or that compute none.
_ESTIMATED: Final = frozenset({"tf", "keras", "np", "builtins"})


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls that retrace: `values` new values in all, for each at most `each` calls."""

    values: float
    each: float


class Removals:
    """Judges the removals of a solved program."""

    def __init__(
        self,
        frames: Mapping[Code, list[Frame]],
        frequency: Frequency,
        benefits: Benefits,
        roles: Roles,
        mends: Callable[[Code], bool],
    ) -> None:
        """`mends` says whether a repair is offered that passes tensors for what retraces a function."""
        self.frames = frames
        self.frequency = frequency
        self.benefits = benefits
        self.roles = roles
        self._looker = Looker()
        self._public = Public(roles)
        self._mends = mends

    def visit(self, code: Code, report: FunctionReport, *, all_safe: bool) -> FunctionReport:
        """A report that takes a decorator away, or one that keeps it and says why.

        With `all_safe` the estimate is taken as it is, and unknown callers are not thought of.
        """
        frames = self.frames.get(code, [])
        work = self.benefits.work(frames)
        benefit = work.benefit if work is not None else None
        judged = replace(report, decision=replace(report.decision, benefit=benefit))
        reason = self._against(code, report, frames, all_safe=all_safe)
        pays = benefit is not None and benefit > _CLEAR  # but for what retraces it
        if reason is None and pays and report.decision.precondition == "P3" and self._mends(code):
            reason = status_of(report.facts, "graph-may-pay", "its calls can pass tensors for what retraces it")
        return judged if reason is None else judged.kept(reason)

    def _against(self, code: Code, report: FunctionReport, frames: list[Frame], *, all_safe: bool) -> Status | None:
        """Why a decorator stays; None where nothing is lost without it."""
        facts = report.facts
        works = [work for frame in frames if (work := self.benefits.work([frame])) is not None]
        hidden = self._hidden(frames) if works else Evidence("no call of it was followed", code.path, code.line)
        if hidden is None and facts.tensor_computation.value is Ternary.UNKNOWN:
            hidden = next(iter(facts.tensor_computation.evidence), Evidence("is not followed", code.path, code.line))
        if hidden is not None:
            return status_of(facts, "graph-may-pay", f"{hidden.message}: what its graph is worth is unknown", (hidden,))
        retraces = report.decision.precondition == "P3"
        best = max(works, key=lambda work: work.benefit)
        endless = None if all_safe else self._endless(frames)
        if endless is not None and (best.benefit <= _CLEAR or retraces):
            return status_of(facts, "graph-may-pay", f"{endless.message}: the graph may be much faster", (endless,))
        ends = self._ends(frames)
        if ends is not None:
            return status_of(facts, "graph-may-pay", f"{ends.message}: a graph ends it by another error", (ends,))
        handed = self._handed(code)
        if handed is not None:
            return status_of(facts, "graph-may-pay", handed.message, (handed,))
        # Who calls a library with which values is not seen: there the graph's own worth decides.
        elsewhere = not all_safe and self.roles.of(code.path) is Role.LIBRARY
        if best.benefit > 1 and (elsewhere or not retraces):
            return status_of(facts, "graph-may-pay", f"{_counted(best)}: eager they take {_times(best)} as long")
        public = self._public.has(code)
        if not all_safe and any(_changes(frame.ret) for frame in frames):
            who = "other programs may call it, and use" if public else "who calls it may use"
            message = f"{who} the tensors that its graph makes of what it returns"
            return status_of(facts, "graph-may-pay", message)
        judged = works if all_safe and not public else [_doubted(work, public=public) for work in works]
        if all(work.benefit <= 1 for work in judged):
            return None
        calls = self._retracing(code, facts, frames, all_safe=all_safe) if retraces and not public else None
        if calls is not None and all(_retraces_at_a_loss(work, calls) for work in judged):
            return None
        return status_of(
            facts, "graph-may-pay", _why(best, public=public, retraces=retraces, certain=calls is not None)
        )

    def _handed(self, code: Code) -> Evidence | None:
        """A call that is given the function itself: who gets it may ask it for its graph."""
        place = self._given.get(code)
        said = "is given to other code, which may ask for its graph"
        return Evidence(said, place[0].path, place[1] >> 16) if place is not None else None

    @cached_property
    def _given(self) -> dict[Code, tuple[Code, int]]:
        """The functions that calls are given, bound or wrapped, with the first place of each."""
        found: dict[Code, tuple[Code, int]] = {}
        known: dict[Value, list[Code]] = {}
        for code, frames in self.frames.items():
            calls = index_of(code).of(ir.Call)
            for frame in frames:
                for instr in calls:
                    for slot in arguments(instr):
                        value = frame.vals[slot]
                        if not value:
                            continue
                        if value not in known:  # a function itself is what decorators get
                            known[value] = [each for o in value if not isinstance(o, Func) for each in _made_of(o)]
                        for each in known[value]:
                            found.setdefault(each, (code, instr.position))
        return found

    def _ends(self, frames: list[Frame]) -> Evidence | None:
        """A call that takes the next example of a dataset: eagerly `StopIteration` ends that, not `OutOfRangeError`."""
        for frame in self._extent(frames):
            for instr in index_of(frame.code).of(ir.Call):
                named = any(isinstance(o, Lib) and o.name == "builtins.next" for o in frame.vals[instr.function] or ())
                given = frame.vals[instr.arguments[0][0]] or () if named and instr.arguments else ()
                if any(isinstance(o, Stream) and o.is_data for o in given):
                    return Evidence("takes the next example of a dataset", frame.code.path, instr.position >> 16)
        return None

    def _hidden(self, frames: list[Frame]) -> Evidence | None:
        """Work that the estimate cannot see: a call of something unknown, or operators on unknown values."""
        for frame in self._extent(frames):
            for effect in frame.effects.values():
                if effect.kind in OPAQUE:
                    said = f"calls something that is not known (`{effect.detail}`)"
                    return Evidence(said, frame.code.path, effect.position >> 16)
            for instr in index_of(frame.code).flat:
                said = _unseen(frame, instr)
                if said:
                    return Evidence(said, frame.code.path, instr.position >> 16)
        return None

    def _endless(self, frames: list[Frame]) -> Evidence | None:
        """A loop around operations of which nobody knows how often it turns."""
        counts = self.benefits.counts
        for frame in self._extent(frames):
            calls = frame.calls.items()
            busy = {pos for (pos, callee), how in calls if _is_part(frame, pos, how) and self._works(callee)}
            for pos in sorted(busy.union(frame.ops)):
                said = "computes in a loop of unknown length"
                if frame.ops.get(pos) in costs.REPEATING:
                    said = f"computes in `{frame.ops[pos]}`"
                elif counts.most(frame, pos) != inf:
                    continue
                return Evidence(said, frame.code.path, pos >> 16)
        return None

    def _works(self, frame: Frame) -> bool:
        work = self.benefits.work([frame])
        return work is not None and (work.operations > 0 or work.unknown)

    def _extent(self, frames: list[Frame]) -> Iterator[Frame]:
        """The frames whose work is that of a call; what is hybrid itself is a graph's call and no more."""
        hybrid = self.benefits.hybrid

        def parts(frame: Frame) -> list[Frame]:
            calls = frame.calls.items()
            return [to for (pos, to), how in calls if to.code not in hybrid and _is_part(frame, pos, how)]

        return closure(frames, parts)

    # Retracing ------------------------------------------------------------------------------------------------------

    def _retracing(self, code: Code, facts: FunctionFacts, frames: list[Frame], *, all_safe: bool) -> _Calls | None:
        """How often a function is traced again, where all of its calls do that for certain; None where they do not.

        Calls by tests say what is accepted, and not what is usual.
        """
        every = [call for frame in frames for call in frame.seen_calls()]
        calls = [each for each in every if all_safe or not self.roles.is_test(each[0].code.path)]
        if not calls:
            return None
        each = 0.0
        for caller, pos, args in calls:
            often = min((self._repeats(facts, caller, pos, i, value) for i, value in enumerate(args)), default=inf)
            if often == inf:
                return self._distinct(code, calls)
            each = max(each, often)
        return _Calls(1.0, each)

    def _repeats(self, facts: FunctionFacts, caller: Frame, pos: int, index: int, value: Value) -> float:
        """How many calls at most a place makes with each new value of an argument; inf where that is not known."""
        if self._looker.varying(value) is None:
            return inf
        param = facts.parameters[index]
        slot = argument_slot(caller, pos, index, param.name, bound=facts.kind.is_bound)
        made = index_of(caller.code).source(slot) if slot >= 0 else None
        if made is None or isinstance(made, ir.Load) or (isinstance(made, ir.Call) and not _counts_up(caller, made)):
            return inf
        return self.benefits.counts.between(caller, made.position, pos)

    def _distinct(self, code: Code, calls: list[tuple[Frame, int, list[Value]]]) -> _Calls | None:
        """The same of calls that pass different constants, if it is known how many they are."""
        bound = self.frequency.bound(code).count
        passed = [
            {o for _, _, args in calls for o in args[i] if isinstance(o, Lit) and o is not NONE and not o.varies}
            for i in range(len(calls[0][2]))
        ]
        values = max(map(len, passed), default=0)
        return _Calls(values, bound / values) if values and bound != inf else None


def _why(best: Work, *, public: bool, retraces: bool, certain: bool) -> str:
    """Why a graph of known work stays."""
    if best.benefit > 1:
        said = f"{_counted(best)}: eager they take {_times(best)} as long"
    elif public:
        said = f"{_counted(best)}: other programs may call it, and with large tensors a graph is faster"
    else:
        said = f"{_counted(best)}: the estimate is too close to call"
    if not retraces:
        return said
    more = "which is more than tracing costs" if certain else "and not every call is seen to trace it anew"
    return f"{said}, {more}; pass tensors for what retraces it"


def _counted(work: Work) -> str:
    count = round(work.operations)
    return "about 1 TensorFlow operation per call" if count == 1 else f"about {count:,} TensorFlow operations per call"


def _times(work: Work) -> str:
    return f"{work.benefit:.2g} times"


def _is_part(frame: Frame, pos: int, how: How) -> bool:
    """Whether what is called so is part of the work of a call (as `Benefits` counts it)."""
    if how is How.GRAPH:
        return pos in frame.ops  # else a pipeline or `fit` runs it, as a graph
    return how not in SKIPPED or (how is How.CALLBACK and runs_at_once(frame, pos))


def _doubted(work: Work, *, public: bool) -> Work:
    """The work as it may be at worst for the eager function."""
    elements = max(work.elements, _LARGE * work.operations) if public else work.elements
    return replace(work, dispatches=_DOUBT * work.dispatches, elements=elements)


def _retraces_at_a_loss(work: Work, calls: _Calls) -> bool:
    """Whether making the graphs takes longer than they save."""
    return calls.each * (work.eager - work.graph) < work.trace


def _changes(result: Value) -> bool:
    """Whether a function returns something that a graph would make a tensor of, or that is not known."""
    kept = (Tup, Container)
    return any(
        not (o is NONE or isinstance(o, kept) or (isinstance(o, Tensor) and o.kind not in (NDARRAY, VARIABLE)))
        for o in held(result, 3, parts)
    )


def _counts_up(frame: Frame, call: ir.Call) -> bool:
    """Whether a call of Python's own gives a new value each time; what other functions give may be a tensor."""
    return any(isinstance(o, Lib) and registry.root_of(o.name) == "builtins" for o in frame.vals[call.function] or ())


def _made_of(obj: Obj) -> list[Code]:
    """The functions that something is, as it is, bound or wrapped."""
    if isinstance(obj, Wrapper):
        return [code for inner in obj.inner for code in _made_of(inner)]
    func = obj.func if isinstance(obj, Bound) else obj
    return [func.code] if isinstance(func, Func) else []


def _unseen(frame: Frame, instr: Instr) -> str:
    """How an instruction may do work that no operation of the estimate stands for; empty where it does not."""
    if isinstance(instr, _OPERATORS):
        unknown = any(isinstance(o, (Unknown, Lib)) for slot in operands(instr) for o in frame.vals[slot] or ())
        return "computes on values that are not known" if unknown else ""
    if isinstance(instr, ir.Call):
        for obj in frame.vals[instr.function] or ():
            name, known = _library_name(obj)
            if name and registry.root_of(name) not in _ESTIMATED:
                result = frame.vals[instr.target] or ()
                tensors = any(isinstance(o, Unknown) or (isinstance(o, Tensor) and o.kind != NDARRAY) for o in result)
                if tensors or not known:
                    return f"calls something that is not known (`{name}`)"
    return ""


def _library_name(obj: Obj) -> tuple[str, bool]:
    """The name of the library function that an object is, empty where it is none, and whether a model has it itself."""
    if isinstance(obj, Lib):
        return obj.name, registry.is_listed(obj.name)
    if isinstance(obj, LibInst):
        return obj.cls, registry.call_spec(obj.cls) is not None
    if isinstance(obj, Bound) and isinstance(obj.func, str) and isinstance(obj.receiver, LibInst):
        method = obj.func.rpartition(":")[2]
        return f"{obj.receiver.cls}.{method}", registry.method_spec(obj.receiver.cls, method) is not None
    return "", True
