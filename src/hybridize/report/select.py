"""`--select` and `--ignore`: which preconditions, statuses and findings a report speaks of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from hybridize.config import Config
from hybridize.decide.causes import one_each
from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.records import replace

EVERYTHING = "ALL"


def matches(selector: str, code: str, name: str = "") -> bool:
    """Whether a selector (a code, the beginning of one, a name, or ALL) means this code."""
    wanted = selector.upper()
    return wanted == EVERYTHING or code.upper().startswith(wanted) or (bool(name) and selector.lower() == name.lower())


def is_selected(code: str, name: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    """Whether a code is spoken of; the longer, more specific selector wins, `ignore` where both are equal."""
    chosen = _strength(select, code, name) if select else 0
    return chosen > _strength(ignore, code, name)


def _strength(selectors: Sequence[str], code: str, name: str) -> int:
    """How specific the best matching selector is: -1 none, 0 ALL, else its length."""
    lengths = [0 if s.upper() == EVERYTHING else len(s) for s in selectors if matches(s, code, name)]
    return max(lengths, default=-1)


def selected(report: Report, config: Config, unlocked: Collection[str] = ()) -> Report:
    """The report without what the configuration does not select.

    `unlocked` are functions (ids) that a selected repair made fit for a graph: their conversion is selected with it,
    unless it is ignored. What comes of one cause is told once.
    """
    found = filter_report(report, config.select, config.ignore)
    if unlocked and config.select:
        spared = filter_report(report, (), config.ignore)
        kept = tuple(
            replace(one, decision=other.decision)
            if one.facts.id in unlocked and other.decision.action is Action.CONVERT_TO_HYBRID
            else one
            for one, other in zip(found.functions, spared.functions, strict=True)
        )
        found = replace(found, functions=kept)
    found = filter_files(found, config.per_file_ignores)
    return replace(found, findings=one_each(found.findings))


def filter_report(report: Report, select: Sequence[str], ignore: Sequence[str]) -> Report:
    """The report without what is not selected.

    A function whose precondition is not selected stays in the report and is kept as it is (`Action.KEEP`, its
    precondition still named). Facts, errors and assumptions are never dropped.
    """
    if not select and not ignore:
        return report
    return replace(
        report,
        functions=tuple(_filter_function(function, select, ignore) for function in report.functions),
        findings=tuple(f for f in report.findings if is_selected(f.code, f.name, select, ignore)),
    )


PerFile = Sequence[tuple[str, Sequence[str]]]


def filter_files(report: Report, per_file: PerFile) -> Report:
    """The report without what is ignored in files that match a pattern (as in a `.gitignore`, from the root)."""
    if not per_file:
        return report
    ignored = ignored_by(per_file)
    functions = []
    for function in report.functions:
        codes = ignored(function.facts.path)
        functions.append(_filter_function(function, (), codes) if codes else function)
    kept = tuple(f for f in report.findings if is_selected(f.code, f.name, (), ignored(f.path)))
    return replace(report, functions=tuple(functions), findings=kept)


def ignored_by(per_file: PerFile) -> Callable[[str], Sequence[str]]:
    """What is ignored in a file, by its path from the root."""
    from pathspec import GitIgnoreSpec

    specs = [(GitIgnoreSpec.from_lines([pattern]), codes) for pattern, codes in per_file]

    def codes_of(path: str) -> Sequence[str]:
        return [code for spec, codes in specs if spec.match_file(path) for code in codes]

    return codes_of


def _filter_function(function: FunctionReport, select: Sequence[str], ignore: Sequence[str]) -> FunctionReport:
    decision = function.decision
    if (
        decision.precondition
        and decision.action is not Action.KEEP
        and not is_selected(decision.precondition, "", select, ignore)
    ):
        decision = replace(decision, action=Action.KEEP)
    statuses = tuple(s for s in function.statuses if is_selected(s.code, s.name, select, ignore))
    return replace(function, decision=decision, statuses=statuses)


def unknown_selectors(selectors: Iterable[str], codes: Sequence[tuple[str, str]]) -> list[tuple[str, str | None]]:
    """The selectors that mean none of the known (code, name) pairs, each with the closest known word or None."""
    words = {word.lower(): word for pair in codes for word in pair if word}
    unknown = []
    for selector in selectors:
        if not any(matches(selector, code, name) for code, name in codes):
            from difflib import get_close_matches  # slow to import, and only for mistakes

            told = selector.lower()
            if any(map(str.isdigit, selector)):  # a code: what shares only some digits says nothing
                near = get_close_matches(told, [word for word in words if _differ_in_one(word, told)], n=1)
            else:
                near = get_close_matches(told, words, n=1)
            unknown.append((selector, words[near[0]] if near else None))
    return unknown


def _differ_in_one(one: str, two: str) -> bool:
    """Whether two words differ in one character, or one of them has one more."""
    if len(one) == len(two):
        return sum(a != b for a, b in zip(one, two, strict=True)) == 1
    short, long = sorted((one, two), key=len)
    return short in {long[:i] + long[i + 1 :] for i in range(len(long))}
