"""The study's findings 1 to 11 as sentences: the same questions put to any counts, percentages computed, not copied."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from hybridize.study.codebook import Codebook
from hybridize.study.counts import Counts, Where, marks_on


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole; `where` fields hold roles of the codebook, not names."""

    part: Where
    whole: Where
    complement: bool = False  # the rest of the whole in place of the part


@dataclass(frozen=True, slots=True)
class Question:
    """A finding before anybody has counted; `{0}` is the first share, `{rank}` the rank of `ranked`."""

    number: int
    template: str
    shares: tuple[Share, ...]
    ranked: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about given counts; `printed` is what the study's own text says, where it differs from `text`."""

    number: int
    text: str
    shares: tuple[tuple[int, int], ...]
    notes: tuple[str, ...] = ()


def _any(*roles: str) -> frozenset[str]:
    return frozenset(roles)


_ALL: Final = Where()
_PRF, _APM, _INC, _TFB = (Where(r) for r in ("performance", "api-misuse", "incompatibility", "framework-bug"))
_REMOVED: Final = Where("api-misuse", fix=_any("remove-decorator"))
_NOT_INNER: Final = _any("redundant-inner-decoration")

QUESTIONS: Final = (
    Question(1, "At {0}, performance was the {rank} problem category.", (Share(_PRF, _ALL),), "performance"),
    Question(
        2,
        "Though meant to speed things up, hybridization slowed things down, and was removed, in {0} of performance"
        " problems.",
        (Share(Where("performance", fix=_any("remove-decorator")), _PRF),),
    ),
    Question(
        3,
        "{0} of performance problems were fixed by adding a decorator; the remaining {1} were due to using one.",
        (
            Share(Where("performance", fix=_any("add-decorator")), _PRF),
            Share(Where("performance", fix=_any("add-decorator")), _PRF, complement=True),
        ),
    ),
    Question(
        4,
        "Performance fixes altered the decorator's arguments in {0} of cases.",
        (Share(Where("performance", fix=_any("change-argument", "add-input-signature")), _PRF),),
    ),
    Question(
        5,
        "Performance problems came from the specification of input shapes in {0} of cases.",
        (Share(Where("input-shapes"), _PRF),),
    ),
    Question(
        6,
        "At {0}, API misuse (use against the documentation) was the {rank} problem category.",
        (Share(_APM, _ALL),),
        "api-misuse",
    ),
    Question(
        7,
        "API misuse was caused by confusion over the hybridization API in {0} of cases.",
        (Share(Where("api-misuse", cause=_any("api-confusion")), _APM),),
    ),
    Question(
        8,
        "API misuse was fixed by removing the decorator in {0} of cases; in {1} of these, hybridization was given up"
        " out of API confusion; where the decorator was no redundant inner one, {2} of removals cured a run-time"
        " error.",
        (
            Share(_REMOVED, _APM),
            Share(Where("api-misuse", fix=_any("remove-decorator"), cause=_any("api-confusion")), _REMOVED),
            Share(
                Where("api-misuse", fix=_any("remove-decorator"), not_cause=_NOT_INNER, symptom=_any("runtime-error")),
                Where("api-misuse", fix=_any("remove-decorator"), not_cause=_NOT_INNER),
            ),
        ),
    ),
    Question(
        9,
        "Incompatibility of execution modes, at {0}, was the {rank} problem category.",
        (Share(_INC, _ALL),),
        "incompatibility",
    ),
    Question(
        10,
        "Incompatibilities led to run-time errors or unexpected behavior, which show only when the code runs, in {0}"
        " of cases.",
        (Share(Where("incompatibility", symptom=_any("runtime-error", "unexpected-behavior")), _INC),),
    ),
    Question(
        11,
        "Bugs of the framework itself made up {0} of problems; {1} of these were deadlocks.",
        (Share(_TFB, _ALL), Share(Where("deadlock"), _TFB)),
    ),
)


def percent(part: int, whole: int) -> str:
    """A percentage with two decimals, half up, as tables print it; "undefined" of nothing."""
    if whole == 0:
        return "undefined"
    return f"{(Decimal(part * 100) / whole).quantize(Decimal('0.01'), ROUND_HALF_UP)}%"


