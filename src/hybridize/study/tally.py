"""Counts of a study database: its final problems, or one rater's, under the same questions as the published ones."""

from __future__ import annotations

import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hybridize.study import codebook_store
from hybridize.study.codebook import Codebook, Facet
from hybridize.study.counts import NONE_GIVEN, SOURCES, Check, Mark, Slice, Source, SubjectRow, Where
from hybridize.study.store import DatabaseError

_PORTIONS: Final[dict[Source, str]] = {"commit": "fixes", "issue": "reports"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One final problem: an item may have several."""

    item: str
    source: Source
    project: str
    category: str
    cause: str | None
    symptom: str | None
    fix: str | None


class Tally:
    """`Counts` over rows, so that every question has an answer."""

    def __init__(
        self, title: str, book: Codebook, problems: tuple[Problem, ...], subjects: tuple[SubjectRow, ...],
        marks: tuple[Mark, ...] = (),
    ) -> None:  # fmt: skip
        self.title = title
        self.book = book
        self.problems = problems
        self.subjects = subjects
        self.marks = marks

    @cached_property
    def _subtrees(self) -> dict[str, frozenset[str]]:
        return {code.name: self.book.subtree(code.name) for code in self.book.of("category")}

    def _matches(self, problem: Problem, where: Where) -> bool:
        if where.category is not None:
            wanted = {where.category} if where.own else self._subtrees.get(where.category, frozenset())
            if problem.category not in wanted:
                return False
        return (
            (where.source is None or problem.source == where.source)
            and (where.cause is None or problem.cause in where.cause)
            and (where.not_cause is None or problem.cause not in where.not_cause)
            and (where.symptom is None or problem.symptom in where.symptom)
            and (where.fix is None or problem.fix in where.fix)
        )

    def count(self, where: Where) -> int:
        """How many problems match."""
        return sum(self._matches(problem, where) for problem in self.problems)

    def breakdown(self, category: str, facet: Facet) -> tuple[Slice, ...]:
        """By the names in use, most frequent first, then in the codebook's order."""
        numbers: Counter[str] = Counter()
        for problem in self.problems:
            if self._matches(problem, Where(category)):
                numbers[getattr(problem, facet) or NONE_GIVEN] += 1
        order = {code.name: place for place, code in enumerate(self.book.of(facet))}
        names = sorted(numbers, key=lambda name: (-numbers[name], order.get(name, len(order)), name))
        return tuple(Slice((name,), numbers[name]) for name in names)

    def printed(self, finding: int) -> tuple[str, ...]:
        """No text has been printed about these data."""
        return ()

    def checks(self) -> tuple[Check, ...]:
        """The sums that Tables 1 to 4 rest on."""
        tops = [code.name for code in self.book.children(None)]
        found = [Check("Table 2: all categories", len(self.problems), sum(self.count(Where(top)) for top in tops))]
        for source in SOURCES:
            parts = sum(self.count(Where(top, source=source)) for top in tops)
            found.append(Check(f"Table 2: column {source}", self.count(Where(source=source)), parts))
        for top in tops:
            below = sum(self.count(Where(name, own=True)) for name in self._subtrees[top])
            found.append(Check(f"Figure 1: {top} with all below it", self.count(Where(top)), below))
        return tuple(found)


def from_database(connection: sqlite3.Connection, *, rater: str | None = None, count_lines: bool = False) -> Tally:
    """The final problems of a database.

    Args:
        connection: the study database.
        rater: count this rater's submitted ratings in place of the reconciled rows.
        count_lines: count the lines of Python in the mined clones, for Table 1, as far as they are still there.

    Raises:
        DatabaseError: there is no such rater.
    """
    book = codebook_store.read(connection)
    if rater is not None and connection.execute("SELECT 1 FROM rater WHERE name = ?", (rater,)).fetchone() is None:
        raise DatabaseError(f"there is no rater {rater!r}")
    view, condition = ("reconciled_named", "") if rater is None else ("rating_named", " AND state = 'submitted'")
    rows = connection.execute(
        f"SELECT * FROM {view} WHERE is_fix = 1{condition}"
        + (" AND rater = ?" if rater else "")
        + " ORDER BY item, id",
        (rater,) if rater else (),
    )
    unknown = next((code.name for code in book.of("category") if code.role == "unknown"), NONE_GIVEN)
    problems = tuple(
        Problem(
            *(row["item"], row["kind"], row["project"], row["category"] or unknown),
            *(row["cause"], row["symptom"], row["fix"]),
        )
        for row in rows
    )
    title = book.title if rater is None else f"{book.title}, as rated by {rater}"
    return Tally(title, book, problems, _subjects(connection, count_lines), tuple(_gaps(connection, rater)))


def _gaps(connection: sqlite3.Connection, rater: str | None) -> list[Mark]:
    """What a reader should know: which items are not counted yet."""
    tables = ("table 1", "table 2", "figure 1", "figure 4", "findings")
    if rater is not None:
        return [Mark(tables, f"These are the ratings of {rater} alone, not the reconciled ones.")]
    waiting = connection.execute(
        "SELECT count(DISTINCT item) FROM rating WHERE state = 'submitted'"
        " AND item NOT IN (SELECT item FROM reconciled)"
    ).fetchone()[0]
    return [Mark(tables, f"{waiting} rated items are not reconciled yet and not counted.")] if waiting else []


def _subjects(connection: sqlite3.Connection, count_lines: bool) -> tuple[SubjectRow, ...]:
    lines = _lines(connection) if count_lines else {}
    portions = [_portion(connection, source, lines) for source in SOURCES]
    names = {name for source in SOURCES for name in _projects(connection, source)}
    periods = [row.period for row in portions if row.period]
    total = SubjectRow(
        "total",
        len(names),
        _kloc(names, lines),
        (min(first for first, _ in periods), max(last for _, last in periods)) if periods else None,
        _sum([row.all for row in portions]),
        _sum([row.keyword for row in portions]),
        _sum([row.examined for row in portions]),
        unique=True,
    )
    return (*portions, total)


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


_PROJECTS: Final[dict[Source, str]] = {
    "commit": "SELECT DISTINCT r.name FROM repository r JOIN changeset c ON c.repository_id = r.id"
    " WHERE c.touches_use = 1",
    "issue": "SELECT DISTINCT project FROM issue WHERE has_keyword = 1",
}
_NUMBERS: Final[dict[Source, tuple[str, str, str]]] = {
    "commit": (
        "SELECT sum(commits) FROM repository WHERE id IN (SELECT repository_id FROM changeset WHERE touches_use = 1)",
        "SELECT count(*) FROM item WHERE kind = 'commit' AND selected = 1",
        "SELECT min(authored_at), max(authored_at) FROM changeset WHERE touches_use = 1",
    ),
    "issue": (
        "SELECT nullif(count(*), 0) FROM issue_read",
        "SELECT count(*) FROM issue WHERE has_keyword = 1",
        "SELECT min(created_at), max(created_at) FROM issue WHERE has_keyword = 1",
    ),
}


def _projects(connection: sqlite3.Connection, source: Source) -> list[str]:
    return [row[0] for row in connection.execute(_PROJECTS[source])]


def _portion(connection: sqlite3.Connection, source: Source, lines: dict[str, int]) -> SubjectRow:
    everything, keyword, span = _NUMBERS[source]
    first, last = connection.execute(span).fetchone()
    projects = set(_projects(connection, source))
    examined = connection.execute(
        "SELECT count(*) FROM item WHERE kind = ? AND (id IN (SELECT item FROM reconciled)"
        " OR id IN (SELECT item FROM rating WHERE state = 'submitted'))",
        (source,),
    ).fetchone()[0]
    return SubjectRow(
        _PORTIONS[source],
        len(projects),
        _kloc(projects, lines),
        (first[:10], last[:10]) if first and last else None,
        connection.execute(everything).fetchone()[0],
        connection.execute(keyword).fetchone()[0],
        examined,
    )


def _kloc(projects: set[str], lines: dict[str, int]) -> float | None:
    """Thousands of lines of all `projects`; null unless each was counted."""
    if not projects or any(name not in lines for name in projects):
        return None
    return round(sum(lines[name] for name in projects) / 1000, 1)


def _lines(
    connection: sqlite3.Connection, run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
) -> dict[str, int]:
    """Lines of Python per repository, at the commit that was mined; clones that are gone are left out."""
    found: dict[str, int] = {}
    for row in connection.execute("SELECT name, path, head FROM repository WHERE head IS NOT NULL").fetchall():
        command = ["git", "-C", row["path"], "grep", "-I", "-c", "", row["head"], "--", "*.py"]
        try:
            done = run(command, capture_output=True, text=True, errors="replace", check=False, timeout=300)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            found[row["name"]] = sum(int(line.rpartition(":")[2]) for line in done.stdout.splitlines())
    return found
