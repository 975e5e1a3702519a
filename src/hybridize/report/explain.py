"""Why this verdict, step by step: everything that is known of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hybridize.decide.model import Action, FunctionReport, Report, Status
from hybridize.facts.model import Against, Evidence, Fact, FunctionFacts, Hybridization, ParameterFacts, Ternary
from hybridize.records import dataclass
from hybridize.report.hints import bundles
from hybridize.report.paths import place
from hybridize.report.style import PLAIN, Style, one_line
from hybridize.report.summary import ranking, reasons
from hybridize.report.words import change, compared, grounds, releases, rests_on, steps, tensor_type, told_by, verdict

#: The facts that a verdict rests on: what they are called, and their fields in `FunctionFacts`.
FACTS = (
    ("tensor parameter", "tensor_parameter"),
    ("primitive parameter", "primitive_parameter"),
    ("Python side effects", "python_side_effects"),
    ("recursive", "recursive"),
    ("tensor computation", "tensor_computation"),
    ("covered by hybrid callers", "covered_by_hybrid_callers"),
)
_WIDTH = max(len(title) for title, _ in FACTS)
#: By `facts.model.Source`, from where it is known what a parameter receives.
SOURCES = {
    "dataflow": "from the values that arrive",
    "type_hint": "by its type hint",
    "docstring": "by the docstring",
    "speculation": "by speculation",
}
#: What speaks against a reason that is not told beside a certain one.
AGAINST = {
    Against.MERGED: "calls are not told apart",
    Against.TRIED: "runs in graphs already",
    Against.UNKNOWN: "something is not known",
}
#: Whether a parameter receives tensors, in words.
TENSOR = {Ternary.YES: "a tensor", Ternary.NO: "no tensor", Ternary.UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A function, and in words everything that is known of it, as `hybridize explain` prints it."""

    function: FunctionReport
    text: str

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        """For notebooks."""
        from html import escape

        return f"<pre>{escape(self.text)}</pre>"


def explain(report: Report, function: FunctionReport, display: Callable[[str], str], style: Style = PLAIN) -> str:
    """The verdict, the change, statuses, every fact with its evidence, parameters, assumptions and findings."""
    writer = _Explainer(display, style)
    sections: list[Iterator[str]] = [
        writer.head(report, function),
        writer.statuses(function),
        writer.facts(function.facts, function.statuses),
        writer.parameters(function.facts),
        writer.repairs(report, function),
        writer.assumptions(report, function),
        writer.findings(report, function),
    ]
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in map(list, sections) if lines)


def benefit_of(report: Report, function: FunctionReport, benefit: float) -> str:
    """What a graph gains by estimate, and the function's place in the plan, where it has one."""
    text = f"{compared(benefit)}, by estimate"
    ranked = [each.facts.id for each in ranking(report)]
    if function.facts.id in ranked:
        text += f"; number {ranked.index(function.facts.id) + 1} of {len(ranked)} in the plan"
    return text


def made_hybrid(hybridization: Hybridization, place: str) -> str:
    """How a function was made hybrid, at a place as the report shows it."""
    how = "decorated" if hybridization.is_decorator else "made hybrid by a call of `tf.function`"
    arguments = ", ".join(f"{name}={value}" for name, value in hybridization.arguments)
    line = f"{how} at {place}"
    line += f" with {arguments}" if arguments else ""
    line += f"; its wrapper gives {', '.join(hybridization.given)}" if hybridization.given else ""
    return one_line(line + ("; only under a condition" if hybridization.conditional else ""))


