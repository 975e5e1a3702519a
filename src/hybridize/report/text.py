"""The report as text that a person likes to read: grouped by file, then a summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from hybridize.decide.model import Action, Finding, FunctionReport, Report, Status
from hybridize.facts.model import Evidence
from hybridize.records import dataclass
from hybridize.report.hints import counts, hint, promising
from hybridize.report.paths import line_of, place, read_errors
from hybridize.report.style import PLAIN, Style, one_line
from hybridize.report.summary import SERIOUS, Count, Summary, is_candidate, ranking, summarize
from hybridize.report.words import counted, reason, releases, rests_on, speed, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle

_VERDICT_WIDTH = len("keep hybrid")
_NAME_WIDTH = 40
_INDENT = " " * 9
_MOST_RANKED = 10


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What to show.

    `everything`: functions that are no candidates, too. `quiet`: only what sets exit code 1, no summary. `verbose`: all
    evidence. `statistics`: the summary alone.
    """

    everything: bool = False
    quiet: bool = False
    verbose: bool = False
    statistics: bool = False
    style: Style = PLAIN


def full(report: Report, display: Callable[[str], str], options: TextOptions) -> str:
    """The text report; `display` turns the report's paths into those to print."""
    writer = _Writer(display, options)
    blocks: list[str] = []
    if not options.statistics:
        blocks += writer.files(report)
    errors = writer.errors(report)
    if errors:
        blocks.append(errors)
    if not options.quiet:
        plan = writer.plan(report)
        blocks += [plan] if plan else []
        blocks.append(writer.summary(report))
    return "\n".join(blocks)


