"""Agreement of the raters of a study database: coefficients per question and pair, and the disagreements one by one."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

from hybridize.study import agreement, codebook_store
from hybridize.study.agreement import Interval, Patterns, Statistic
from hybridize.study.codebook import FACETS
from hybridize.study.counts import NONE_GIVEN

NOT_A_FIX: Final = "(not a fix)"
Classes = Literal["all", "fixes only"]
QUESTIONS: Final = ("identification", "top category", *FACETS)


@dataclass(frozen=True, slots=True)
class Rating:
    """One submitted rating, by name; `unit` tells items of different rounds apart."""

    unit: str
    item: str
    project: str
    title: str
    rater: str
    is_fix: bool
    labels: Mapping[str, str]  # question -> label, for fixes


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient: which question, which classes, whose ratings, how many items, and how sure.

    `classes` is "all" where "not a fix" counts as a class of its own (what the paper's classification kappa does), and
    "fixes only" where items count that the raters agree to be fixes. `value` is null where it is not defined.
    """

    question: str
    classes: Classes
    statistic: str
    raters: tuple[str, ...]
    items: int
    value: float | None
    observed: float | None
    intervals: tuple[Interval, ...]
    word: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which raters differ in a question; `settled` if it has a reconciled row."""

    item: str
    project: str
    title: str
    question: str
    labels: tuple[tuple[str, str], ...]  # (rater, label)
    settled: bool


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that `study agree` prints."""

    ratings: int
    items: int
    raters: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]
    disagreements: tuple[Disagreement, ...]
    seed: int
    resamples: int


def load(connection: sqlite3.Connection, *, round_name: str | None = None, raters: Sequence[str] = ()) -> list[Rating]:
    """The submitted ratings, of one round or of all, of some raters or of all; drafts never count."""
    book = codebook_store.read(connection)
    found = []
    rows = connection.execute(
        "SELECT n.*, i.title FROM rating_named n JOIN item i ON i.id = n.item WHERE n.state = 'submitted'"
        " AND n.is_fix IS NOT NULL ORDER BY n.item, n.round, n.rater"
    )
    for row in rows:
        if (round_name is not None and row["round"] != round_name) or (raters and row["rater"] not in raters):
            continue
        labels: dict[str, str] = {facet: row[facet] or NONE_GIVEN for facet in FACETS}
        labels["top category"] = book.top_of(labels["category"])
        unit = json.dumps([row["item"], row["round"]])
        found.append(
            Rating(unit, row["item"], row["project"], row["title"], row["rater"], bool(row["is_fix"]), labels)
        )  # fmt: skip
    return found


def label(rating: Rating, question: str) -> str:
    """The class that a rating puts its item in."""
    if question == "identification":
        return "fix" if rating.is_fix else NOT_A_FIX
    return rating.labels[question] if rating.is_fix else NOT_A_FIX


def report(
    connection: sqlite3.Connection,
    *,
    round_name: str | None = None,
    raters: Sequence[str] = (),
    resamples: int = agreement.DEFAULT_RESAMPLES,
    level: float = agreement.DEFAULT_LEVEL,
    seed: int = 0,
) -> Report:
    """Every coefficient that the ratings allow, with intervals, and the disagreements.

    Raises:
        MissingStatistics: the libraries of the extra `study` are not there.
    """
    agreement.require()
    ratings = load(connection, round_name=round_name, raters=raters)
    names = tuple(sorted({rating.rater for rating in ratings}))
    settled = {row[0] for row in connection.execute("SELECT DISTINCT item FROM reconciled")}
    maker = _Maker(resamples, level, seed)
    coefficients: list[Coefficient] = []
    for question in QUESTIONS:
        for classes in ("all",) if question == "identification" else ("all", "fixes only"):
            units = _units(ratings, question, fixes_only=classes == "fixes only")
            coefficients += maker.of(question, "all" if classes == "all" else "fixes only", units, names)
    items = len({rating.unit for rating in ratings})
    listed = tuple(_disagreements(ratings, settled))
    return Report(len(ratings), items, names, tuple(coefficients), listed, seed, resamples)


def _units(ratings: Iterable[Rating], question: str, *, fixes_only: bool) -> dict[str, dict[str, str]]:
    """Item -> rater -> class; with `fixes_only` the labels of raters who call it no fix are missing."""
    units: dict[str, dict[str, str]] = {}
    for rating in ratings:
        if rating.is_fix or not fixes_only:
            units.setdefault(rating.unit, {})[rating.rater] = label(rating, question)
    return units