@dataclass(frozen=True, slots=True)
class _Explainer:
    display: Callable[[str], str]
    style: Style

    def head(self, report: Report, function: FunctionReport) -> Iterator[str]:
        """Name, place, verdict, change and rank in the plan."""
        facts = function.facts
        known = ("candidate" if facts.candidate else "no candidate", "reached" if facts.reached else "unreached")
        yield self.style.paint(one_line(facts.id), "bold")
        yield f"  {self._place(facts.path, facts.line)}, {facts.kind}, {facts.mode}, {', '.join(known)}"
        yield f"  verdict: {self.style.action(function.decision.action, verdict(function))}"
        yield from self._because(function)
        yield f"  for: {releases(report.project.versions)}"
        described = change(report, function)
        if described:
            yield f"  change: {described}"
        if function.decision.benefit is not None:
            yield f"  benefit: {benefit_of(report, function, function.decision.benefit)}"
        if function.decision.confidence is not None:
            yield f"  confidence: {function.decision.confidence.value}"
            yield from self._chain(function.decision.grounds, "      ")
        if facts.hybridization:
            place = self._place(facts.path, facts.hybridization.line)
            yield f"  hybrid: {made_hybrid(facts.hybridization, place)}"

    def _because(self, function: FunctionReport) -> Iterator[str]:
        """What a change rests on; of what is kept, the statuses that keep it, and then what else is known."""
        kept_by = reasons(function) if function.decision.action is Action.KEEP else ()
        if not kept_by:
            yield f"  because: {rests_on(function)}"
            return
        passes = f"{function.decision.precondition} passes, but " if function.decision.precondition else ""
        yield f"  because: {passes}{', '.join(dict.fromkeys(f'{each.code} {each.name}' for each in kept_by))}"
        yield f"  known: {grounds(function)}"

    def repairs(self, report: Report, function: FunctionReport) -> Iterator[str]:
        """What would unlock it: each repair with its doubt, and the causes that none answers."""
        bundle = bundles(report).get(function.facts.id)
        if bundle is None:
            return
        yield self._title("repairs")
        for each in bundle.repairs:
            doubt = f" (not safe: {each.doubt})" if each.doubt else " (safe)"
            yield one_line(f"  {each.code} {each.name} at {self._place(each.path, each.line)}: {each.says}{doubt}")
        for left in bundle.rest if not bundle.hybrid else ():
            yield one_line(f"  no repair for {left.message} at {self._place(left.path, left.line)}")

    def facts(self, facts: FunctionFacts, statuses: Sequence[Status]) -> Iterator[str]:
        """The six facts, each with its chain, but for one that a status has told."""
        yield self._title("facts")
        told = {status.evidence: status.code for status in reversed(statuses) if status.evidence}
        for title, field in FACTS:
            fact: Fact = getattr(facts, field)
            above = told.get(fact.evidence)
            yield f"  {title.ljust(_WIDTH)}  {self._value(fact.value)}{f', see {above}' if above else ''}"
            yield from self._chain(() if above else fact.evidence, "      ")

    def parameters(self, facts: FunctionFacts) -> Iterator[str]:
        """Each parameter: whether a tensor, of which types, known from where, and its literals."""
        if not facts.parameters:
            return
        yield self._title("parameters")
        for parameter in facts.parameters:
            yield from self._parameter(parameter)

    def statuses(self, function: FunctionReport) -> Iterator[str]:
        """Each status with its whole chain; last those that `check` does not tell, and why."""
        told = function.told
        if told:
            yield self._title("statuses")
            yield from self._statuses(told)
        for against, said in AGAINST.items():
            rest = [status for status in function.statuses if status.against is against and status not in told]
            if rest:
                yield self._title(f"in doubt: {said}")
                yield from self._statuses(rest)

    def _statuses(self, statuses: Iterable[Status]) -> Iterator[str]:
        for status in statuses:
            code = self.style.severity(status.severity, f"{status.code} {status.name} ({status.severity})")
            yield f"  {code}: {one_line(status.message)}, {self._place(status.path, status.line)}"
            yield from self._chain(told_by(status), "      ")

    def assumptions(self, report: Report, function: FunctionReport) -> Iterator[str]:
        """What rests on speculation."""
        known = [Evidence(a.message, a.path, a.line) for a in report.assumptions if a.function == function.facts.id]
        steps = list(dict.fromkeys((*function.facts.assumptions, *known)))
        if steps:
            yield self._title("assumptions")
        for step in steps:
            yield f"  - {one_line(step.message)} ({self._place(step.path, step.line)})"

    def findings(self, report: Report, function: FunctionReport) -> Iterator[str]:
        """The findings inside the function."""
        inside = [finding for finding in report.findings if finding.function == function.facts.id]
        if inside:
            yield self._title("findings")
        for finding in inside:
            code = self.style.severity(finding.severity, f"{finding.code} {finding.name}")
            yield f"  {self._place(finding.path, finding.line)}:{finding.column} {code} {one_line(finding.message)}"
            yield from self._chain(told_by(finding), "      ")

    def _parameter(self, parameter: ParameterFacts) -> Iterator[str]:
        source = f", {SOURCES[parameter.source]}" if parameter.source else ""
        yield f"  {parameter.index} {one_line(parameter.name)}: {TENSOR[parameter.tensor]}{source}"
        for kind in parameter.tensor_types:
            yield f"      {tensor_type(kind)}"
        if parameter.literals:
            yield one_line(f"      literals {', '.join(parameter.literals)}")
        yield from self._chain(parameter.evidence, "      ")

    def _chain(self, chain: Iterable[Evidence], indent: str) -> Iterator[str]:
        for number, step in enumerate(steps(chain), 1):
            place = self.style.paint(f"({self._place(step.path, step.line)})", "dim")
            yield f"{indent}{number}. {one_line(step.message)} {place}"

    def _place(self, path: str, line: int) -> str:
        return one_line(place(self.display, path, line))

    def _title(self, title: str) -> str:
        return self.style.paint(title, "bold")

    def _value(self, value: Ternary) -> str:
        return self.style.paint(value.value, {"yes": "green", "no": "blue", "unknown": "yellow"}[value.value])
