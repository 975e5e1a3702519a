"""The paper's Tables V and VI for any corpus, beside what was published, and what explains the differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hybridize.evaluate.ablations import ABLATIONS
from hybridize.evaluate.analyzing import Row
from hybridize.evaluate.corpus import Corpus
from hybridize.evaluate.readings import CLASSES, FAILURES, PAPER, Reading, Verdict, class_of
from hybridize.evaluate.store import Result
from hybridize.evaluate.tables import Column

#: From so large a part of the published figure a difference is explained.
_LARGE: Final = 0.1
_TOTAL: Final = "total"
#: By the heading of a column: the field of what was published.
_PUBLISHED: Final = {
    "published KLOC": "kloc",
    "published fnc": "candidates",
    "published rft": "refactored",
    "published P1": "p1",
    "published P2": "p2",
    "published t": "seconds",
}
#: The functions that a cell of a table counts: (table, row, column) -> ids with the project in front.
Members = dict[tuple[str, str, str], list[str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: a name for files, a heading, columns (no two of one title), rows, and what a reader has to know."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]
    note: str = ""
    members: Members = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Counted:
    """The candidates of one project under a reading."""

    result: Result
    candidates: Mapping[str, tuple[Row, Verdict]]

    def number(self, holds: Callable[[Row, Verdict], bool]) -> list[str]:
        """The functions for which something holds."""
        return [f"{self.result.project}::{id_}" for id_, each in self.candidates.items() if holds(*each)]


def effectiveness(corpus: Corpus, results: Mapping[str, Result], reading: Reading) -> Table:
    """Table V: size, candidates, refactored ones, by precondition, and time; beside what was published."""
    published = {project.name: project.published for project in corpus.projects if project.published}
    name = f"table5-{reading.name}"
    texts = ["KLOC", "functions", "candidates", "passing", "refactored", *reading.preconditions, "t (s)", "s/KLOC"]
    forms = {"KLOC": ".2f", "t (s)": ".2f", "s/KLOC": ".2f", "published KLOC": ".2f", "published t": ".2f"}
    columns = ["project", *texts, *(_PUBLISHED if published else ())]
    rows, members = [], Members()
    all_counted = [_Counted(r, reading.candidates(r.rows)) for r in results.values() if not r.failure]
    for title, counted in [*((c.result.project, [c]) for c in all_counted), (_TOTAL, all_counted)]:
        cells: dict[str, list[str]] = {
            "candidates": _all(counted, lambda row, verdict: True),
            "passing": _all(counted, lambda row, verdict: bool(verdict.precondition)),
            "refactored": _all(counted, lambda row, verdict: verdict.refactored),
        }
        for each in reading.preconditions:
            cells[each] = _all(counted, lambda row, verdict, each=each: verdict.precondition == each)  # type: ignore[misc]
        members |= {(name, title, column): ids for column, ids in cells.items()}
        kloc = sum(c.result.measures["code_lines"] for c in counted if c.result.measures) / 1000
        seconds = sum(c.result.measures["seconds"] for c in counted if c.result.measures)
        functions = sum(c.result.measures["functions"] for c in counted if c.result.measures)
        row: list[object] = [
            title,
            kloc,
            functions,
            *map(len, cells.values()),
            seconds,
            seconds / kloc if kloc else None,
        ]
        if published:
            known = [published[c.result.project] for c in counted if c.result.project in published]
            sums = [sum(getattr(p, key) for p in known) for key in _PUBLISHED.values()]
            row += sums if known else [None] * len(sums)
        rows.append(tuple(row))
    failed = [f"{r.project} ({r.failure})" for r in results.values() if r.failure]
    note = f"Without a result: {'; '.join(failed)}." if failed else ""
    titled = tuple(Column(text, forms.get(text, "")) for text in columns)
    return Table(name, f"Table V, reading: {reading.name}", titled, tuple(rows), note, members)


def failures(corpus: Corpus, results: Mapping[str, Result], reading: Reading) -> Table:
    """Table VI: why candidates fail, by reason and by the precondition that they would need."""
    name = f"table6-{reading.name}"
    failing: list[tuple[str, str, tuple[str, ...]]] = []
    for result in results.values():
        for id_, (row, verdict) in reading.candidates(result.rows).items():
            if verdict.failures:
                wanted = "P1" if row.mode == "eager" else "P2" if row.tensor == "no" else "P3"
                failing.append((f"{result.project}::{id_}", wanted, verdict.failures))
    counts = Counter(reason for _, _, reasons in failing for reason in reasons)
    first = [*FAILURES] if reading is PAPER else []
    order = [*first, *(reason for reason, _ in counts.most_common() if reason not in first)]
    rows, members = [], Members()
    for reason in order:
        ids = [(id_, wanted) for id_, wanted, reasons in failing if reason in reasons]
        by = Counter(wanted for _, wanted in ids)
        members[name, reason, "functions"] = [id_ for id_, _ in ids]
        cells: dict[str, object] = {"failure": reason}
        if reading is PAPER:
            cells["meaning"] = FAILURES.get(reason, "")
        cells |= {"functions": len(ids), "alone": sum(reasons == (reason,) for _, _, reasons in failing)}
        cells |= {each: by[each] for each in ("P1", "P2", "P3")}
        if reading is PAPER and corpus.failures:
            cells["published"] = corpus.failures.get(reason)
        rows.append(cells)
    columns = tuple(map(Column, rows[0] if rows else ("failure",)))
    note = f"{len(failing)} candidates fail, some for several reasons; `alone` counts those with no other."
    return Table(
        name, f"Table VI, reading: {reading.name}", columns, tuple(tuple(r.values()) for r in rows), note, members
    )


def classes(results: Mapping[str, Result]) -> Table:
    """Where the candidates of our reading end."""
    candidates = [(f"{r.project}::{row.id}", row) for r in results.values() for row in r.rows if row.candidate]
    groups = {"all": candidates, "not by arrays alone": [c for c in candidates if c[1].kinds != ("ndarray",)]}
    rows, members = [], Members()
    for name, meaning in CLASSES.items():
        row: list[object] = [name]
        for title, group in groups.items():
            ids = [id_ for id_, each in group if class_of(each) == name]
            members["classes", name, title] = ids
            row += [len(ids), 100 * len(ids) / len(group) if group else None]
        rows.append((*row, meaning))
    columns = [Column("class")]
    for title, group in groups.items():
        columns += [Column(f"{title} ({len(group)})"), Column("%", ".1f")]
    return Table("classes", "Where candidates end", (*columns, Column("meaning")), tuple(rows), "", members)


def differences(corpus: Corpus, results: Mapping[str, Result]) -> Table:
    """By project, what our candidates under the paper's reading consist of, where figures differ by a tenth."""
    kinds: dict[str, Callable[[Row], bool]] = {
        "hybrid": lambda row: row.mode == "hybrid",
        "hint, not reached": lambda row: row.mode == "eager" and row.known == "type_hint" and not row.reached,
        "hint, reached": lambda row: row.mode == "eager" and row.known == "type_hint" and row.reached,
        "flow, not reached": lambda row: row.mode == "eager" and row.known == "dataflow" and not row.reached,
        "flow, reached": lambda row: row.mode == "eager" and row.known == "dataflow" and row.reached,
    }
    left: dict[str, Callable[[Row], bool]] = {
        "left out: arrays": lambda row: row.known == "dataflow" and not PAPER.is_candidate(row),
        "left out: docstring": lambda row: row.known == "docstring",
        "left out: guessed": lambda row: row.known == "speculation",
    }
    rows, members = [], Members()
    for project in corpus.projects:
        result = results[project.name]
        if project.published is None or result.failure:
            continue
        candidates = PAPER.candidates(result.rows)
        mine = len(candidates), sum(verdict.refactored for _, verdict in candidates.values())
        theirs = project.published.candidates, project.published.refactored
        if all(abs(a - b) <= _LARGE * b for a, b in zip(mine, theirs, strict=True)):
            continue
        cells = {name: [row.id for row, _ in candidates.values() if holds(row)] for name, holds in kinds.items()}
        cells |= {name: [row.id for row in result.rows if row.candidate and holds(row)] for name, holds in left.items()}
        for name, ids in cells.items():
            members["differences", project.name, name] = [f"{project.name}::{id_}" for id_ in ids]
        reasons = Counter(reason for _, verdict in candidates.values() for reason in verdict.failures)
        failing = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        rows.append((project.name, theirs[0], mine[0], *map(len, cells.values()), theirs[1], mine[1], failing))
    texts = ["project", "published fnc", "fnc", *kinds, *left, "published rft", "rft", "failing"]
    note = (
        "Published figures (fnc: candidates, rft: refactored) beside ours under the paper's reading, where they "
        "differ by more than a tenth. Our candidates are split by how they are known; those left out are candidates "
        "by our reading only."
    )
    return Table(
        "differences",
        "What differs, and by which kinds of functions",
        tuple(map(Column, texts)),
        tuple(rows),
        note,
        members,
    )


