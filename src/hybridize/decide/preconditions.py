"""The preconditions as a table: for each, the facts that must hold and the action that follows.

CONVERT EAGER FUNCTION TO HYBRID (P1) and OPTIMIZE HYBRID FUNCTION (P2, P3) of the paper, Tables I and II; P6 is that
of the reference tool for what computes nothing; P7 is P1 for functions that take no tensors, since they compute on
variables, or make tensors of their own. A condition is a fact, the answer that is asked for,
and the status that says why it failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Final, TypeAlias

from hybridize.decide.documentation import CODES, status_of
from hybridize.decide.model import Action, Decision, Finding, FunctionReport, Severity, Status
from hybridize.facts.model import Against, Evidence, Fact, FunctionFacts, Mode, Ternary, Told
from hybridize.records import dataclass, replace
from hybridize.rules.model import Blocks, Level, Outcome, RuleHit, at_line

FactOf: TypeAlias = Callable[[FunctionFacts], Fact]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user can switch about decisions, and about what is told of them."""

    strict_literals: bool = False
    all_information: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A fact with the answer that a precondition asks for; `status` names the failure, `said` words it.

    Without a `status` its failure is nothing to tell.
    """

    fact: FactOf
    wanted: Ternary
    status: str
    said: str


@dataclass(frozen=True, slots=True)
class Precondition:
    """A row of the table."""

    name: str
    mode: Mode
    action: Action
    conditions: tuple[Condition, ...]


def _tensor(facts: FunctionFacts) -> Fact:
    return facts.tensor_parameter


def _literal(facts: FunctionFacts) -> Fact:
    return facts.primitive_parameter


def _retraces(facts: FunctionFacts) -> Fact:
    return facts.retraces


def _effects(facts: FunctionFacts) -> Fact:
    return facts.python_side_effects


def _tracing_effects(facts: FunctionFacts) -> Fact:
    return facts.tracing_effects or facts.python_side_effects


def _recursive(facts: FunctionFacts) -> Fact:
    return facts.recursive


def _state(facts: FunctionFacts) -> Fact:
    return facts.on_state


def _computes(facts: FunctionFacts) -> Fact:
    return facts.tensor_computation


YES, NO = Ternary.YES, Ternary.NO

_HAS_TENSOR: Final = Condition(_tensor, YES, "no-tensor-parameter", "no parameter receives a tensor")
_NO_TENSOR: Final = Condition(_tensor, NO, "no-primitive-parameter", "has a tensor parameter")
_ON_STATE: Final = Condition(_state, YES, "no-tensor-parameter", "no parameter receives a tensor")
_NO_EFFECT: Final = Condition(_effects, NO, "python-side-effects", "has Python side effects")
_NO_TRACING_EFFECT: Final = Condition(_tracing_effects, NO, "python-side-effects", "has Python side effects")
_NOT_RECURSIVE: Final = Condition(_recursive, NO, "recursive", "is recursive")
_COMPUTES: Final = Condition(_computes, YES, "no-tensor-computation", "computes nothing with TensorFlow")
_NOTHING: Final = Condition(_computes, NO, "", "computes with TensorFlow")


@cache
def table(options: Options) -> tuple[Precondition, ...]:
    """The preconditions in force."""
    literal = _literal if options.strict_literals else _retraces
    no_literal = Condition(literal, NO, "primitive-parameter", "a parameter receives literals")
    literals = Condition(literal, YES, "no-primitive-parameter", "no literal retraces it")
    return (
        Precondition(
            "P1",
            Mode.EAGER,
            Action.CONVERT_TO_HYBRID,
            (_HAS_TENSOR, no_literal, _NO_TRACING_EFFECT, _NOT_RECURSIVE, _COMPUTES),
        ),
        Precondition(
            "P7",
            Mode.EAGER,
            Action.CONVERT_TO_HYBRID,
            (_ON_STATE, _NO_TENSOR, no_literal, _NO_TRACING_EFFECT, _NOT_RECURSIVE, _COMPUTES),
        ),
        Precondition("P2", Mode.HYBRID, Action.CONVERT_TO_EAGER, (_NO_TENSOR, _NO_EFFECT)),
        Precondition("P3", Mode.HYBRID, Action.CONVERT_TO_EAGER, (_HAS_TENSOR, literals, _NO_EFFECT)),
        Precondition("P6", Mode.HYBRID, Action.CONVERT_TO_EAGER, (_HAS_TENSOR, _NOTHING, _NO_EFFECT)),
    )


def decide(facts: FunctionFacts, options: Options, hits: Sequence[RuleHit] = ()) -> FunctionReport:
    """The decision about one function, with the statuses that say why. `hits` are those of the rules on it."""
    report = _decided(facts, options, hits)
    if not options.all_information:
        return report
    return replace(report, statuses=tuple(replace(s, against=Against.NOTHING) for s in report.statuses))


def _decided(facts: FunctionFacts, options: Options, hits: Sequence[RuleHit]) -> FunctionReport:
    unasked = "P1" if _state(facts).value is Ternary.YES else "P7"
    rows = [row for row in table(options) if row.mode is facts.mode and row.name != unasked]
    failures: list[Status] = []
    for row in rows:
        failed = [c for c in row.conditions if c.fact(facts).value is not c.wanted]
        if not failed:
            blocked = _blocked(facts, row, hits)
            if blocked:
                return _report(facts, Decision(Action.KEEP), blocked)
            return _report(facts, Decision(row.action, row.name), [])
        failures += [_failure(facts, condition) for condition in failed if condition.status]
    if facts.mode is Mode.EAGER:
        return _report(facts, Decision(Action.KEEP), failures + _hazards(facts) + _hit_statuses(facts, hits))
    return _report(facts, Decision(Action.KEEP), _hybrid_failures(failures))


def findings(facts: FunctionFacts, hits: Sequence[RuleHit], *, every: bool = False) -> list[Finding]:
    """What rules have to say of a function that is hybrid already: likely bugs; `every`: whatever speaks against it."""
    if facts.mode is not Mode.HYBRID:
        return []
    # A rule without a level tells of hybrid functions only what it gives a level of its own.
    told = [hit for hit in hits if hit.rule.level is not None or hit.level is not Level.INFO]
    told = [hit for hit in told if every or hit.against is Against.NOTHING]
    return [_in_body(finding(hit, facts.id), hit, facts) for hit in _once(told)]


def _in_body(found: Finding, hit: RuleHit, facts: FunctionFacts) -> Finding:
    """A finding with its line as the cause where the rule names none: a signature has many parts that are apart."""
    is_head = hit.path == facts.path and hit.line <= facts.line
    return found if is_head or found.causes else replace(found, causes=(at_line(hit.path, hit.line),))


def _once(hits: Sequence[RuleHit]) -> Iterator[RuleHit]:
    """The hits, those as information that say again what another one says, a line further in the same function."""
    seen: set[tuple[str, tuple[Evidence, ...]]] = set()
    for hit in hits:
        calls = tuple(takewhile(lambda step: step.told is Told.CALL, hit.evidence))
        again = hit.rule.once and bool(calls) and (hit.rule.code, calls) in seen
        yield replace(hit, level=Level.INFO) if again else hit
        seen.add((hit.rule.code, calls))


def finding(hit: RuleHit, function: str | None) -> Finding:
    """A hit as a lint result."""
    end = hit.end if hit.end is not None else hit.position
    return Finding(
        code=hit.rule.code,
        name=hit.rule.name,
        severity=Severity(hit.level.value),
        message=f"{hit.message}: {hit.rule.act}" if hit.rule.act else hit.message,
        path=hit.path,
        line=hit.line,
        column=hit.column,
        end_line=end >> 16,
        end_column=(end & 0xFFFF) + 1,
        function=function,
        evidence=hit.evidence,
        ends=hit.outcome is Outcome.RAISES,
        causes=hit.causes,
    )


#: A function shows so many places of one rule.
_PLACES: Final = 3


def _hit_statuses(facts: FunctionFacts, hits: Sequence[RuleHit]) -> list[Status]:
    """The hits that block the conversion of an eager function, at the place of their cause."""
    counts: dict[str, int] = {}
    found: list[Status] = []
    for hit in hits:
        if Blocks.TO_HYBRID not in hit.blocks:
            continue
        counts[hit.rule.code] = counts.get(hit.rule.code, 0) + 1
        if counts[hit.rule.code] <= _PLACES:
            severity = Severity.ERROR if hit.outcome in (Outcome.RAISES, Outcome.DIFFERS) else Severity.WARNING
            found.append(
                Status(
                    hit.rule.code,
                    hit.rule.name,
                    severity,
                    hit.message,
                    hit.path,
                    hit.line,
                    hit.column,
                    hit.evidence,
                    against=hit.against,
                )
            )
    return found


def _blocked(facts: FunctionFacts, row: Precondition, hits: Sequence[RuleHit]) -> list[Status]:
    """What stands against a change whose precondition holds."""
    if row.mode is Mode.EAGER:
        return _hazards(facts) + _hit_statuses(facts, hits)
    against = [hit for hit in hits if Blocks.TO_EAGER in hit.blocks]
    if against:
        return [status_of(facts, "graph-dependants", against[0].message, against[0].evidence)]
    made = facts.hybridization
    if made is None:
        return []
    needs_graph = [(n, v) for n, v in made.arguments if n in _GRAPH_ARGUMENTS and v not in ("None", "False")]
    needs_graph += [(n, v) for n, v in made.arguments if n == "autograph" and v == "False"]
    wrapped = next((name for name in made.given if name in _GRAPH_ARGUMENTS or name == "autograph"), None)
    if wrapped is not None and made.is_decorator and not needs_graph:
        here = Evidence(f"its decorator gives `{wrapped}` to `tf.function`", facts.path, made.line)
        return [status_of(facts, "graph-dependants", here.message, (here,))]
    if needs_graph:
        name, value = needs_graph[0]
        here = Evidence(f"`{name}={value}`", facts.path, made.line)
        return [status_of(facts, "graph-dependants", f"the decorator says `{name}={value}`", (here,))]
    dependants = [h for h in facts.hazards if h.name == "graph-dependants"]
    if dependants:
        return [status_of(facts, "graph-dependants", dependants[0].message, dependants[0].evidence)]
    if made.conditional:
        here = Evidence("hybrid only under a condition: its decorator may also leave it eager", facts.path, made.line)
        return [status_of(facts, "explicit-hybrid", here.message, (here,))]
    if not made.is_decorator:
        here = Evidence("made hybrid by a call of `tf.function`", facts.path, made.line)
        return [status_of(facts, "explicit-hybrid", here.message, (here,))]
    return []


_GRAPH_ARGUMENTS: Final = frozenset({"jit_compile", "experimental_compile", "input_signature"})


def _hazards(facts: FunctionFacts) -> list[Status]:
    return [status_of(facts, h.name, h.message, h.evidence) for h in facts.hazards if h.name in CODES]


def _hybrid_failures(failures: list[Status]) -> list[Status]:
    """A hybrid function that stays: a recursive one is likely a bug, the rest is information.

    Of a side effect that is one, the rules tell: one finding for each cause.
    """
    out: dict[str, Status] = {}
    for status in failures:
        severity = Severity.WARNING if status.name == "recursive" else Severity.INFO
        out.setdefault(status.name, replace(status, severity=severity, against=Against.NOTHING))
    return list(out.values())


def _failure(facts: FunctionFacts, condition: Condition) -> Status:
    fact = condition.fact(facts)
    if fact.value is Ternary.UNKNOWN:
        cause = fact.evidence[-1].message if fact.evidence else "the analysis cannot tell"
        message = f"not known whether it {_asked(condition)}: {cause}"
        status = _at_cause(status_of(facts, "undetermined", message, fact.evidence))
        return replace(status, message=message, against=Against.UNKNOWN)
    if condition.status == "no-primitive-parameter":  # what speaks for staying hybrid is no cause to trace back
        return status_of(facts, condition.status, "has tensor parameters, and no literal retraces it")
    cause = fact.evidence[-1].message if fact.evidence and fact.value is YES else condition.said
    status = status_of(facts, condition.status, cause, fact.evidence)
    return _at_cause(status) if condition.status in _CAUSED else status


#: Statuses whose cause is a place in some code, not the function's parameters.
_CAUSED: Final = frozenset({"python-side-effects", "recursive"})


def _at_cause(status: Status) -> Status:
    """A status at the place of its first cause, with the sentence that names it: calls only lead there."""
    causes = [e for e in status.evidence if e.told is not Told.CALL] or list(status.evidence[:1])
    if not causes:
        return status
    first = causes[0]
    return replace(status, message=first.message, path=first.path, line=first.line, column=1)


def _asked(condition: Condition) -> str:
    return {
        "no-tensor-parameter": "has a tensor parameter",
        "no-primitive-parameter": "has retracing parameters",
        "primitive-parameter": "has retracing parameters",
        "python-side-effects": "has Python side effects",
        "recursive": "is recursive",
        "no-tensor-computation": "computes with TensorFlow",
    }[condition.status]


def _report(facts: FunctionFacts, decision: Decision, statuses: list[Status]) -> FunctionReport:
    extra: list[Status] = []
    stays = facts.mode is Mode.HYBRID and facts.recursive.value is YES and decision.action is Action.KEEP
    if stays and not any(s.name == "recursive" for s in statuses):
        warned = status_of(facts, "recursive", "hybrid and recursive: tracing may not end", facts.recursive.evidence)
        extra.append(replace(warned, severity=Severity.WARNING, is_of_function=True))
    return FunctionReport(facts, decision, tuple(statuses + extra))
