"""The published counts of the 2022 study, so that its own tables and figures come out of our code."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from hybridize.study.codebook import FACETS, Code, Codebook, Facet, built_in, checked
from hybridize.study.counts import SOURCES, Check, Mark, Slice, SubjectRow, Where


@dataclass(frozen=True, slots=True)
class Stated:
    """A number that the paper states, and where."""

    count: int
    place: str


class Published:
    """`Counts` from a data set of stated numbers. What is neither stated nor a sum of stated numbers is null."""

    def __init__(self, data: dict[str, Any], book: Codebook) -> None:
        extra = tuple(Code("category", entry["name"], parent=entry["parent"]) for entry in data["extra_category"])
        self._data = data
        self._book = checked(replace(book, codes=(*book.codes, *extra)))
        self._stated = dict(_stated(data))
        self._breakdowns = {
            (entry["category"], entry["facet"]): tuple(
                Slice(tuple(part["names"]), part["count"], part.get("place", "")) for part in entry["slices"]
            )
            for entry in data["breakdown"]
        }

    @property
    def title(self) -> str:
        """The paper's title."""
        return str(self._data["title"])

    @property
    def book(self) -> Codebook:
        """The built-in codebook with the nodes whose names the text leaves out."""
        return self._book

    @property
    def subjects(self) -> tuple[SubjectRow, ...]:
        """Table 1."""
        return tuple(
            SubjectRow(
                *(row["name"], row["subjects"], row["kloc"], (row["period"][0], row["period"][1])),
                *(row["all"], row["keyword"], row["examined"], row.get("unique", False)),
            )
            for row in self._data["subjects"]
        )

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Where the paper disagrees with itself."""
        return tuple(Mark(tuple(mark["on"]), mark["text"]) for mark in self._data["mark"])

    def place(self, where: Where) -> str | None:
        """Where the paper states this number; null if it is our sum, or unknown."""
        stated = self._stated.get(where)
        return stated.place if stated else None

    def count(self, where: Where) -> int | None:
        """The stated number, or the sum of stated ones that it is, or null."""
        stated = self._stated.get(where)
        if stated is not None:
            return stated.count
        if where.category is not None and where == Where(where.category):
            parts = [self.count(Where(name, own=True)) or 0 for name in self._book.subtree(where.category)]
            return sum(parts)
        return self._from_breakdown(where)

    def _from_breakdown(self, where: Where) -> int | None:
        """A set of names of one facet alone, if the slices don't cut through it."""
        for facet in FACETS[1:]:
            names: frozenset[str] | None = getattr(where, facet)
            slices = self._breakdowns.get((where.category or "", facet))
            if names is None or slices is None or where != _only(where.category, facet, names):
                continue
            inside = [part for part in slices if part.names and names.issuperset(part.names)]
            cut = [part for part in slices if names.intersection(part.names) and not names.issuperset(part.names)]
            named = {name for part in inside for name in part.names}
            open_ended = any(not part.names for part in slices) and named != names
            return None if cut or open_ended else sum(part.count for part in inside)
        return None

    def breakdown(self, category: str, facet: Facet) -> tuple[Slice, ...] | None:
        """The paper's own breakdown of a category, if it has that one."""
        return self._breakdowns.get((category, facet))

    def printed(self, finding: int) -> tuple[str, ...]:
        """The percentages in the text of a finding."""
        return next((tuple(row["shares"]) for row in self._data["printed"] if row["finding"] == finding), ())

    def checks(self) -> tuple[Check, ...]:
        """Every sum that the paper's numbers must satisfy."""
        data, rows = self._data, self._data["top_level"]["rows"]
        found = [Check(f"Table 2: {row['category']}", row["total"], row["commit"] + row["issue"]) for row in rows]
        for column in (*SOURCES, "total"):
            found.append(Check(f"Table 2: column {column}", data["problems"][column], sum(r[column] for r in rows)))
        for row in rows:
            below = self._book.subtree(row["category"])
            parts = sum(self.count(Where(name, own=True)) or 0 for name in below)
            found.append(Check(f"Figure 1: {row['category']} with all below it", row["total"], parts))
        for entry in data["breakdown"]:
            total = sum(part["count"] for part in entry["slices"])
            found.append(Check(f"{entry['place']}: {entry['category']} by {entry['facet']}", entry["total"], total))
        portions, total_row = data["subjects"][:-1], data["subjects"][-1]
        for column in ("all", "keyword", "examined"):
            found.append(Check(f"Table 1: {column}", total_row[column], sum(row[column] for row in portions)))
        return tuple(found)


def _stated(data: dict[str, Any]) -> list[tuple[Where, Stated]]:
    """Every stated number under the question that it answers."""
    problems = data["problems"]
    found = [(Where(), Stated(problems["total"], problems["place"]))]
    found += [(Where(source=source), Stated(problems[source], problems["place"])) for source in SOURCES]
    place = data["top_level"]["place"]
    for row in data["top_level"]["rows"]:
        found.append((Where(row["category"]), Stated(row["total"], place)))
        found += [(Where(row["category"], source=source), Stated(row[source], place)) for source in SOURCES]
    for row in data["own"]["rows"]:
        found.append((Where(row["category"], own=True), Stated(row["count"], row.get("place", data["own"]["place"]))))
    for cell in data["cell"]:
        cause, not_cause, symptom, fix = (_names(cell, key) for key in ("cause", "not_cause", "symptom", "fix"))
        where = Where(cell["category"], cause=cause, not_cause=not_cause, symptom=symptom, fix=fix)
        found.append((where, Stated(cell["count"], cell["place"])))
    return found


def _names(cell: dict[str, Any], key: str) -> frozenset[str] | None:
    return frozenset(cell[key]) if key in cell else None


def _only(category: str | None, facet: Facet, names: frozenset[str]) -> Where:
    """The question that restricts one facet and nothing else."""
    if facet == "cause":
        return Where(category, cause=names)
    return Where(category, symptom=names) if facet == "symptom" else Where(category, fix=names)


@cache
def published() -> Published:
    """The study's published counts."""
    text = files("hybridize.study").joinpath("data", "published.toml").read_text(encoding="utf-8")
    return Published(tomllib.loads(text), built_in())
