"""Every function of a project with its verdict and its reasons, by file: what `check --all` adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from hybridize.decide.model import Action, FunctionReport, Report, Status
from hybridize.records import dataclass
from hybridize.report.hints import hint, promising
from hybridize.report.layout import Page
from hybridize.report.paths import line_of, place
from hybridize.report.style import one_line
from hybridize.report.summary import SERIOUS
from hybridize.report.words import reason, rests_on, told_by, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle

_VERDICT_WIDTH = len("keep hybrid")
_NAME_WIDTH = 40
_INDENT = " " * 9


def listing(report: Report, display: Callable[[str], str], page: Page, *, verbose: bool) -> Iterator[str]:
    """A block per file: a line per function, and its statuses below; `verbose`: with all evidence."""
    writer = _Writer(display, page, verbose)
    functions: defaultdict[str, list[FunctionReport]] = defaultdict(list)
    for function in report.functions:
        functions[function.facts.path].append(function)
    repairs = {bundle.function: bundle for bundle in promising(report)}
    for path, known in functions.items():
        width = min(max(len(f.facts.qualname) for f in known), _NAME_WIDTH, page.width // 3)
        lines = [page.style.paint(one_line(display(path)), "bold") + "\n"]
        for function in known:
            lines += writer.function(function, width, repairs.get(function.facts.id))
        yield "".join(lines)


@dataclass(frozen=True, slots=True)
class _Writer:
    display: Callable[[str], str]
    page: Page
    verbose: bool

    def function(self, function: FunctionReport, width: int, repairs: Bundle | None) -> Iterator[str]:
        """The verdict in a line, and why."""
        facts, style = function.facts, self.page.style
        word = verdict(function).ljust(_VERDICT_WIDTH)
        name = one_line(facts.qualname).ljust(width)
        number = f"{line_of(self.display, facts.path, facts.line):>6}  "
        line = self.page.paragraph(f"{word}  {name}  {rests_on(function)}", first=number, rest=" " * 13)
        yield line.replace(word, style.action(function.decision.action, word), 1)
        said: dict[str, None] = {}  # two causes may read the same where only the first step tells them apart
        for status in function.statuses if self.verbose else function.told:
            # Beside a change, an informative status is noise; beside a kept function it is the reason.
            if function.decision.action is Action.KEEP or status.severity in SERIOUS or self.verbose:
                said["".join(self._status(function, status))] = None
        yield from said
        hinted = hint(repairs)
        if hinted is not None:
            yield self.page.paragraph(one_line(hinted), first=_INDENT, lead=one_line(hinted), colour="cyan")

    def _status(self, function: FunctionReport, status: Status) -> Iterator[str]:
        lead = f"{status.code} {status.name}"
        text = f"{lead}: {reason(status, function.facts, self.display)}"
        line = self.page.paragraph(text, first=_INDENT, rest=f"{_INDENT}    ")
        yield line.replace(lead, self.page.style.severity(status.severity, lead), 1)
        for step in told_by(status) if self.verbose else ():
            text = f"- {one_line(step.message)} ({one_line(place(self.display, step.path, step.line))})"
            yield self.page.paragraph(text, first=f"{_INDENT}  ", rest=f"{_INDENT}    ")
