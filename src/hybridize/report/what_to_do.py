"""What to do about a project: the changes, best first, what repairs would add, and the next commands."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from hybridize.decide.model import FunctionReport, Report
from hybridize.report.hints import promising
from hybridize.report.layout import Page, ordered
from hybridize.report.paths import place
from hybridize.report.problems import all_findings
from hybridize.report.style import one_line
from hybridize.report.summary import ranking
from hybridize.report.words import cause, counted, edit, gain, steps
from hybridize.source.roles import is_test_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle, Proposed

#: A plan of so many changes is shown as a whole, of a longer one only the beginning.
_SHORT, _BEGINNING = 20, 10
#: So many kinds of repairs are named.
_REPAIRS = 4
#: Commands repeat so many paths of the command line.
_PATHS = 3
_INDENT = "     "


def plan(report: Report, display: Callable[[str], str], page: Page, *, every: bool, verbose: bool) -> Iterator[str]:
    """The changes in the order of the plan, each with its place, what is gained, and why."""
    ranked = ranking(report)
    if not ranked:
        yield page.heading("Plan: nothing to change" + (" without a repair" if promising(report) else ""))
        return
    tail = ", best gain first" if len(ranked) > 1 else ""
    tail += ", tests last" if len({is_test_path(each.facts.path) for each in ranked}) > 1 else ""
    yield page.heading(f"Plan: {counted(len(ranked), 'change')}{tail}")
    entries = (_entry(number, each, display, page, verbose) for number, each in enumerate(ranked, 1))
    shown = len(ranked) if every or len(ranked) <= _SHORT else _BEGINNING
    yield from ordered(entries, shown, "changes", page)


def _entry(number: int, function: FunctionReport, display: Callable[[str], str], page: Page, verbose: bool) -> str:
    facts, action = function.facts, function.decision.action
    here = one_line(place(display, facts.path, facts.line))
    text = page.paragraph(f"{here} {one_line(facts.qualname)}", first=f"{number:>3}  ", lead=here, colour="bold")
    done, gained = edit(function) or "", gain(function)
    what = f"{done}: {gained}" if gained else done
    text += page.paragraph(what, first=_INDENT).replace(done, page.style.action(action, done), 1)
    text += page.paragraph(cause(function), first=_INDENT)
    for step in steps(function.decision.grounds) if verbose else ():
        where = one_line(place(display, step.path, step.line))
        text += page.paragraph(f"- {one_line(step.message)} ({where})", first=_INDENT, rest=f"{_INDENT}  ")
    return text


def repairs(report: Report, display: Callable[[str], str], page: Page, *, every: bool) -> Iterator[str]:
    """What `fix` could do beyond the plan, by kind of repair; the functions of a kind are counted."""
    for safe, how in (
        (True, "fix keeps what works (safe)"),
        (False, "fix --unsafe-fixes keeps what works (not proven safe)"),
    ):
        bundles = [bundle for bundle in promising(report) if bundle.safe is safe]
        if not bundles:
            continue
        mended = sum(bundle.hybrid for bundle in bundles)
        parts = [f"{counted(len(bundles) - mended, 'more graph')}"] if len(bundles) > mended else []
        parts += [f"{counted(mended, 'better graph')}"] if mended else []
        yield page.heading(f"Repairs to try: up to {' and '.join(parts)}; {how}")
        kinds: defaultdict[tuple[str, str], list[Bundle]] = defaultdict(list)
        for bundle in bundles:
            kinds[bundle.repairs[0].code, bundle.repairs[0].name].append(bundle)
        largest = sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
        lines = (_kind(code, name, group, display, page, every) for (code, name), group in largest)
        yield from ordered(lines, len(kinds) if every else _REPAIRS, "kinds of repairs", page)


def _kind(code: str, name: str, group: Sequence[Bundle], display: Callable[[str], str], page: Page, every: bool) -> str:
    lead, first = f"{code} {name}", group[0].repairs[0]
    text = f"{lead}: {one_line(first.says)} ({_places(group, display, every)})"
    return page.paragraph(text, first=f"{len(group):>6,}  ", lead=lead, colour="cyan")


def _places(group: Sequence[Bundle], display: Callable[[str], str], every: bool) -> str:
    places = list(dict.fromkeys(_place(bundle.repairs[0], display) for bundle in group))
    if every or len(places) == 1:
        return ", ".join(places)
    return f"{places[0]} and {len(places) - 1:,} more"


def _place(repair: Proposed, display: Callable[[str], str]) -> str:
    return one_line(place(display, repair.path, repair.line))


def following(report: Report, display: Callable[[str], str], paths: Sequence[str], page: Page) -> Iterator[str]:
    """The commands that a reader may want next."""
    there = [path for path in paths if path not in report.missing]
    given = "".join(f" {shlex.quote(path)}" for path in there) if there != ["."] and len(there) <= _PATHS else ""
    near = promising(report)
    pairs = []
    if ranking(report) or any(bundle.safe for bundle in near):
        pairs.append((f"hybridize fix --diff{given}", "the changes as a diff"))
    elif near:
        pairs.append((f"hybridize fix --unsafe-fixes --diff{given}", "the repairs as a diff"))
    target = _to_explain(report, display)
    if target is not None:
        pairs.append((f"hybridize explain {shlex.quote(target)}{given}", "why, step by step"))
    elif found := all_findings(report):
        pairs.append((f"hybridize explain {found[0].code}", "what the first finding means"))
    if report.functions:
        pairs.append((f"hybridize check --all{given}", "all functions and reasons"))
    if pairs:
        yield page.heading("Next:")
        yield from page.commands(pairs)


def _to_explain(report: Report, display: Callable[[str], str]) -> str | None:
    """The first function to change, or where no finding is to be explained, the first candidate that stays."""
    kept = [] if all_findings(report) else [f for f in report.functions if f.facts.candidate]
    first = next(iter([*ranking(report), *kept]), None)
    return None if first is None else one_line(place(display, first.facts.path, first.facts.line))
