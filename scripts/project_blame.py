"""Finds which conversions a newly failing test is to blame on: `fix` makes fewer and fewer of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from project_corpus import Home, Project, fresh_copy
from project_runs import BAD, MODES, Limits, apply_fix, run_tests

_ONE_OF_A_KIND = re.compile(r"0x[0-9a-f]+|[0-9.]+|'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class Blame:
    """The tests that fail because of these changes (FILE:LINE of the original), several where only all together do."""

    changes: tuple[str, ...]
    tests: tuple[str, ...]


def bisect(
    changes: Sequence[str], tests: Sequence[str], failing: Callable[[Sequence[str], Sequence[str]], set[str]]
) -> list[Blame]:
    """Which changes make which tests fail. `failing(changes, tests)`: those that fail with only these changes made."""
    if not tests or not changes:
        return []
    if len(changes) == 1:
        return [Blame(tuple(changes), tuple(tests))]
    found: list[Blame] = []
    left = set(tests)
    half = len(changes) // 2
    for part in (changes[:half], changes[half:]):
        bad = [name for name in tests if name in failing(part, sorted(left))] if left else []
        found += bisect(part, bad, failing)
        left -= set(bad)
    if left:  # neither half alone
        found.append(Blame(tuple(_smallest(changes, sorted(left), failing)), tuple(sorted(left))))
    return found


def _smallest(
    changes: Sequence[str], tests: Sequence[str], failing: Callable[[Sequence[str], Sequence[str]], set[str]]
) -> Sequence[str]:
    """Changes of which none can be left out, where only several together make the first test fail."""
    kept, size = list(changes), max(len(changes) // 4, 1)
    while True:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if fewer and failing(fewer, tests[:1]):
                kept = fewer
            else:
                start += size
        if size == 1:
            return kept
        size = max(size // 2, 1)


def kinds(failures: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Tests by what was raised (numbers and names left out) and where: one of each kind is enough to bisect with."""
    found: dict[str, list[str]] = {}
    for name, test in failures.items():
        first = str(test.get("message", "")).strip().split("\n")[0]
        place = [str(each).rpartition(":")[0] for each in test.get("places", ())][-1:]
        found.setdefault(f"{_ONE_OF_A_KIND.sub('_', first)[:160]} {place} {name.split('::')[0]}", []).append(name)
    return found


def blame(
    home: Home, project: Project, tool: Path, mode: str, result: Mapping[str, Any], limits: Limits, most: int = 12
) -> list[Blame]:
    """The conversions behind the newly failing tests of a result, by one test of each kind (the first `most`)."""
    groups = kinds(result["newly_failing"])
    tests = [group[0] for group in list(groups.values())[:most]]
    changes = [f"{change['path']}:{change['line']}" for change in result["changes"]]
    known: dict[tuple[tuple[str, ...], str], bool] = {}

    def failing(part: Sequence[str], names: Sequence[str]) -> set[str]:
        asked = [name for name in names if (tuple(part), name) not in known]
        if asked:
            root = fresh_copy(home, project, "bisect")
            apply_fix(home, project, root, tool, MODES[mode], limits, only=part)
            run = run_tests(home, project, root, limits, ids=asked)
            for name in asked:
                known[tuple(part), name] = name not in run.tests or run.tests[name].outcome in BAD
        return {name for name in names if known[tuple(part), name]}

    alone = failing(changes, tests)  # some fail only after others of their file
    return bisect(changes, [name for name in tests if name in alone], failing)
