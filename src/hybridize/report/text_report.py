"""The report as text: what to do first, then what is wrong, then what is kept and why, in counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from hybridize.decide.model import Action, Report
from hybridize.records import dataclass, field
from hybridize.report import every_function, problems, what_to_do
from hybridize.report.hints import counts
from hybridize.report.layout import Page, ordered
from hybridize.report.paths import place
from hybridize.report.style import one_line
from hybridize.report.summary import SERIOUS, Count, Summary, summarize
from hybridize.report.words import counted, releases, speed

#: So many reasons are counted by name.
_REASONS = 6


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What to show, and how.

    `everything`: every function, the whole plan, all findings. `quiet`: only what sets exit code 1, no summary.
    `verbose`: all evidence. `statistics`: the counts alone. `assumptions`: what rests on speculation, one by one.
    `paths` are those of the command line, as commands repeat them.
    """

    everything: bool = False
    quiet: bool = False
    verbose: bool = False
    statistics: bool = False
    assumptions: bool = False
    page: Page = field(default_factory=Page)
    paths: Sequence[str] = (".",)


def full(report: Report, display: Callable[[str], str], options: TextOptions) -> str:
    """The text report; `display` turns the report's paths into those to print. Blocks have an empty line between."""
    writer = _Writer(report, display, options)
    if options.statistics:
        blocks = writer.statistics()
    elif options.quiet:
        blocks = writer.tasks()
    else:
        blocks = writer.report()
    return "\n".join(block for block in blocks if block)


