"""Counts of problems, wherever they come from: the questions that tables, figures and findings ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol

from hybridize.study.codebook import Codebook, Facet

Source = Literal["commit", "issue"]
SOURCES: Final[tuple[Source, ...]] = ("commit", "issue")
NONE_GIVEN: Final = "(none given)"
NOT_SPLIT: Final = "Others, not given one by one"


@dataclass(frozen=True, slots=True)
class Where:
    """Which problems to count; a null field does not restrict.

    `category` includes everything below it, unless `own` is set. A set of names means any of them.
    """

    category: str | None = None
    own: bool = False
    source: Source | None = None
    cause: frozenset[str] | None = None
    not_cause: frozenset[str] | None = None
    symptom: frozenset[str] | None = None
    fix: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """Part of a breakdown: problems with any of `names`. No names: what the source counts without naming it."""

    names: tuple[str, ...]
    count: int
    note: str = ""

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        return " or ".join(self.names) if self.names else NOT_SPLIT


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One row of Table 1. Counts are null where nobody counted; `kloc` is in thousands of lines.

    `unique` marks a total in which a subject of both portions counts once.
    """

    name: str
    subjects: int | None
    kloc: float | None
    period: tuple[str, str] | None
    all: int | None
    keyword: int | None
    examined: int | None
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that a reader must know about the numbers; `on` names tables, figures and findings ("table 3")."""

    on: tuple[str, ...]
    text: str


class Counts(Protocol):
    """A study's final problems, as far as they are known."""

    @property
    def title(self) -> str:
        """Which study this is."""
        ...

    @property
    def book(self) -> Codebook:
        """The names in use."""
        ...

    @property
    def subjects(self) -> tuple[SubjectRow, ...]:
        """The rows of Table 1, total last."""
        ...

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Known inconsistencies and gaps."""
        ...

    def count(self, where: Where) -> int | None:
        """How many problems; null if this source can't tell."""
        ...

    def breakdown(self, category: str, facet: Facet) -> tuple[Slice, ...] | None:
        """The problems of a category by cause, symptom or fix; null if this source can't tell."""
        ...

    def printed(self, finding: int) -> tuple[str, ...]:
        """The percentages that the study's own text prints for a finding; empty where there is no such text."""
        ...

    def checks(self) -> tuple[Check, ...]:
        """Sums that must hold, each with what was found."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """A sum: what it should be and what its parts give."""

    text: str
    expected: float
    found: float

    @property
    def holds(self) -> bool:
        """Whether the parts give the sum."""
        return self.expected == self.found


def marks_on(counts: Counts, thing: str) -> tuple[str, ...]:
    """The texts of the marks on one thing ("table 3", "figure 1", "finding 4")."""
    return tuple(mark.text for mark in counts.marks if thing in mark.on)
