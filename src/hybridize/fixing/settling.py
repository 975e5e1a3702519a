"""A plan carried on until it changes nothing more: what a second `fix` would do is part of the first.

A conversion makes others covered, a repair uncovers the next cause, a graph asks for other arguments. So what a plan
makes of the files is planned for again, in memory. What one round does and a later one takes back is done in none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.fixing.changes import Change, FileChanges, Outcome
from hybridize.fixing.fixes import Fixes
from hybridize.records import replace
from hybridize.repairing import Repaired, placed

#: So often is planned for what the last round made, and begun anew without what rounds take back from each other.
_ROUNDS: Final = 6
_BEGINNINGS: Final = 4

#: Plans the changes of a project that a report is on, with these contents, but not those of some functions (ids).
PlanOne: TypeAlias = Callable[[Report, Mapping[str, bytes], frozenset[str]], Fixes]


def settled(report: Report, given: Mapping[str, bytes], plan: PlanOne, analyze: Callable[..., Report]) -> Fixes:
    """The changes of a project after which nothing is left to change; `Fixes.settled` is false where there is no end.

    Args:
        report: on the project as it is.
        given: contents that stand for those on disk.
        plan: what one round changes.
        analyze: the analysis of the project with other contents of some files.
    """
    held: frozenset[str] = frozenset()
    for _ in range(_BEGINNINGS):
        fixes, undone = _carried_on(report, given, plan, analyze, held)
        if not undone:
            return fixes
        held |= undone
    return replace(fixes, settled=False)


def _carried_on(
    report: Report,
    given: Mapping[str, bytes],
    plan: PlanOne,
    analyze: Callable[..., Report],
    held: frozenset[str],
) -> tuple[Fixes, frozenset[str]]:
    """The rounds of one beginning, and the functions (ids) that a later one makes again what they were."""
    fixes = plan(report, given, held)
    if not fixes.contents:
        return fixes, frozenset()
    contents = {**given, **_contents(fixes)}
    modes = {function.facts.id: function.facts.mode for function in report.functions}
    moved: set[str] = set()
    for _ in range(_ROUNDS):
        after = analyze(contents)
        undone = {f.facts.id for f in after.functions if f.facts.id in moved and modes.get(f.facts.id) is f.facts.mode}
        if undone:
            return fixes, frozenset(undone)
        moved |= {f.facts.id for f in after.functions if modes.get(f.facts.id, f.facts.mode) is not f.facts.mode}
        more = plan(after, contents, held)
        new = {**contents, **_contents(more)}
        if new == contents:
            return fixes, frozenset()
        back = _taken_back(fixes, more)
        if back:
            return fixes, back
        fixes, contents = _joined(fixes, more), new
    return replace(fixes, settled=False), frozenset()


def _contents(fixes: Fixes) -> dict[str, bytes]:
    """The files that a plan speaks of as it makes them, those included that are as they were at first."""
    return {file.path: file.result.new for file in fixes.files if file.result is not None}


def _taken_back(first: Fixes, more: Fixes) -> frozenset[str]:
    """The functions whose decorator one plan adds and the other removes."""
    ways = [{c.function.facts.id: c.function.decision.action for c in _done(each)} for each in (first, more)]
    both = {Action.CONVERT_TO_HYBRID, Action.CONVERT_TO_EAGER}
    return frozenset(name for name, action in ways[1].items() if {action, ways[0].get(name)} == both)


def _done(fixes: Fixes) -> list[Change]:
    return [change for change in fixes.changes if change.outcome is Outcome.DONE]


def _joined(first: Fixes, more: Fixes) -> Fixes:
    """Both plans as one: the second is on what the first makes of the files."""
    later = {change.function.facts.id: change.function for change in _done(more)}
    report = replace(first.report, functions=tuple(_decided(f, later) for f in first.report.functions))
    files = {file.path: file for file in first.files}
    for file in more.files:
        was = files.get(file.path)
        files[file.path] = file if was is None else replace(file, changes=_both(was, file, later))
    return replace(first, report=report, files=tuple(files.values()), repaired=_repaired(first, more))


def _both(was: FileChanges, now: FileChanges, later: Mapping[str, FunctionReport]) -> tuple[Change, ...]:
    """What became of each function of a file, told once."""
    old = {change.function.facts.id: change for change in was.changes}
    found = dict(old)
    for change in now.changes:
        name = change.function.facts.id
        known = old.get(name)
        if known is None:
            found[name] = change
        elif change.outcome is Outcome.DONE:
            found[name] = replace(known, function=_decided(known.function, later), outcome=Outcome.DONE, reason=None)
    return tuple(sorted(found.values(), key=lambda change: change.line))


def _decided(function: FunctionReport, later: Mapping[str, FunctionReport]) -> FunctionReport:
    """A function with what a later round decides about it: a graph that is made anew has the last arguments."""
    now = later.get(function.facts.id)
    if now is None:
        return function
    decision = function.decision
    if decision.action is Action.CONVERT_TO_HYBRID and now.decision.action is Action.RECONFIGURE:
        return replace(function, decision=replace(decision, arguments=now.decision.arguments))
    return replace(function, decision=now.decision)


def _repaired(first: Fixes, more: Fixes) -> Repaired:
    """The repairs of both; the contents stay those of the first, which its report is on."""
    one, two = first.repaired, more.repaired
    done = tuple((placed(each, more.before, first.before), names) for each, names in two.done)
    return replace(
        one,
        done=tuple(sorted((*one.done, *done), key=lambda item: (item[0].path, item[0].line, item[0].code))),
        made={**one.made, **two.made},
        unlocked=one.unlocked | two.unlocked,
    )