@dataclass(frozen=True, slots=True)
class _Writer:
    whole: Report
    display: Callable[[str], str]
    options: TextOptions

    def report(self) -> Iterator[str]:
        """All blocks, what to do first."""
        options, page = self.options, self.options.page
        if not self.whole.project.files:  # of nothing that was read, no plan is told
            yield from problems.write(self.whole, self.display, page, every=False, verbose=False, quiet=False)
            yield self._totals(summarize(self.whole))
            return
        said = releases(self.whole.project.versions)
        yield page.paragraph(said, rest="  ", lead=said.split(",")[0].split(" (")[0], colour="bold")
        yield from self.tasks()
        yield "".join(what_to_do.repairs(self.whole, self.display, page, every=options.everything))
        if options.everything:
            yield from every_function.listing(self.whole, self.display, page, verbose=options.verbose)
        summary = summarize(self.whole)
        yield self._kept(summary)
        if options.assumptions:
            yield "".join(self._assumptions())
        yield self._totals(summary)
        yield "".join(what_to_do.following(self.whole, self.display, options.paths, page))

    def tasks(self) -> Iterator[str]:
        """The plan and what is wrong; of a quiet report that is all, and a plan of nothing is not said."""
        options = self.options
        if not options.quiet or any(f.decision.action is not Action.KEEP for f in self.whole.functions):
            every, verbose = options.everything, options.verbose
            yield "".join(what_to_do.plan(self.whole, self.display, options.page, every=every, verbose=verbose))
        yield from problems.write(
            self.whole,
            self.display,
            options.page,
            every=options.everything,
            verbose=options.verbose,
            quiet=options.quiet,
        )
        if options.quiet and options.assumptions:
            yield "".join(self._assumptions())

    def _kept(self, summary: Summary) -> str:
        """How many candidates stay as they are, and the most frequent reasons."""
        page, kept = self.options.page, summary.actions[Action.KEEP]
        if not kept:
            return ""
        reasons: Counter[tuple[str, str]] = Counter()
        for count in (*summary.failed, *summary.left_out):
            reasons[count.code, count.name] += count.number
        largest = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        of = f"{kept:,} of " if kept != summary.candidates else ""
        several = ", some for several reasons" if sum(reasons.values()) > kept else ""
        text = page.heading(f"Kept as they are: {of}{counted(summary.candidates, 'candidate')}{several}")
        lines = (f"{number:>6,}  {code} {name}\n" for (code, name), number in largest)
        most = len(largest) if self.options.everything else _REASONS
        return text + "".join(ordered(lines, most, "reasons", page, "--statistics"))

    def _assumptions(self) -> Iterator[str]:
        """What rests on speculation: a sentence each, below the function that it is about."""
        page, known = self.options.page, self.whole.assumptions
        yield page.heading(f"Assumptions: {len(known):,}")
        for (path, function), group in groupby(known, key=lambda each: (each.path, each.function)):
            first, *others = dict.fromkeys((each.line, each.message) for each in group)
            where = one_line(place(self.display, path, first[0]))
            name = one_line(function.rpartition(":")[2])
            yield page.paragraph(f"{where} {name}", first="  ", rest="      ", lead=where, colour="bold")
            for line, message in (first, *others):
                where = "" if line == first[0] else f" (line {line})"
                yield page.paragraph(f"{one_line(message)}{where}", first="      ", rest="        ")

    def _totals(self, summary: Summary) -> str:
        findings = problems.all_findings(self.whole)
        serious = [finding for finding in findings if finding.severity in SERIOUS]
        levels = ", ".join(counted(number, word) for word, number in problems.levels_of(serious))
        parts = [
            f"{counted(summary.functions, 'function')} in {counted(summary.files, 'file')}",
            f"{counted(summary.candidates, 'candidate')}, {summary.hybrid:,} hybrid already",
        ]
        told = [counted(len(findings), "finding") + (f" ({levels})" if 0 < len(serious) < len(findings) else "")]
        if summary.assumptions:
            listed = "" if self.options.assumptions else " (--assumptions)"
            told.append(counted(summary.assumptions, "assumption") + listed)
        if summary.errors:
            told.append(counted(summary.errors, "error"))
        return self.options.page.heading(f"Total: {': '.join(parts)}; {', '.join(told)}")

    def statistics(self) -> Iterator[str]:
        """All counts, with the time that it took."""
        summary, page = summarize(self.whole), self.options.page
        head = (
            f"{counted(summary.functions, 'function')} in {speed(self.whole)}: "
            f"{counted(summary.candidates, 'candidate')}, {summary.hybrid:,} hybrid"
        )
        lines = [
            page.paragraph(head, rest="  ", lead=head, colour="bold"),
            page.paragraph(f"for {releases(self.whole.project.versions)}", rest="  "),
            *self._actions(summary),
            *self._table("why functions that pass no precondition are kept", summary.failed),
            *self._table("why functions that pass a precondition are kept", summary.left_out),
            *self._table("findings", summary.findings),
        ]
        rest = [counted(summary.assumptions, "assumption")] if summary.assumptions else []
        rest += [counted(summary.errors, "error")] if summary.errors else []
        lines += [f"{', '.join(rest)}\n"] if rest else []
        fixable = counts(self.whole)
        lines += [page.paragraph(fixable, rest="  ")] if fixable and self.whole.repairs else []
        yield "".join(lines)
        yield "".join(problems.unreadable(self.whole, self.display, page))
        if self.options.assumptions:
            yield "".join(self._assumptions())

    def _actions(self, summary: Summary) -> Iterator[str]:
        names = {
            Action.CONVERT_TO_HYBRID: "to hybrid",
            Action.CONVERT_TO_EAGER: "to eager",
            Action.RECONFIGURE: "reconfigure",
            Action.KEEP: "keep",
        }
        for action, name in names.items():
            yield f"{summary.actions[action]:>6,}  {self.options.page.style.action(action, name)}\n"
        if summary.passed:
            passed = ", ".join(f"{count.code} {count.number:,}" for count in summary.passed)
            yield self.options.page.paragraph(f"pass  {passed}", first="  ", rest=" " * 8)

    def _table(self, title: str, counts: tuple[Count, ...]) -> Iterator[str]:
        if counts:
            yield f"{title}:\n"
        for count in counts:
            yield f"{count.number:>6,}  {count.code} {count.name}\n"
