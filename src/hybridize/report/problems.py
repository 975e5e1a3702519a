"""What is wrong: unreadable files, errors and warnings with the source that they are about, and the rest counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from hybridize.decide.model import FileError, Finding, FunctionReport, Report, Severity, Status
from hybridize.facts.model import Evidence, Mode
from hybridize.records import dataclass
from hybridize.report.excerpt import Span, excerpt, reader
from hybridize.report.layout import Page, ordered
from hybridize.report.paths import place, read_errors
from hybridize.report.style import one_line
from hybridize.report.summary import SERIOUS
from hybridize.report.words import counted, steps, through

#: So many problems are shown with their source; of more, one of each code.
_SHORT = 5
#: So many codes are shown, so many kinds of information and so many files that cannot be read.
_CODES, _KINDS, _FILES = 8, 5, 5
#: So many places of a code are named beside the one that is shown.
_PLACES = 6
#: What mends a graph of which a status speaks.
_ADVICE = {"recursive": "make the recursion a loop, or remove the decorator"}
_LEVELS = (Severity.ERROR, Severity.WARNING, Severity.INFO)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to look at: what is said of which place, what shows it, and what would mend it."""

    severity: Severity
    code: str
    name: str
    message: str
    path: str
    span: Span
    evidence: tuple[Evidence, ...] = ()
    also: tuple[Evidence, ...] = ()
    remedy: str = ""


def all_findings(report: Report) -> list[Finding]:
    """The serious statuses of functions that are graphs, and the findings: errors first, each in the report's order."""
    found = [
        _of_status(function, status)
        for function in report.functions
        if function.facts.mode is Mode.HYBRID
        for status in function.statuses
        if status.severity in SERIOUS
    ]
    return sorted([*found, *report.findings], key=lambda each: _LEVELS.index(each.severity))


def problems(report: Report) -> list[Problem]:
    """All findings with what would mend them."""
    remedies = _remedies(report)
    return [_of_finding(finding, remedies) for finding in all_findings(report)]


def _of_finding(finding: Finding, remedies: dict[tuple[str, str, int], str]) -> Problem:
    span = Span(finding.line, finding.column, finding.end_line, finding.end_column)
    remedy = remedies.get((finding.code, finding.path, finding.line), "") or _ADVICE.get(finding.name, "")
    if not remedy and finding.fix:
        remedy = f"`hybridize fix{' --unsafe-fixes' if finding.fix == 'unsafe' else ''}` may repair it"
    return Problem(
        finding.severity,
        finding.code,
        finding.name,
        one_line(finding.message),
        finding.path,
        span,
        finding.evidence,
        finding.also,
        remedy,
    )


def _of_status(function: FunctionReport, status: Status) -> Finding:
    facts = function.facts
    links = " is" if status.is_of_function else ":"
    message = f"`{one_line(facts.qualname)}`{links} {one_line(status.message)}"
    place = (status.path, status.line, status.column, status.line, status.column)
    return Finding(
        status.code, status.name, status.severity, message, *place, function=facts.id, evidence=status.evidence
    )


def _remedies(report: Report) -> dict[tuple[str, str, int], str]:
    """What repairs do about their causes, by code, path and line."""
    found: dict[tuple[str, str, int], str] = {}
    for bundle in report.repairs:
        for repair in bundle.repairs:
            option = "" if repair.safe else " --unsafe-fixes"
            for code, path, line, _ in repair.causes:
                said = f"{one_line(repair.says)} (`hybridize fix{option}`, {repair.code})"
                found.setdefault((code, path, line), said)
    return found


