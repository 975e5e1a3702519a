"""What a rater fills in, and the rules that make it valid: the same for the web page, for CSV and for reconciling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hybridize.study.codebook import FACETS, Codebook, Facet

MAX_NAME: Final = 120
MAX_COMMENT: Final = 20_000


class FormError(ValueError):
    """The data are no form at all (wrong types, too long): a fault of the client, not of the rater."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the four labels: an existing name or a new one (not both), and a comment."""

    choice: str | None = None
    new: str = ""
    comment: str = ""

    @property
    def given(self) -> bool:
        """Whether there is any label."""
        return self.choice is not None or bool(self.new.strip())


@dataclass(frozen=True, slots=True)
class Form:
    """A rating as a rater sees it, complete or not; `is_fix` is null while undecided."""

    is_fix: bool | None = None
    answers: Mapping[Facet, Answer] = field(default_factory=lambda: {facet: Answer() for facet in FACETS})
    comment: str = ""
    discuss: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        labels: dict[str, object] = {
            facet: {"choice": answer.choice, "new": answer.new, "comment": answer.comment}
            for facet, answer in self.answers.items()
        }
        return {"is_fix": self.is_fix, **labels, "comment": self.comment, "discuss": self.discuss}


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that a form breaks: the field ("is_fix", "category", ...) and a sentence."""

    field: str
    message: str


def parse(data: object) -> Form:
    """A form from JSON data.

    Raises:
        FormError: the data have another shape.
    """
    if not isinstance(data, dict):
        raise FormError("a form must be an object")
    unknown = set(data) - {"is_fix", "comment", "discuss", *FACETS}
    if unknown:
        raise FormError(f"unknown field {sorted(unknown)[0]!r}")
    is_fix = data.get("is_fix")
    if is_fix is not None and not isinstance(is_fix, bool):
        raise FormError("is_fix must be true, false or null")
    discuss = data.get("discuss", False)
    if not isinstance(discuss, bool):
        raise FormError("discuss must be true or false")
    answers = {facet: _answer(facet, data.get(facet, {})) for facet in FACETS}
    return Form(is_fix, answers, _text(data.get("comment", ""), "comment", MAX_COMMENT), discuss)


def _answer(facet: Facet, data: object) -> Answer:
    if not isinstance(data, dict) or set(data) - {"choice", "new", "comment"}:
        raise FormError(f"{facet} must be an object with choice, new and comment")
    choice = data.get("choice")
    if choice is not None:
        choice = _text(choice, f"{facet}.choice", MAX_NAME) or None
    new = _text(data.get("new", ""), f"{facet}.new", MAX_NAME)
    return Answer(choice, new, _text(data.get("comment", ""), f"{facet}.comment", MAX_COMMENT))


def _text(value: object, name: str, limit: int) -> str:
    if not isinstance(value, str):
        raise FormError(f"{name} must be a text")
    if len(value) > limit:
        raise FormError(f"{name} is longer than {limit} characters")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FormError(f"{name} is no valid Unicode") from error
    return value


def problems(form: Form, book: Codebook) -> list[Problem]:
    """The rules that a form breaks before it may be submitted; none: it is valid.

    A label implies a fix, a fix needs a category, and cause, symptom and fix are needed unless the category leaves them
    open. Each label is an existing name or a new one, not both.
    """
    found: list[Problem] = []
    if form.is_fix is None:
        found.append(Problem("is_fix", "Decide whether this is a fix of, or a report on, a hybridization problem."))
    for facet in FACETS:
        answer = form.answers[facet]
        if form.is_fix is False and answer.given:
            found.append(Problem(facet, f"Without a fix there can be no {facet}: clear it, or call this a fix."))
        elif answer.given:
            found += _name_problems(facet, answer, book)
        elif form.is_fix and (facet == "category" or not _open(form, book)):
            found.append(Problem(facet, f"A fix needs a {facet}."))
    return found


def _open(form: Form, book: Codebook) -> bool:
    """Whether the category leaves the details open; so does one that is still missing: one complaint is enough."""
    answer = form.answers["category"]
    if not answer.given:
        return True
    return answer.choice is not None and book.details_optional(answer.choice)


def _name_problems(facet: Facet, answer: Answer, book: Codebook) -> list[Problem]:
    new = answer.new.strip()
    if answer.choice is not None and new:
        return [Problem(facet, "Choose an existing name or type a new one, not both.")]
    if answer.choice is not None:
        code = book.get(facet, answer.choice)
        if code is None:
            return [Problem(facet, f"There is no {facet} {answer.choice!r} in the codebook.")]
        if code.abstract:
            return [Problem(facet, f"{code.name!r} only groups others: choose one of them.")]
        return []
    if not new.isprintable():
        return [Problem(facet, "A name must be one line of printable characters.")]
    similar = book.similar(facet, new)
    if similar is not None:
        return [Problem(facet, f"{similar.name!r} exists already: choose it.")]
    return []


def settled(form: Form) -> Form:
    """The form once its new names are in the codebook: each is a choice now."""
    answers = {
        facet: replace(answer, choice=" ".join(answer.new.split()), new="") if answer.new.strip() else answer
        for facet, answer in form.answers.items()
    }
    return replace(form, answers=answers)
