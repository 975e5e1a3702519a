"""The plan: which of the functions that are safe to convert are worth it, over the whole project.

From callers to callees: a function that runs as part of graphs gains nothing of its own; one with too little work per
call loses; the rest is chosen, so that the outermost safe functions cover the work. What is left out says why.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from hybridize.decide.basis import Basis
from hybridize.decide.confidence import suffices
from hybridize.decide.coverage import Coverage
from hybridize.decide.documentation import status_of
from hybridize.decide.gains import Gains
from hybridize.decide.made_weights import made_weights
from hybridize.decide.mistakes import Mistakes
from hybridize.decide.model import Action, Confidence, Decision, FunctionReport, Status
from hybridize.decide.passed_shapes import shape_from_outside
from hybridize.decide.passed_variables import kept_variable, stages
from hybridize.decide.pointless import removes_for_nothing
from hybridize.decide.weight_names import asks_for_names
from hybridize.decide.worth import MOSTLY, Worth, counted, is_counted
from hybridize.domain.calls import BY_OTHERS
from hybridize.domain.objects import Container, Inst, LibInst, Tensor, Tup, Unknown
from hybridize.facts.gain.benefit import Work
from hybridize.facts.model import Against, Evidence, FunctionFacts, Mode, ParameterFacts, Ternary
from hybridize.flow.solve import given_position
from hybridize.library import costs
from hybridize.program.ir import Code
from hybridize.records import dataclass, replace
from hybridize.source import Role
from hybridize.tracing.callers.contract import unknown_result
from hybridize.tracing.retraced.lifetimes import calls_for_each

#: The plan is made so often at most: which graphs nobody would notice is only seen beside the others, and what a larger
#: one held takes its place.
_ROUNDS: Final = 10
#: A graph that is not even so many times as fast costs more than it saves.
_IDLE: Final = 0.7
#: What is won back so many times over pays even where the estimate, and the guess how long a loop is, are off.
_SURELY: Final = 3.0
#: What stands before the reason where something else keeps a function eager.
_EVEN_SO: Final = "even without that a graph would not pay"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asks of the plan: every conversion that is safe, or those that rest on enough."""

    all_safe: bool = False
    confidence: Confidence = Confidence.SEEN


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned reports, and the share of its calls for which each function runs as (part of) a graph.

    `vain` are the functions that something keeps eager, and that would stay so without it: nothing is gained by them.
    """

    reports: list[FunctionReport]
    graphs: Mapping[Code, float]
    vain: Collection[Code] = ()

    def in_graph(self, path: str, line: int) -> bool:
        """Whether a place is in a function that runs as a graph, or mostly as part of one."""
        return any(
            share >= MOSTLY and code.path == path and code.line <= line <= code.end_line and code.is_function
            for code, share in self.graphs.items()
        )


def plan(
    codes: Sequence[Code], reports: Sequence[FunctionReport], basis: Basis, wanted: Wanted, mistakes: Mistakes
) -> Plan:
    """The reports (in the order of `codes`) with the expected benefit; what is not worth it is kept, with a reason.

    With `all_safe` every conversion stays as it is, but what nobody vouches for.
    """
    given = dict(zip(codes, reports, strict=True))
    # What only the first phase came to has no frames any more, and no calls.
    order = list(dict.fromkeys((*basis.frequency.codes, *codes)))
    small: dict[Code, str] = {}
    for _ in range(_ROUNDS):
        chooser, planned = _Chooser(basis, wanted, given, small), dict(given)
        for code in order:
            report = planned.get(code)
            mistakes.spare(code, partial(chooser.gains.visit, code, chooser.graphs))
            if report is None:
                chooser.graphs[code] = mistakes.spare(code, partial(chooser.coverage.share, code)) or 0.0
            else:
                planned[code] = mistakes.changed(code, report, partial(chooser.visit, code, report))
                chooser.graphs.setdefault(code, 0.0)
        new = chooser.unnoticed([code for code in codes if _converts(planned[code])])
        if not new:
            break
        small |= new
    return Plan([planned[code] for code in codes], chooser.graphs, chooser.vain)


def _variables(facts: FunctionFacts) -> list[ParameterFacts]:
    """The parameters that may receive a variable."""
    return [param for param in facts.parameters if any(each.kind == "variable" for each in param.tensor_types)]


def _converts(report: FunctionReport) -> bool:
    return report.decision.action is Action.CONVERT_TO_HYBRID


Reports: TypeAlias = Mapping[Code, FunctionReport]


class _Chooser:
    def __init__(self, basis: Basis, wanted: Wanted, given: Reports, small: Mapping[Code, str]) -> None:
        """`small` says of which functions an earlier round has found that nobody would notice their graphs."""
        self.reports = given
        self.small = small
        self.basis = basis
        self.wanted = wanted
        self.all_safe = wanted.all_safe
        opened = wanted.confidence is not Confidence.SEEN  # what authors declare is for others to call
        self.gains = Gains(basis.frequency, basis.confidences.contracts, basis.benefits, basis.roles, opened=opened)
        self.confidences = basis.confidences
        self.graphs: dict[Code, float] = {}
        self.coverage = Coverage(basis.frequency, basis.roles, self.graphs)
        self.given: set[Code] = set()  # the functions that get variables as arguments
        self.vain: set[Code] = set()
        self.assumed: dict[Code, Evidence] = {}  # what conversions rest on beside what their facts do
        #: Whether something that can be converted is called in loops of unknown length.
        bounds = [basis.frequency.bound(code) for code, report in given.items() if _converts(report)]
        busy = any(bound.looped and math.isinf(bound.count) for bound in bounds)
        self.worth = Worth(basis, self.coverage, self.graphs, busy=busy)

    def visit(self, code: Code, report: FunctionReport) -> FunctionReport:
        """Decides about a function after all its callers."""
        share = self.coverage.share(code)
        if _variables(report.facts):
            self.given.add(code)
        if report.decision.action is Action.CONVERT_TO_HYBRID:
            work = self.basis.benefits.work(self.basis.frames.get(code, []))
            benefit = work.cautious if work is not None else None
            grounds = self.confidences.of(code, report.facts)
            decision = replace(report.decision, benefit=benefit, confidence=grounds.level, grounds=grounds.evidence)
            reason = self._why_not(code, report.facts, share, work, decision)
            if reason is None:
                self.graphs[code] = 1.0
                if assumed := self.assumed.get(code):
                    decision = replace(decision, confidence=Confidence.ASSUMED, grounds=(*decision.grounds, assumed))
                    facts = replace(report.facts, assumptions=(*report.facts.assumptions, assumed))
                    report = replace(report, facts=facts)
                return replace(report, decision=decision)
            statuses = (*report.statuses, reason)
            if decision.precondition == "P7":  # what makes up for the missing tensors is the gain alone
                decision = replace(decision, precondition=None, benefit=None, confidence=None, grounds=())
                statuses = (status_of(report.facts, "no-tensor-parameter", "no parameter receives a tensor"), *statuses)
            report = replace(report, decision=replace(decision, action=Action.KEEP), statuses=statuses)
        elif self._updates(code, report, share):
            said = report.facts.updates_variables.evidence
            message = f"{said[0].message}: as a graph that gains without tensors as arguments"
            kept = status_of(report.facts, "updates-variables", message, said)
            report = replace(report, decision=Decision(Action.KEEP), statuses=(*report.statuses, kept))
        elif report.decision.action is Action.CONVERT_TO_EAGER and self.basis.roles.is_test(code.path):
            tested = "belongs to the tests: its decorator may be what they test"
            report = report.kept(status_of(report.facts, "part-of-tests", tested))
        elif report.decision.action is Action.CONVERT_TO_EAGER:
            session = None if self.all_safe else self.worth.session(code, report.facts)
            removed = self.basis.removals.visit(code, report, all_safe=self.all_safe)
            report = removed if session is None else report.kept(session)
            report = self._noticed(code, report, share)
        elif report.facts.mode is Mode.EAGER and report.facts.candidate and share >= MOSTLY:
            # What keeps it eager matters less: it is part of a graph, or of what is to be one.
            report = replace(report, statuses=(*report.statuses, self.coverage.status(code, report.facts, share)))
        elif not self.all_safe and report.facts.mode is Mode.EAGER and report.facts.candidate:
            report = replace(report, statuses=(*report.statuses, *self._no_loss(code, report, share)))
        elif report.facts.mode is Mode.HYBRID and report.facts.candidate:
            report = replace(report, statuses=(*report.statuses, *self._idle(code, report.facts, share)))
        eager = report.facts.mode is Mode.EAGER and report.decision.action is Action.KEEP
        if eager and report.facts.candidate and not self.all_safe and self._is_vain(code, report.facts, share):
            self.vain.add(code)
        stays_hybrid = report.facts.mode is Mode.HYBRID and report.decision.action is not Action.CONVERT_TO_EAGER
        self.graphs[code] = 1.0 if stays_hybrid else share
        return report

    def unnoticed(self, chosen: list[Code]) -> dict[Code, str]:
        """What nobody would notice of what is made, or would be if more were known; nothing with `--all-safe`."""
        if self.all_safe or self.worth.is_demonstration:
            return {}
        withheld = [code for code in self.basis.frequency.codes if code in self.gains.withheld]
        return self.gains.unnoticed(self._works(chosen), self._works(withheld))

    def _works(self, codes: list[Code]) -> dict[Code, Work]:
        works = {code: self.basis.benefits.work(self.basis.frames.get(code, [])) for code in codes}
        return {code: work for code, work in works.items() if work is not None}

    def _why_not(
        self, code: Code, facts: FunctionFacts, share: float, work: Work | None, decision: Decision
    ) -> Status | None:
        """Why a conversion that is safe is not made; None where it is. `--all-safe` makes all that the default does."""
        even_so = self._open_even_so(code, facts, share) if self.all_safe else None
        vouched = self.all_safe and even_so is None
        if vouched and decision.precondition != "P7":  # what makes up for the missing tensors is the gain alone
            return None
        if vouched and not self._takes_objects(code, facts):
            return self.worth.against(code, facts, share, work, counted_only=True)
        reason = self.worth.against(code, facts, share, work) or self._no_gain(code, facts, work)
        if reason is None and not vouched:
            reason = self._too_unsure(code, facts, decision)
            if reason is not None and not self.all_safe and decision.precondition != "P7":  # whose parts may be P1
                self.gains.withheld.add(code)
        return None if reason is None else even_so or reason

    def _takes_objects(self, code: Code, facts: FunctionFacts) -> bool:
        """Whether a function is given objects beside its receiver: each new one is a trace, and may be for one call."""
        first = int(facts.kind.is_bound)
        values = (value for frame in self.basis.frames.get(code, []) for value in frame.args[first:])
        return any(isinstance(o, (Inst, LibInst)) for value in values for o in value)

    def _noticed(self, code: Code, report: FunctionReport, share: float) -> FunctionReport:
        """A removal by default is made only where it gains something."""
        if self.all_safe or self.worth.is_demonstration or report.decision.action is not Action.CONVERT_TO_EAGER:
            return report
        work = self.basis.benefits.work(self.basis.frames.get(code, []))
        reason = removes_for_nothing(self.basis.scanner.project, self.gains, code, report, share, work)
        return report if reason is None else report.kept(reason)

    def _updates(self, code: Code, report: FunctionReport, share: float) -> bool:
        """Whether a hybrid function without tensor parameters is one that P7 would make hybrid again."""
        facts, decision = report.facts, report.decision
        if decision.precondition != "P2" or facts.updates_variables.value is not Ternary.YES:
            return False
        work = self.basis.benefits.work(self.basis.frames.get(code, []))
        return work is not None and self.worth.against(code, facts, share, work) is None

    def _is_vain(self, code: Code, facts: FunctionFacts, share: float) -> bool:
        """Whether a function that something keeps eager would stay so without it, whatever it computes."""
        work = self.basis.benefits.work(self.basis.frames.get(code, []))
        return self.worth.apart(code, facts, share) is not None or (
            work is not None and self.worth.seldom(code, facts, work, work.eager) is not None
        )

    def _no_loss(self, code: Code, report: FunctionReport, share: float) -> tuple[Status, ...]:
        """Says of a function that stays eager for another reason that nothing is lost by it, where that is sure."""
        facts = report.facts
        work = self.basis.benefits.work(self.basis.frames.get(code, []))
        if not is_counted(work, facts):
            return ()
        reason = None if self.worth.session(code, facts) else self.worth.against(code, facts, share, work)
        if reason is None:
            return ()
        # It goes along with what keeps the function eager, and is told where that is.
        certain = any(status.against is Against.NOTHING for status in report.statuses)
        against = Against.NOTHING if certain else Against.UNKNOWN
        return (replace(reason, message=f"{_EVEN_SO}: {reason.message}", against=against),)

    def _idle(self, code: Code, facts: FunctionFacts, share: float) -> tuple[Status, ...]:
        """Says of a graph that stays that it costs more than it saves, where its decorator asks for nothing else."""
        made = facts.hybridization
        if made is None or made.arguments or made.given or made.conditional or share >= MOSTLY:
            return ()
        work = self.basis.benefits.work(self.basis.frames.get(code, []))
        if not is_counted(work, facts):
            return ()
        if work.nodes > costs.LARGEST_GRAPH:
            message = f"tracing unrolls its Python loops to about {work.nodes:,.0f} operations: loop over `tf.range`"
            return (status_of(facts, "not-worth-it", message),)
        if (work.eager + work.guessed) / (work.graph + work.guessed) >= _IDLE:  # large tensors leave less between them
            return ()
        message = f"its graph gains nothing: about {counted(work)} per call, and calling it costs more"
        return (status_of(facts, "not-worth-it", message),)

    def _open_even_so(self, code: Code, facts: FunctionFacts, share: float) -> Status | None:
        """What is not made a graph even if all that is safe is asked for: nobody vouches that one may stand there.

        Nobody can follow a call, Keras may run a library on another backend, a library's contract does not say that a
        graph may stand there, a call of a library's function would end otherwise, or what the function gives may be no
        tensor: graphs give nothing else. And what a graph would only be part of another for, or made anew by each call.
        """
        if self.basis.sessions.only:
            return self.worth.session(code, facts)
        if any(pos == given_position(code) for frame in self.basis.frames.get(code, []) for _, pos in frame.incoming):
            return status_of(facts, "part-of-tests", "a test runner calls it: nothing is gained where tests run")
        # What a test hands over to be called says nothing of what others do.
        unfollowed = tuple(each for each in facts.unfollowed if not self.basis.roles.is_test(each.path))
        if unfollowed:
            return status_of(facts, "unsure", unfollowed[0].message, unfollowed)
        confidences, frames = self.basis.confidences, self.basis.frames.get(code, [])
        if self.basis.roles.is_test(code.path) and confidences.of(code, facts).level is Confidence.ASSUMED:
            return status_of(facts, "part-of-tests", "tests may give it what they are to show the limits of")
        unsure = (
            confidences.on_any_backend(code)
            or confidences.contracts.unproven(code, frames, self._stands)
            or confidences.outcome(code, facts)
        )
        if unsure is not None:
            return status_of(facts, "unsure", unsure.message, (unsure,))
        results = [obj for frame in frames for obj in frame.ret]
        unknown = next((obj for obj in results if isinstance(obj, Unknown)), None)
        shown = facts.gives_tensors or any(isinstance(obj, (Tensor, Tup, Container)) for obj in results)
        if unknown is not None and not shown:
            said = unknown_result(self.basis.scanner.view(code, frames, facts))
            if said is not None:
                return status_of(facts, "unsure", said.message, (said,))
        callers = {call.caller for call in self.basis.frequency.calls.get(code, {}).values()}
        if code.decorators and callers and callers <= self.basis.benefits.hybrid:
            return self.coverage.status(code, facts, share)  # what decorates it makes a graph already
        relays = self.worth.relays(code, facts)
        return relays or self.worth.made_within(code, facts, share) or self._variable_of_graph(code, facts)

    def _stands(self, abstract: Code) -> bool:
        """Whether methods of the program implement an abstract one, and none has side effects."""
        known = [self.reports.get(code) for code in self.basis.confidences.contracts.implementers(abstract)]
        return bool(known) and all(r is not None and r.facts.python_side_effects.value is Ternary.NO for r in known)

    def _variable_of_graph(self, code: Code, facts: FunctionFacts) -> Status | None:
        """Whether a graph passes a variable on, as which it got it itself: this function must be no graph of its own.

        Measured with TensorFlow 2.15 and 2.21: under a tape the inner graph holds on to the variable that the outer one
        was traced with, and raises when that is gone.
        """
        variables, frames = _variables(facts), self.basis.frames.get(code, [])
        project, opened = self.basis.scanner.project, self.basis.roles.of(code.path) is Role.LIBRARY
        kept = kept_variable(project, frames, project.solution.world.hybrids) if opened else None
        asked = opened or self.basis.roles.is_test(code.path)
        kept = kept or (shape_from_outside(project, frames) if opened else None)
        if kept := kept or (self._made_weights(code, facts, opened) if asked else None):
            return status_of(facts, "covered", kept.message, (kept,))
        calls = sorted(self.basis.frequency.calls.get(code, {}).values(), key=lambda c: (c.caller.path, c.position))
        graphs = [c for c in calls if c.how not in BY_OTHERS and self.graphs.get(c.caller, 0.0) > 0]
        keeps = opened and bool(variables) and any(stages(project, frame) for frame in frames)
        caller = next((c for c in graphs if keeps or c.caller in self.given), None)
        if not variables or caller is None:
            return None
        said = f"`{caller.caller.qualname}` is a graph that may pass on a variable as `{variables[0].name}`"
        here = Evidence(said, caller.caller.path, caller.position >> 16)
        return status_of(facts, "covered", f"{said}: no graph in a graph takes one after the other", (here,))

    def _made_weights(self, code: Code, facts: FunctionFacts, opened: bool) -> Evidence | None:
        """Weights that a graph would make: with `--all-safe` nobody counts on names that the project never asks for."""
        project, frames = self.basis.scanner.project, self.basis.frames.get(code, [])
        made = made_weights(project, frames, facts.kind, opened, seen=self.all_safe)
        if made is None or not self.all_safe or asks_for_names(project):
            return made
        kept = made_weights(project, frames, facts.kind, opened, seen=True, named=False)
        if kept is None:
            said = "assumed that nobody asks for the names of the weights that it is the first to make"
            self.assumed[code] = Evidence(said, made.path, made.line)
        return kept

    def _no_gain(self, code: Code, facts: FunctionFacts, work: Work | None) -> Status | None:
        """Why nothing shows that a conversion pays."""
        if self.basis.roles.is_test(code.path):
            said = Evidence("its file belongs to the tests", code.path, code.line)
            return status_of(facts, "part-of-tests", "belongs to the tests: nothing is gained where they run", (said,))
        if work is None:
            return status_of(facts, "no-gain-seen", "no call of it was analyzed: what it would gain is not known")
        unseen = self.small.get(code) or self.gains.against(code, work, shown=self.worth.is_demonstration)
        if unseen is not None:
            return status_of(facts, "no-gain-seen", unseen)
        each = calls_for_each(self.basis.scanner.view(code, self.basis.frames.get(code, []), facts))
        if math.isinf(each) or each * (work.eager - work.graph) >= _SURELY * work.trace:
            return None
        message = f"about {each:.0f} calls for each object that it is traced for: tracing takes longer than they save"
        return status_of(facts, "no-gain-seen", message)

    def _too_unsure(self, code: Code, facts: FunctionFacts, decision: Decision) -> Status | None:
        """Why a conversion that would pay rests on too little to be made by default."""
        level = decision.confidence or Confidence.ASSUMED
        if suffices(level, self.wanted.confidence):
            return None
        said = decision.grounds[0].message if decision.grounds else "nothing is known of its calls"
        return status_of(facts, "unsure", f"rests on what is {level.value}: {said}", decision.grounds)