def findings(counts: Counts) -> tuple[Finding, ...]:
    """The findings that these counts can answer, in order."""
    found = (_answer(question, counts) for question in QUESTIONS)
    return tuple(finding for finding in found if finding is not None)


def unanswered(counts: Counts) -> tuple[int, ...]:
    """The numbers of the findings that these counts can't answer: a role that the codebook lacks, a gap, or no data."""
    answered = {finding.number for finding in findings(counts)}
    return tuple(question.number for question in QUESTIONS if question.number not in answered)


def _answer(question: Question, counts: Counts) -> Finding | None:
    shares: list[tuple[int, int]] = []
    for share in question.shares:
        part, whole = _named(share.part, counts.book), _named(share.whole, counts.book)
        number, total = (counts.count(where) if where else None for where in (part, whole))
        if number is None or total is None or (total == 0 and not shares):
            return None
        shares.append((total - number if share.complement else number, total))
    words = [
        f"{percent(*share)} ({share[0]}/{share[1]})" if share[1] else "none (there are no such cases)"
        for share in shares
    ]
    text = question.template.format(*words, rank=_rank(question.ranked, counts))
    notes = (*_compared(question.ranked, counts), *_notes(question.number, shares, counts))
    return Finding(question.number, text, tuple(shares), notes)


def _notes(number: int, shares: list[tuple[int, int]], counts: Counts) -> tuple[str, ...]:
    """Where the printed percentages differ from the computed ones, and what is known about that."""
    computed = [percent(*share) for share in shares]
    differing = [
        f"The text prints {said}; the counts give {ours}."
        for said, ours in zip(counts.printed(number), computed, strict=False)
        if said != ours
    ]
    return (*differing, *marks_on(counts, f"finding {number}"))


def _compared(role: str | None, counts: Counts) -> tuple[str, ...]:
    """Whether a category that has a rank has it by more than chance: against the next one below it."""
    code = counts.book.by_role(role) if role else None
    if code is None:
        return ()
    own = counts.count(Where(code.name)) or 0
    others = {top.name: counts.count(Where(top.name)) or 0 for top in counts.book.children(None) if top != code}
    below = {name: count for name, count in others.items() if count <= own}
    if not own or not below:
        return ()
    following = max(below, key=lambda name: below[name])
    try:
        from scipy.stats import binomtest
    except ImportError:
        return (f"Against {following} ({below[following]}): not tested, for scipy is not there (extra study).",)
    p = binomtest(own, own + below[following]).pvalue
    said = "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"
    return (f"Against {following} ({below[following]}): {said} (exact binomial test, two-sided).",)


def _named(where: Where, book: Codebook) -> Where | None:
    """The same question with the codebook's names for roles; null if a role has no name in it."""
    category = book.by_role(where.category) if where.category else None
    if where.category and category is None:
        return None
    sets: list[frozenset[str] | None] = []
    for roles in (where.cause, where.not_cause, where.symptom, where.fix):
        codes = [book.by_role(role) for role in roles or ()]
        if any(code is None for code in codes):
            return None
        sets.append(None if roles is None else frozenset(code.name for code in codes if code is not None))
    cause, not_cause, symptom, fix = sets
    name = category.name if category else None
    return Where(name, where.own, where.source, cause, not_cause, symptom, fix)


def _rank(role: str | None, counts: Counts) -> str:
    """Which place a top-level category has by its number of problems: "largest", "2nd largest"; ties share a place."""
    code = counts.book.by_role(role) if role else None
    if code is None:
        return ""
    own = counts.count(Where(code.name)) or 0
    others = [counts.count(Where(top.name)) or 0 for top in counts.book.children(None)]
    place = 1 + sum(other > own for other in others)
    if place == 1:
        return "largest" if others.count(own) == 1 else "largest (shared with another)"
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(place % 10 if place % 100 not in (11, 12, 13) else 0, "th")
    return f"{place}{suffix} largest"