@dataclass(frozen=True, slots=True)
class _Writer:
    display: Callable[[str], str]
    options: TextOptions

    def files(self, report: Report) -> Iterator[str]:
        """A block of lines per file that has anything to show."""
        functions: defaultdict[str, list[FunctionReport]] = defaultdict(list)
        findings: defaultdict[str, list[Finding]] = defaultdict(list)
        for function in report.functions:
            if self._is_shown(function):
                functions[function.facts.path].append(function)
        for finding in report.findings:
            if not self.options.quiet or finding.severity in SERIOUS:
                findings[finding.path].append(finding)
        repairs = {bundle.function: bundle for bundle in promising(report)}
        for path in dict.fromkeys((*functions, *findings)):
            lines = [self.options.style.paint(one_line(self.display(path)), "bold")]
            width = min(max((len(f.facts.qualname) for f in functions[path]), default=0), _NAME_WIDTH)
            for function in functions[path]:
                lines += self._function(function, width, repairs.get(function.facts.id))
            for finding in findings[path]:
                lines += self._finding(finding)
            yield "".join(f"{line}\n" for line in lines)

    def errors(self, report: Report) -> str:
        """One line per path that could not be read or parsed; of missing paths the command line speaks itself."""
        label = self.options.style.paint("error", "red")
        lines = []
        for error in read_errors(report):
            shown = place(self.display, error.path, error.line) if error.line else self.display(error.path)
            lines.append(f"{label}: {one_line(shown)}: {one_line(error.message)}\n")
        return "".join(lines)

    def plan(self, report: Report) -> str:
        """The functions to make hybrid in order of their expected benefit; a single one needs no order."""
        ranked = ranking(report)
        if len(ranked) < 2:
            return ""
        lines = [self.options.style.paint("the plan, by expected benefit:", "bold")]
        shown = ranked if self.options.everything or self.options.verbose else ranked[:_MOST_RANKED]
        width = min(max(len(f.facts.qualname) for f in shown), _NAME_WIDTH)
        for function in shown:
            where = one_line(place(self.display, function.facts.path, function.facts.line))
            name = one_line(function.facts.qualname).ljust(width)
            lines.append(f"{function.decision.benefit or 0.0:>6.1f}x  {name}  {where}")
        if len(ranked) > len(shown):
            lines.append(f"{'':9}and {len(ranked) - len(shown):,} more")
        return "".join(f"{line}\n" for line in lines)

    def summary(self, report: Report) -> str:
        """The counts, in a few lines; longer tables only where there is something to count."""
        summary = summarize(report)
        head = (
            f"{counted(summary.functions, 'function')} in {speed(report)}: "
            f"{counted(summary.candidates, 'candidate')}, {summary.hybrid:,} hybrid"
        )
        lines = [self.options.style.paint(head, "bold"), f"for {releases(report.project.versions)}"]
        lines += self._actions(summary)
        lines += self._table("why functions that pass no precondition are kept", summary.failed)
        lines += self._table("why functions that pass a precondition are kept", summary.left_out)
        lines += self._table("findings", summary.findings)
        rest = [counted(summary.assumptions, "assumption")] if summary.assumptions else []
        rest += [counted(summary.errors, "error")] if summary.errors else []
        if rest:
            lines.append(", ".join(rest))
        fixable = counts(report)
        if fixable and report.repairs:
            lines.append(fixable)
        if summary.actions[Action.KEEP] < summary.candidates:
            lines.append(
                self.options.style.paint(
                    "`hybridize fix --diff` shows the changes, `hybridize explain NAME` why.", "dim"
                )
            )
        return "".join(f"{line}\n" for line in lines)

    def _is_shown(self, function: FunctionReport) -> bool:
        if self.options.quiet:
            serious = any(status.severity in SERIOUS for status in function.statuses)
            return function.decision.action is not Action.KEEP or (function.facts.mode.value == "hybrid" and serious)
        return self.options.everything or is_candidate(function)

    def _function(self, function: FunctionReport, width: int, repairs: Bundle | None) -> Iterator[str]:
        facts, style = function.facts, self.options.style
        word = style.action(function.decision.action, verdict(function).ljust(_VERDICT_WIDTH))
        name = one_line(facts.qualname).ljust(width)
        yield f"{line_of(self.display, facts.path, facts.line):>6}  {word}  {name}  {rests_on(function)}"
        for status in function.statuses:
            # Beside a change, an informative status is noise; beside a kept function it is the reason.
            if function.decision.action is Action.KEEP or status.severity in SERIOUS or self.options.verbose:
                yield from self._status(function, status)
        said = hint(repairs)
        if said is not None:
            yield f"{_INDENT}{style.paint(one_line(said), 'cyan')}"

    def _status(self, function: FunctionReport, status: Status) -> Iterator[str]:
        code = self.options.style.severity(status.severity, f"{status.code} {status.name}")
        yield f"{_INDENT}{code}: {reason(status, function.facts, self.display)}"
        if self.options.verbose:
            yield from self._evidence(status.evidence)

    def _finding(self, finding: Finding) -> Iterator[str]:
        shown = one_line(place(self.display, finding.path, finding.line, finding.column))
        code = self.options.style.severity(finding.severity, finding.code)
        fix = f" [{finding.fix} fix]" if finding.fix else ""
        yield f"  {shown} {code} {finding.name} {one_line(finding.message)}{fix}"
        if self.options.verbose:
            yield from self._evidence(finding.evidence)

    def _evidence(self, chain: Iterable[Evidence]) -> Iterator[str]:
        for step in chain:
            shown = one_line(place(self.display, step.path, step.line))
            yield f"{_INDENT}  - {one_line(step.message)} {self.options.style.paint(f'({shown})', 'dim')}"

    def _actions(self, summary: Summary) -> Iterator[str]:
        names = {
            Action.CONVERT_TO_HYBRID: "to hybrid",
            Action.CONVERT_TO_EAGER: "to eager",
            Action.RECONFIGURE: "reconfigure",
            Action.KEEP: "keep",
        }
        for action, name in names.items():
            number = summary.actions[action]
            if number or self.options.statistics:
                yield f"{number:>6,}  {self.options.style.action(action, name)}"
        if summary.passed:
            yield "  pass  " + ", ".join(f"{count.code} {count.number:,}" for count in summary.passed)

    def _table(self, title: str, counts: tuple[Count, ...]) -> Iterator[str]:
        if counts:
            yield f"{title}:"
        for count in counts:
            yield f"{count.number:>6,}  {count.code} {count.name}"
