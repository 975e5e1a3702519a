"""The plan: which of the functions that are safe to convert are worth it, over the whole project (design.md §5).

From callers to callees: a function that runs as part of graphs gains nothing of its own; one with too little work per
call loses; the rest is chosen, so that the outermost safe functions cover the work. What is left out says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from hybridize.decide.confidence import Confidences, suffices
from hybridize.decide.documentation import status_of
from hybridize.decide.gains import Gains
from hybridize.decide.model import Action, Confidence, Decision, FunctionReport, Status
from hybridize.decide.removals import Removals
from hybridize.decide.sessions import Sessions
from hybridize.domain.objects import Container, Tensor, Tup, Unknown
from hybridize.facts.benefit import Benefits, Work
from hybridize.facts.frequency import Call, Frequency
from hybridize.facts.model import Evidence, FunctionFacts, Mode, Ternary
from hybridize.facts.work import Counts
from hybridize.flow.frames import Frame
from hybridize.library import costs
from hybridize.program.ir import Code
from hybridize.records import dataclass, replace
from hybridize.rules.scan import Scanner
from hybridize.source import Role, Roles

#: A function that is called from graphs for this share of its calls needs no graph of its own.
_MOSTLY: Final = 0.66
#: So often at most a nested function is called for each time that it is made.
_ONCE: Final = 1.5
_WHOLLY: Final = 0.999
#: Python runs what these calls reach even where the caller is a graph.
_OUTSIDE: Final = frozenset({"host", "callback"})
_SHOWN: Final = 3
#: What stands before the reason where something else keeps a function eager.
_EVEN_SO: Final = "even without that a graph would not pay"


@dataclass(frozen=True, slots=True)
class Basis:
    """What the plan rests on: frames and calls of the whole solution, and the work in them."""

    frames: Mapping[Code, list[Frame]]
    frequency: Frequency
    benefits: Benefits
    sessions: Sessions
    roles: Roles
    confidences: Confidences
    removals: Removals

    @classmethod
    def of(cls, scanner: Scanner, order: list[list[Frame]], root: Path | None = None) -> Basis:
        """That of a solved program in a folder; `order` are the components of its call graph, callees first."""
        solution, roles = scanner.solution, scanner.project.roles
        counts = Counts()
        frequency = Frequency(solution, order, counts)
        benefits = Benefits(set(solution.world.hybrids), counts, solution.frames)
        removals = Removals(solution.frames, frequency, benefits, roles)
        sessions = Sessions.of(solution, scanner.project.versions, roles, root)
        return cls(solution.frames, frequency, benefits, sessions, roles, Confidences(scanner), removals)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asks of the plan: every conversion that is safe, or those that rest on enough."""

    all_safe: bool = False
    confidence: Confidence = Confidence.SEEN


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned reports, and the share of its calls for which each function runs as (part of) a graph."""

    reports: list[FunctionReport]
    graphs: Mapping[Code, float]

    def in_graph(self, path: str, line: int) -> bool:
        """Whether a place is in a function that runs as a graph, or mostly as part of one."""
        return any(
            share >= _MOSTLY and code.path == path and code.line <= line <= code.end_line and code.kind == "function"
            for code, share in self.graphs.items()
        )


def plan(codes: Sequence[Code], reports: Sequence[FunctionReport], basis: Basis, wanted: Wanted) -> Plan:
    """The reports (in the order of `codes`) with the expected benefit; what is not worth it is kept, with a reason.

    With `all_safe` every conversion stays as it is.
    """
    planned = dict(zip(codes, reports, strict=True))
    chooser = _Chooser(basis, wanted, [c for c, r in planned.items() if _converts(r)])
    # What only the first phase came to has no frames any more, and no calls.
    for code in dict.fromkeys((*basis.frequency.codes, *codes)):
        report = planned.get(code)
        chooser.gains.visit(code, chooser.graphs)
        if report is None:
            chooser.graphs[code] = chooser.share(code)
        else:
            planned[code] = chooser.visit(code, report)
    return Plan([planned[code] for code in codes], chooser.graphs)


def _converts(report: FunctionReport) -> bool:
    return report.decision.action is Action.CONVERT_TO_HYBRID


class _Chooser:
    def __init__(self, basis: Basis, wanted: Wanted, convertible: Sequence[Code]) -> None:
        self.basis = basis
        self.wanted = wanted
        self.all_safe = wanted.all_safe
        self.gains = Gains(basis.frequency, basis.confidences.contracts, basis.roles)
        self.confidences = basis.confidences
        self.graphs: dict[Code, float] = {}
        #: Whether something that can be converted is called in loops of unknown length.
        self.busy = any(bound.looped and math.isinf(bound.count) for bound in map(basis.frequency.bound, convertible))

    def visit(self, code: Code, report: FunctionReport) -> FunctionReport:
        """Decides about a function after all its callers."""
        share = self.share(code)
        if report.decision.action is Action.CONVERT_TO_HYBRID:
            work = self.basis.benefits.work(self.basis.frames.get(code, []))
            benefit = work.cautious if work is not None else None
            grounds = self.confidences.of(code, report.facts)
            decision = replace(report.decision, benefit=benefit, confidence=grounds.level, grounds=grounds.evidence)
            reason = None if self.all_safe else self._against(code, report.facts, share, work)
            if reason is None and self.all_safe:
                reason = self._open_even_so(code, report.facts)
            elif reason is None:
                reason = self._no_gain(code, report.facts, work)
                if reason is None:
                    reason = self._too_unsure(code, report.facts, decision)
                    if reason is not None:
                        self.gains.withheld.add(code)
            if reason is None:
                self.graphs[code] = 1.0
                return replace(report, decision=decision)
            statuses = (*report.statuses, reason)
            if decision.precondition == "P7":  # what makes up for the missing tensors is the gain alone
                decision = replace(decision, precondition=None, benefit=None, confidence=None, grounds=())
                statuses = (status_of(report.facts, "no-tensor-parameter", "no parameter receives a tensor"), *statuses)
            report = replace(report, decision=replace(decision, action=Action.KEEP), statuses=statuses)
        elif not self.all_safe and self._updates(code, report, share):
            said = report.facts.updates_variables.evidence
            message = f"{said[0].message}: as a graph that gains without tensors as arguments"
            kept = status_of(report.facts, "updates-variables", message, said)
            report = replace(report, decision=Decision(Action.KEEP), statuses=(*report.statuses, kept))
        elif report.decision.action is Action.CONVERT_TO_EAGER and self._is_tested(code):
            tested = "belongs to the tests: its decorator may be what they test"
            report = report.kept(status_of(report.facts, "part-of-tests", tested))
        elif report.decision.action is Action.CONVERT_TO_EAGER:
            session = None if self.all_safe else self._session(code, report.facts)
            removed = self.basis.removals.visit(code, report, all_safe=self.all_safe)
            report = removed if session is None else report.kept(session)
        elif report.facts.mode is Mode.EAGER and report.facts.candidate and share >= _MOSTLY:
            # What keeps it eager matters less: it is part of a graph, or of what is to be one.
            report = replace(report, statuses=(*report.statuses, self._covered(code, report.facts, share)))
        elif not self.all_safe and report.facts.mode is Mode.EAGER and report.facts.candidate:
            report = replace(report, statuses=(*report.statuses, *self._no_loss(code, report.facts, share)))
        stays_hybrid = report.facts.mode is Mode.HYBRID and report.decision.action is not Action.CONVERT_TO_EAGER
        self.graphs[code] = 1.0 if stays_hybrid else share
        return report

    def _updates(self, code: Code, report: FunctionReport, share: float) -> bool:
        """Whether a hybrid function without tensor parameters is one that P7 would make hybrid again."""
        facts, decision = report.facts, report.decision
        if decision.precondition != "P2" or facts.updates_variables.value is not Ternary.YES:
            return False
        work = self.basis.benefits.work(self.basis.frames.get(code, []))
        return work is not None and self._against(code, facts, share, work) is None

    def _no_loss(self, code: Code, facts: FunctionFacts, share: float) -> tuple[Status, ...]:
        """Says of a function that stays eager for another reason that nothing is lost by it, where that is sure."""
        work = self.basis.benefits.work(self.basis.frames.get(code, []))
        if work is None or work.unknown or facts.tensor_computation.value is not Ternary.YES:
            return ()
        reason = self._against(code, facts, share, work)
        return () if reason is None else (replace(reason, message=f"{_EVEN_SO}: {reason.message}"),)

    def share(self, code: Code) -> float:
        """For which share of its calls a function runs inside of a graph."""
        total = inside = 0.0
        for call in self.basis.frequency.calls.get(code, {}).values():
            if call.how not in _OUTSIDE and call.how != "graph" and call.caller not in self.graphs:
                continue  # a recursion: its caller is decided later
            total += call.weight
            inside += call.weight * self._inside(call)
        if code in self.basis.frequency.escaped:
            total *= 2
        return inside / total if total else 0.0

    def _inside(self, call: Call) -> float:
        if call.how in _OUTSIDE:
            return 0.0
        return 1.0 if call.how == "graph" else self.graphs.get(call.caller, 0.0)

    def _against(self, code: Code, facts: FunctionFacts, share: float, work: Work | None) -> Status | None:
        """Why a function that is safe to convert is left as it is."""
        session = self._session(code, facts)
        if session is not None:
            return session
        covered = facts.covered_by_hybrid_callers
        if covered.value is Ternary.YES and share >= _MOSTLY:
            return status_of(facts, "covered", "every caller is a graph already", covered.evidence)
        if share >= _MOSTLY:
            return self._covered(code, facts, share)
        if work is None:
            return None
        if work.nodes > costs.LARGEST_GRAPH:
            message = f"tracing unrolls its Python loops: about {work.nodes:,.0f} operations"
            return status_of(facts, "not-worth-it", message)
        if work.updates > costs.MOST_UPDATES:
            message = "tracing unrolls a training loop: a graph of one step is what gains"
            return status_of(facts, "not-worth-it", message)
        if work.benefit < 1:
            number = round(work.operations)
            counted = "1 TensorFlow operation" if number == 1 else f"{number} TensorFlow operations"
            message = f"about {counted} per call: the call of a graph costs more ({work.benefit:.2g} times as fast)"
            return status_of(facts, "not-worth-it", message)
        outer = self._made_by(code)
        if outer is not None:
            message = f"made anew by each call of `{outer.name}`, which calls it about once: each call would trace it"
            return status_of(facts, "not-worth-it", message)
        rare = self._too_rare(code, work)
        if rare is not None:
            often = "once" if rare == 1 else f"at most {rare:.0f} times"
            message = f"called {often}: tracing it takes longer than that saves"
            return status_of(facts, "not-worth-it", message)
        return None

    def _session(self, code: Code, facts: FunctionFacts) -> Status | None:
        """Why a function builds graphs of sessions, which a decorator changes for the worse."""
        said = self.basis.sessions.against(code.path)
        evidence = (said,) if said is not None and said.path else ()
        return None if said is None else status_of(facts, "tensorflow-1", said.message, evidence)

    def _open_even_so(self, code: Code, facts: FunctionFacts) -> Status | None:
        """What is not made a graph even if all that is safe is asked for: nobody vouches that one may stand there.

        A library's contract does not say so, or what the function gives may be no tensor: graphs give nothing else.
        """
        if self.basis.sessions.only:
            return self._session(code, facts)
        frames = self.basis.frames.get(code, [])
        unproven = self.basis.confidences.contracts.unproven(code, frames)
        if unproven is not None:
            return status_of(facts, "unsure", unproven.message, (unproven,))
        results = [obj for frame in frames for obj in frame.ret]
        unknown = next((obj for obj in results if isinstance(obj, Unknown)), None)
        if unknown is None or any(isinstance(obj, (Tensor, Tup, Container)) for obj in results):
            return None
        return status_of(facts, "unsure", f"returns something that is not known: {unknown.reason}")

    def _is_tested(self, code: Code) -> bool:
        return not self.all_safe and self.basis.roles.is_test(code.path)

    def _no_gain(self, code: Code, facts: FunctionFacts, work: Work | None) -> Status | None:
        """Why nothing shows that a conversion pays."""
        role = self.basis.roles.of(code.path)
        if role is Role.TEST:
            said = Evidence("its file belongs to the tests", code.path, code.line)
            return status_of(facts, "part-of-tests", "belongs to the tests: nothing is gained where they run", (said,))
        if work is None:
            return status_of(facts, "no-gain-seen", "no call of it was analyzed: what it would gain is not known")
        # A small program that shows something in a few calls says nothing of how often it is called elsewhere.
        # What Keras calls back it runs as part of its own graphs: one call that shows it says nothing.
        called_back = self.basis.confidences.contracts.override(code) is not None
        shown = not self.busy and role is Role.PROGRAM and self.gains.is_called(code, again=called_back)
        unseen = None if shown else self.gains.against(code, work)
        return None if unseen is None else status_of(facts, "no-gain-seen", unseen)

    def _too_unsure(self, code: Code, facts: FunctionFacts, decision: Decision) -> Status | None:
        """Why a conversion that would pay rests on too little to be made by default."""
        level = decision.confidence or Confidence.ASSUMED
        if suffices(level, self.wanted.confidence):
            return None
        said = decision.grounds[0].message if decision.grounds else "nothing is known of its calls"
        return status_of(facts, "unsure", f"rests on what is {level.value}: {said}", decision.grounds)

    def _made_by(self, code: Code) -> Code | None:
        """The function around a nested one that makes it anew again and again, and for about one call each."""
        outer = code.parent
        if outer is None or outer.kind != "function":
            return None
        calls = self.basis.frequency.calls
        made = sum(call.weight for call in calls.get(outer, {}).values())
        called = sum(call.weight for call in calls.get(code, {}).values())
        return outer if made > 1 and 0 < called <= _ONCE * made else None

    def _too_rare(self, code: Code, work: Work) -> float | None:
        """How often a function is called at most, if that is known and too seldom to win back what tracing costs.

        Only in a program whose work is elsewhere: a script that does nothing but call it a few times shows or tests it,
        and says nothing of how often it will be called.
        """
        if not self.busy:
            return None
        bound = self.basis.frequency.bound(code, self.graphs)
        if math.isinf(bound.count) or bound.count * (work.eager - work.graph) >= work.trace:
            return None
        # A script elsewhere (an example, a tool) does not speak for a library.
        home = code.path.rpartition("/")[0]
        return (
            bound.count if all(f"{home}/".startswith(f"{folder}/") or not folder for folder in bound.folders) else None
        )

    def _covered(self, code: Code, facts: FunctionFacts, share: float) -> Status:
        callers = sorted(
            (c for c in self.basis.frequency.calls[code].values() if self._inside(c) > 0),
            key=lambda c: (-c.weight, c.caller.path, c.position),
        )
        evidence = tuple(
            Evidence(f"`{c.caller.qualname}` calls it as part of a graph", c.caller.path, c.position >> 16)
            for c in callers[:_SHOWN]
        )
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(c.caller.qualname for c in callers[:_SHOWN]))
        if share >= _WHOLLY:
            return status_of(facts, "covered", f"runs as part of the graph of {names}", evidence)
        message = f"mostly runs as part of the graph of {names} (about {share:.0%} of its calls)"
        return status_of(facts, "covered", message, evidence)
