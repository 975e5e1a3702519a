"""Rating in a spreadsheet: one CSV out, the same CSV with answers back in, and mistakes named by row and column.

A cell that a spreadsheet would take for a formula gets an apostrophe on the way out and loses it on the way in: titles
and comments come from strangers.
"""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hybridize.study import codebook_store
from hybridize.study.codebook import FACETS
from hybridize.study.label import ratings
from hybridize.study.label.forms import Form, FormError, parse, problems
from hybridize.study.label.items import item_json
from hybridize.study.store import transaction

_READ_ONLY: Final = ("item", "kind", "project", "title", "url", "rater", "revision")
_ANSWERS: Final = (
    "is_fix",
    *(column for facet in FACETS for column in (facet, f"{facet}_new", f"{facet}_comment")),
    "comment",
    "discuss",
    "state",
)
COLUMNS: Final = (*_READ_ONLY, *_ANSWERS)
_YES_NO: Final = {"yes": True, "y": True, "1": True, "true": True, "no": False, "n": False, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with one cell; rows count from 1, the header's."""

    row: int
    column: str
    message: str

    def __str__(self) -> str:
        return f"row {self.row}, column {self.column}: {self.message}"


class SheetError(ValueError):
    """The sheet was not imported, not even in part."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("\n".join(str(mistake) for mistake in mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class Imported:
    """How many ratings an import submitted, kept as drafts, and found as they were (or empty)."""

    submitted: int
    drafts: int
    unchanged: int


def export(connection: sqlite3.Connection, rater: str, round_name: str | None = None) -> str:
    """The queue of a rater (of one round, or all) with what that rater has answered; nobody else's answers."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    rows = connection.execute(
        "SELECT id FROM item WHERE selected = 1 AND (? IS NULL OR coalesce(round, '') = ?)"
        " ORDER BY coalesce(round, ''), queue_position IS NULL, queue_position, id",
        (round_name, round_name),
    ).fetchall()
    for (item,) in rows:
        shown = item_json(connection, item) or {}
        stored = ratings.load(connection, item, rater)
        row: dict[str, Any] = {name: shown.get(name) for name in ("kind", "project", "title", "url")}
        row |= {"item": item, "rater": rater, "revision": stored.revision if stored else 0}
        row |= _answers(stored.form, stored.state) if stored else {}
        writer.writerow({name: _defused(value) for name, value in row.items()})
    return text.getvalue()


def _answers(form: Form, state: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "is_fix": {True: "yes", False: "no", None: ""}[form.is_fix],
        "comment": form.comment,
        "discuss": "yes" if form.discuss else "",
        "state": state,
    }
    for facet, answer in form.answers.items():
        row |= {facet: answer.choice, f"{facet}_new": answer.new, f"{facet}_comment": answer.comment}
    return row


def _defused(value: object) -> object:
    if isinstance(value, str) and value.lstrip("'")[:1] in tuple("=+-@\t\r") and value.lstrip("'"):
        return "'" + value
    return value


def _armed(text: str) -> str:
    return text[1:] if text.startswith("'") and text.lstrip("'")[:1] in tuple("=+-@\t\r") and text.lstrip("'") else text


def read(connection: sqlite3.Connection, content: str, rater: str) -> Imported:
    """Import a filled sheet, wholly or not at all.

    A row without any answer is skipped. A filled row is submitted, unless its `state` says "draft".

    Raises:
        SheetError: anything is wrong; every mistake is named.
    """
    rows = list(_records(content))
    mistakes: list[Mistake] = []
    counts = {"submitted": 0, "draft": 0, "unchanged": 0}
    seen: dict[str, int] = {}
    try:
        with transaction(connection):
            for number, row in rows:
                mistakes += _row_mistakes(row, number, rater, seen)
                if not any(mistake.row == number for mistake in mistakes):
                    mistakes += _import(connection, row, number, rater, counts)
            if mistakes:
                raise SheetError(mistakes)
    except SheetError as error:
        raise SheetError(sorted(error.mistakes, key=lambda m: (m.row, _place(m.column)))) from None
    return Imported(counts["submitted"], counts["draft"], counts["unchanged"])


