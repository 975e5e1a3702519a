"""A report after edits: what was found of these anew, and of all others what was found before.

It says at once what the next analysis will say in most cases; only that sees what the edit does to other functions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TypeVar

from hybridize.caching.shifting import Mover
from hybridize.decide.model import Action, FunctionReport, Report, assumptions_of
from hybridize.deciding import Again, distinct
from hybridize.program.edited import lines_before
from hybridize.records import dataclass, replace
from hybridize.source import count_lines, split_lines

T = TypeVar("T")


class Shifted:
    """Where the lines of a text are after some edits; one that is gone is where its place is now."""

    def __init__(self, old: str, new: str) -> None:
        before, after = split_lines(old), split_lines(new)
        head = _common(zip(before, after, strict=False))
        tail = _common(zip(reversed(before[head:]), reversed(after[head:]), strict=False))
        middle = SequenceMatcher(
            None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=False
        ).get_matching_blocks()
        blocks = [(0, 0, head), *[(head + a, head + b, size) for a, b, size in middle[:-1]]]
        blocks.append((len(before) - tail, len(after) - tail, tail))
        self._blocks = [block for block in blocks if block[2]]
        self._starts = [block[0] for block in self._blocks]
        self.added = count_lines(new) - count_lines(old)

    def line(self, old: int) -> int:
        """Where a line is now, from 1."""
        i = bisect_right(self._starts, old - 1) - 1
        if i < 0:
            return 1
        start, now, size = self._blocks[i]
        return now + 1 + min(old - 1 - start, size - 1)

    near = line

    def is_same(self, first: int, last: int) -> bool:
        """Whether all lines between two are as they were, and nothing is between them."""
        i = bisect_right(self._starts, max(first - 1, 0)) - 1
        return i >= 0 and last - 1 < self._blocks[i][0] + self._blocks[i][2]


def _common(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class _Behind:
    """Where the lines of both texts are that `program.edited` puts one below the other."""

    def __init__(self, first: int, old: Shifted) -> None:
        self._first, self._old = first, old
        self.added = 0

    def line(self, line: int) -> int:
        return line - self._first if line > self._first else self._old.line(line)

    near = line

    def is_same(self, first: int, last: int) -> bool:
        return first > self._first or self._old.is_same(first, last)


@dataclass(frozen=True, slots=True)
class File:
    """A file before and after an edit."""

    before: str
    after: str


def merged(report: Report, files: Mapping[str, File], found: Sequence[Again]) -> Report:
    """A report after an edit.

    Args:
        report: what was found before it.
        files: those that were edited, by path from the root.
        found: what was found of some functions anew; of one that is in several the first counts.
    """
    moves = {path: Shifted(each.before, each.after) for path, each in files.items()}
    before = Mover(moves)
    after = Mover({path: _Behind(lines_before(files[path].before), move) for path, move in moves.items()})
    asked = frozenset[str]().union(*(again.asked for again in found))
    known = {each.facts.id: each for each in report.functions}
    anew: dict[str, FunctionReport] = {}
    for again in found:
        for each, same in again.functions:
            now, was = after.each(each), known.get(each.facts.id)
            if now is not None and each.facts.id not in anew:
                anew[each.facts.id] = _planned(now, before.each(was) if was is not None and same else None)
    others = [each for each in report.functions if each.facts.id not in asked]
    functions = [*_moved(before, others), *anew.values()]
    ends = {each.facts.id: each.facts.end_line for each in report.functions}
    bundles = [b for b in report.repairs if b.function not in asked and before.stands(b, ends.get(b.function, b.line))]
    ids = {each.facts.id for each in functions}
    findings = [
        *_moved(before, [each for each in report.findings if each.function not in asked]),
        *_moved(after, [each for again in found for each in again.findings]),
    ]
    return replace(
        report,
        functions=tuple(sorted(functions, key=lambda each: (each.facts.path, each.facts.line))),
        findings=tuple(distinct(each for each in findings if each.function is None or each.function in ids)),
        assumptions=assumptions_of(functions),
        errors=_moved(before, report.errors),
        repairs=(*_moved(before, bundles), *_moved(after, [b for again in found for b in again.bundles])),
        calls=_moved(before, report.calls),
    )


def _planned(now: FunctionReport, was: FunctionReport | None) -> FunctionReport:
    """What is found of a function, with what was planned for it, if that still holds: else nothing is proposed yet."""
    if was is None:
        return replace(now, decision=replace(now.decision, action=Action.KEEP))
    return replace(now, decision=was.decision, statuses=was.statuses)


def _moved(mover: Mover, found: Iterable[T]) -> tuple[T, ...]:
    """What can be told where it is now."""
    return tuple(now for each in found if (now := mover.each(each)) is not None)