@dataclass(frozen=True, slots=True)
class _Writer:
    report: Report
    display: Callable[[str], str]
    page: Page
    every: bool
    verbose: bool
    lines_of: Callable[[str], tuple[str, ...]]

    def errors(self) -> Iterator[str]:
        """A line per path that could not be read or parsed; of missing paths the command line speaks itself."""
        errors = read_errors(self.report)
        shown = len(errors) if self.every else _FILES
        yield from ordered(map(self._error, errors), shown, "errors", self.page)

    def _error(self, error: FileError) -> str:
        place = self.display(error.path) + (f":{error.line}" if error.line else "")
        text = f"error: {one_line(place)}: {one_line(error.message)}"
        return self.page.paragraph(text, rest="  ", lead="error", colour="red")

    def serious(self, found: Sequence[Problem]) -> Iterator[str]:
        """Each with its source where they are few; else the first of each code, and where the others are."""
        if self.every or len(found) <= _SHORT:
            yield "\n".join(self._shown(each, ()) for each in found)
            return
        groups: defaultdict[str, list[Problem]] = defaultdict(list)
        for each in found:
            groups[each.code].append(each)
        shown = [self._shown(group[0], group[1:]) for group in list(groups.values())[:_CODES]]
        yield "\n".join(shown)
        left = sum(map(len, list(groups.values())[_CODES:]))
        if left:
            yield self.page.paragraph(f"... and {left:,} more of other codes (--all)")

    def counted(self, found: Sequence[Problem]) -> Iterator[str]:
        """Information: by rule, with one message and its place."""
        groups: defaultdict[tuple[str, str], list[Problem]] = defaultdict(list)
        for each in found:
            groups[each.code, each.name].append(each)
        largest = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
        yield from ordered((self._kind(*key, group) for key, group in largest), _KINDS, "rules", self.page)

    def _kind(self, code: str, name: str, group: Sequence[Problem]) -> str:
        lead = f"{code} {name}"
        more = f" and {len(group) - 1:,} more" if len(group) > 1 else ""
        text = f"{lead}: {group[0].message} ({self._place(group[0])}{more})"
        return self.page.paragraph(text, first=f"{len(group):>6,}  ", lead=lead, colour="cyan")

    def _shown(self, problem: Problem, others: Sequence[Problem]) -> str:
        lead = f"{problem.severity.value} {problem.code}"
        style, page = self.page.style, self.page
        text = page.paragraph(f"{lead} {problem.name}: {problem.message}", rest="  ").replace(
            lead, style.severity(problem.severity, lead), 1
        )
        gutter = len(str(problem.span.line))
        bar = style.paint("|", "blue")
        text += f"{' ' * gutter}{style.paint('-->', 'blue')} {self._place(problem)}:{problem.span.column}\n"
        found = excerpt(self.lines_of(problem.path), problem.span, page.width - gutter - 3)
        if found is not None:
            carets = style.severity(problem.severity, "^" * found.length)
            text += f"{problem.span.line} {bar} {found.text}\n"
            text += f"{' ' * gutter} {bar} {' ' * found.start}{carets}\n"
        notes = [*self._evidence(problem), *self._also(problem)]
        notes += [f"fix: {problem.remedy}"] if problem.remedy else []
        notes += [self._others(others)] if others else []
        first = f"{' ' * gutter} = "
        return text + "".join(page.paragraph(note, first=first) for note in notes)

    def _evidence(self, problem: Problem) -> Iterator[str]:
        """All steps where everything is wanted, else the cause where it is in another place."""
        chain = steps(problem.evidence)
        if self.verbose:
            yield from (f"{one_line(step.message)} ({self._at(step.path, step.line)})" for step in chain)
        elif chain and (chain[-1].path, chain[-1].line) != (problem.path, problem.span.line):
            cause = chain[-1]
            yield f"cause: {one_line(cause.message + through(chain[:-1]))} ({self._at(cause.path, cause.line)})"

    def _also(self, problem: Problem) -> Iterator[str]:
        """What else comes of the same cause: as many as there are where everything is wanted."""
        shown = len(problem.also) if self.verbose or self.every else _PLACES
        for step in problem.also[:shown]:
            yield f"with it: {one_line(step.message)} ({self._at(step.path, step.line)})"
        if problem.also[shown:]:
            yield f"with it: {len(problem.also) - shown:,} more (--all)"

    def _others(self, others: Sequence[Problem]) -> str:
        places = [self._place(each) for each in others]
        more = f" and {len(places) - _PLACES:,} more (--all)" if len(places) > _PLACES else ""
        return f"also: {', '.join(places[:_PLACES])}{more}"

    def _place(self, problem: Problem) -> str:
        return self._at(problem.path, problem.span.line)

    def _at(self, path: str, line: int) -> str:
        return one_line(place(self.display, path, line))


def _writer(report: Report, display: Callable[[str], str], page: Page, *, every: bool, verbose: bool) -> _Writer:
    lines_of = reader(report.project.root, getattr(display, "contents", {}))
    return _Writer(report, display, page, every, verbose, lines_of)


def write(
    report: Report, display: Callable[[str], str], page: Page, *, every: bool, verbose: bool, quiet: bool
) -> Iterator[str]:
    """The block of what is wrong, in parts that stand apart; nothing where nothing is.

    `every`: information is shown as warnings are. `quiet`: no information, and no headings.
    """
    writer = _writer(report, display, page, every=every, verbose=verbose)
    found = problems(report)
    serious = [each for each in found if each.severity in SERIOUS]
    rest = [each for each in found if each.severity not in SERIOUS]
    if every and not quiet:
        serious, rest = found, []
    errors = "".join(writer.errors())
    if errors:
        yield errors
    if serious:
        levels = [counted(number, word) for word, number in levels_of(serious)]
        head = "" if quiet else page.heading(f"Findings: {', '.join(levels)}")
        yield head + "".join(writer.serious(serious))
    if rest and not quiet:
        by_rule = ", by rule" if len(rest) > 1 else ""
        head = page.heading(f"Information: {counted(len(rest), 'finding')}{by_rule} (--all shows the source)")
        yield head + "".join(writer.counted(rest))


def unreadable(report: Report, display: Callable[[str], str], page: Page) -> Iterator[str]:
    """A line for each path that could not be read or parsed."""
    return _Writer(report, display, page, True, False, lambda path: ()).errors()


def at_line(report: Report, display: Callable[[str], str], page: Page, path: str, line: int) -> str:
    """What is found in the lines around one that belongs to no function, with all steps; empty for nothing."""
    writer = _writer(report, display, page, every=True, verbose=True)
    found = [p for p in problems(report) if p.path == path and p.span.line <= line <= max(p.span.end_line, p.span.line)]
    return "".join(writer.serious(found))


def levels_of(found: Sequence[Problem | Finding]) -> Iterator[tuple[str, int]]:
    """How many there are of each severity, in words."""
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    for severity, word in words.items():
        number = sum(each.severity is severity for each in found)
        if number:
            yield word, number