def _place(column: str) -> int:
    return COLUMNS.index(column) if column in COLUMNS else -1


def _records(content: str) -> Iterable[tuple[int, dict[str, str]]]:
    content = content.removeprefix("\ufeff")
    header = content.split("\n", 1)[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)
    try:
        names = [name.strip() for name in next(reader, [])]
        missing = [name for name in ("item", *_ANSWERS) if name not in names]
        if missing:
            raise SheetError([Mistake(1, name, "this column is missing") for name in missing])
        for number, cells in enumerate(reader, 2):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(names):
                raise SheetError([Mistake(number, names[-1], f"{len(cells)} cells under {len(names)} columns")])
            cells += [""] * (len(names) - len(cells))
            yield number, {name: _armed(cell) for name, cell in zip(names, cells, strict=True)}
    except csv.Error as error:
        raise SheetError([Mistake(reader.line_num, "item", f"no valid CSV: {error}")]) from error


def _row_mistakes(row: Mapping[str, str], number: int, rater: str, seen: dict[str, int]) -> list[Mistake]:
    """What can be said without the database."""
    found = []
    item = row["item"].strip()
    if item in seen:
        found.append(Mistake(number, "item", f"stands in row {seen[item]} already"))
    seen[item] = number
    if row.get("rater", "").strip() not in ("", rater):
        found.append(Mistake(number, "rater", f"this is a row of {row['rater'].strip()!r}, not of {rater!r}"))
    for column in ("is_fix", "discuss"):
        if row[column].strip().lower() not in ("", *_YES_NO):
            found.append(Mistake(number, column, f"must be yes, no or empty, not {row[column]!r}"))
    if row["state"].strip().lower() not in ("", "draft", "submitted"):
        found.append(Mistake(number, "state", f"must be draft, submitted or empty, not {row['state']!r}"))
    revision = row.get("revision", "").strip()
    if revision and not revision.isdecimal():
        found.append(Mistake(number, "revision", "must be left as it was exported"))
    return found


def _form(row: Mapping[str, str]) -> Form:
    data: dict[str, Any] = {
        "is_fix": _YES_NO.get(row["is_fix"].strip().lower()),
        "comment": row["comment"],
        "discuss": _YES_NO.get(row["discuss"].strip().lower(), False),
    }
    for facet in FACETS:
        data[facet] = {
            "choice": row[facet].strip() or None,
            "new": row[f"{facet}_new"].strip(),
            "comment": row[f"{facet}_comment"],
        }
    return parse(data)


def _import(
    connection: sqlite3.Connection, row: Mapping[str, str], number: int, rater: str, counts: dict[str, int]
) -> list[Mistake]:
    item, draft = row["item"].strip(), row["state"].strip().lower() == "draft"
    try:
        form = _form(row)
        stored = ratings.load(connection, item, rater)
        unchanged = stored is not None and stored.form == form and (stored.state == "draft") == draft
        if unchanged or (stored is None and form == Form()):
            counts["unchanged"] += 1
            return []
        revision = stored.revision if stored else 0
        given = row.get("revision", "").strip()
        if given and int(given) != revision:
            return [Mistake(number, "revision", "this rating was changed since the export: export again")]
        found = [] if draft else problems(form, codebook_store.read(connection))
        if found:
            return [Mistake(number, problem.field, problem.message) for problem in found]
        if stored is not None and stored.state == "submitted":
            revision = ratings.withdraw(connection, item, rater, revision).revision
        ratings.save(connection, item, rater, form, revision, submit=not draft)
        counts["draft" if draft else "submitted"] += 1
    except FormError as error:
        named = str(error).split(" ", 1)[0].replace(".choice", "").replace(".", "_")
        return [Mistake(number, named if named in COLUMNS else "item", str(error))]
    except ratings.Refused as error:
        return [Mistake(number, "item", str(error))]
    return []