@dataclass(frozen=True, slots=True)
class _Maker:
    resamples: int
    level: float
    seed: int

    def of(
        self, question: str, classes: Classes, units: Mapping[str, Mapping[str, str]], names: Sequence[str]
    ) -> list[Coefficient]:
        """Cohen's kappa of every pair; Fleiss' kappa and Krippendorff's alpha of all, from two raters on."""
        made = []
        for first, second in agreement.rater_pairs(units):
            shared = [unit for unit in units.values() if first in unit and second in unit]
            table = agreement.patterns((unit[first], unit[second]) for unit in shared)
            result = agreement.cohen(table)
            intervals = self._intervals(table, agreement.cohen_value, agreement.cohen_interval(result, self.level))
            made.append(
                Coefficient(
                    *(question, classes, "Cohen's kappa", (first, second), result.items, result.kappa),
                    *(result.observed, intervals, agreement.landis_koch(result.kappa, result.items)),
                )
            )
        if len(names) < 2:
            return made
        complete = agreement.patterns(tuple(sorted(u.values())) for u in units.values() if len(u) == len(names))
        paired = agreement.patterns(tuple(sorted(u.values())) for u in units.values() if len(u) >= 2)
        if len(names) > 2:
            made.append(self._joint(question, classes, "Fleiss' kappa", names, complete, agreement.fleiss))
        made.append(self._joint(question, classes, "Krippendorff's alpha", names, paired, agreement.krippendorff))
        return made

    def _joint(
        self, question: str, classes: Classes, name: str, raters: Sequence[str], table: Patterns, statistic: Statistic
    ) -> Coefficient:
        value = statistic(table)
        total = sum(table.values())
        return Coefficient(
            *(question, classes, name, tuple(raters), total, value, None),
            *(self._intervals(table, statistic, None), agreement.landis_koch(value, total)),
        )

    def _intervals(self, table: Patterns, statistic: Statistic, analytic: Interval | None) -> tuple[Interval, ...]:
        drawn = agreement.bootstrap(table, statistic, resamples=self.resamples, level=self.level, seed=self.seed)
        return tuple(interval for interval in (analytic, drawn) if interval is not None)


def _disagreements(ratings: Sequence[Rating], settled: set[str]) -> Iterable[Disagreement]:
    """Identification first; what kind of fix it is only where at least two raters call it one."""
    by_unit: dict[str, list[Rating]] = {}
    for rating in ratings:
        by_unit.setdefault(rating.unit, []).append(rating)
    for rated in by_unit.values():
        for question in ("identification", *FACETS):
            concerned = [r for r in rated if r.is_fix or question == "identification"]
            labels = tuple((r.rater, label(r, question)) for r in concerned)
            if len({name for _, name in labels}) > 1:
                first = rated[0]
                yield Disagreement(
                    first.item, first.project, first.title, question, labels, first.item in settled
                )  # fmt: skip


def as_json(found: Report) -> str:
    """The report as one JSON object."""
    return json.dumps({"version": 1, **asdict(found)}, indent=2, ensure_ascii=False) + "\n"


def as_csv(found: Report) -> str:
    """The coefficients as rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["question", "classes", "statistic", "raters", "items", "value", "observed", "analytic_low", "analytic_high",
         "bootstrap_low", "bootstrap_high"]
    )  # fmt: skip
    for one in found.coefficients:
        bounds = {interval.method: (interval.low, interval.high) for interval in one.intervals}
        writer.writerow(
            [one.question, one.classes, one.statistic, " ".join(one.raters), one.items, one.value, one.observed,
             *bounds.get("analytic", ("", "")), *bounds.get("bootstrap", ("", ""))]
        )  # fmt: skip
    return text.getvalue()


def as_text(found: Report, *, disagreements: bool = True) -> str:
    """The report for a terminal; also valid Markdown."""
    if len(found.raters) < 2:
        return f"{found.ratings} submitted ratings by {len(found.raters)} rater(s): agreement needs two.\n"
    lines = [f"{found.ratings} submitted ratings of {found.items} items by {', '.join(found.raters)}", ""]
    lines += [
        "| question | classes | statistic | raters | items | value | agreement | 95% interval | |".replace(
            "95%", _level(found)
        ),
        "|---|---|---|---|---:|---:|---:|---|---|",
    ]
    for one in found.coefficients:
        spans = "; ".join(f"{_short(i.low)} to {_short(i.high)} ({i.method})" for i in one.intervals)
        observed = "" if one.observed is None or one.items == 0 else f"{one.observed:.3f}"
        value = "undefined" if one.value is None else _short(one.value)
        raters = " × ".join(one.raters) if len(one.raters) == 2 else f"all {len(one.raters)}"
        lines.append(
            f"| {one.question} | {one.classes} | {one.statistic} | {raters} | {one.items} | {value} | {observed} |"
            f" {spans} | {one.word} |"
        )
    lines += ["", 'Classes "all": "not a fix" is a class of its own. "fixes only": items that the raters call fixes.']
    lines += [f"Bootstrap: {found.resamples} resamples of items, seed {found.seed}.", ""]
    if disagreements:
        lines.append(f"{len(found.disagreements)} disagreements")
        for one_item in found.disagreements:
            said = "; ".join(f"{rater}: {name}" for rater, name in one_item.labels)
            state = " [reconciled]" if one_item.settled else ""
            lines.append(f"- {one_item.item} ({one_item.project}) {one_item.question}: {said}{state}")
    return "\n".join("".join(c if c.isprintable() else "\ufffd" for c in line) for line in lines).rstrip() + "\n"


def _short(value: float) -> str:
    """Three decimals, and no negative zero."""
    return f"{round(value, 3) + 0.0:.3f}"


def _level(found: Report) -> str:
    levels = {interval.level for one in found.coefficients for interval in one.intervals}
    return f"{min(levels):.0%}" if levels else "95%"