def ablations(by_variant: Mapping[str, Mapping[str, Result]], readings: Sequence[Reading], whole: str) -> Table:
    """What is lost and won without parts of the analysis: candidates and passing ones, by reading."""
    rows = []
    for variant, results in by_variant.items():
        row: list[object] = [variant, ABLATIONS[variant].meaning if variant in ABLATIONS else "all of the analysis"]
        for reading in readings:
            now, before = _passing(results, reading), _passing(by_variant[whole], reading)
            row += [len(now), sum(now.values()), len(now.keys() - before), len(before.keys() - now)]
            row.append(sum(now[id_] != before[id_] for id_ in now.keys() & before))
        rows.append((*row, sum(r.measures["seconds"] for r in results.values() if r.measures)))
    columns = [Column("without"), Column("meaning")]
    for reading in readings:
        texts = ("candidates", "passing", "new", "gone", "verdict differs")
        columns += [Column(f"{reading.name}: {text}") for text in texts]
    return Table("ablations", "What parts of the analysis are worth", (*columns, Column("t (s)", ".1f")), tuple(rows))


def _passing(results: Mapping[str, Result], reading: Reading) -> dict[str, bool]:
    """Of each candidate, whether it passes a precondition."""
    return {
        f"{result.project}::{id_}": bool(verdict.precondition)
        for result in results.values()
        for id_, (_, verdict) in reading.candidates(result.rows).items()
    }


def findings(results: Mapping[str, Result]) -> Table:
    """Findings by code: how many, of which severity, in how many projects, and how many of them in tests."""
    found = [(result.project, each) for result in results.values() for each in result.findings]
    rows = []
    for (code, name), count in Counter((each["code"], each["name"]) for _, each in found).most_common():
        mine = [(project, each) for project, each in found if each["code"] == code]
        by = Counter(each["severity"] for _, each in mine)
        tests = sum(each["test"] for _, each in mine)
        projects = len({project for project, _ in mine})
        rows.append((code, name, count, by["error"], by["warning"], by["info"], tests, projects))
    texts = ("code", "name", "findings", "error", "warning", "info", "in tests", "projects")
    return Table("findings", "Findings", tuple(map(Column, texts)), tuple(rows))


def _all(counted: Iterable[_Counted], holds: Callable[[Row, Verdict], bool]) -> list[str]:
    return [id_ for each in counted for id_ in each.number(holds)]
