"""Ratings in the database: drafts that survive everything, submission, and the way back.

Every save is one transaction that also appends to `rating_event`, so the newest event always holds the whole form,
names that are typed but do not exist yet included. A rating carries a revision; whoever saves over another's revision
gets a conflict.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hybridize.study import codebook_store
from hybridize.study.codebook import FACETS
from hybridize.study.label.forms import Form, Problem, parse, problems, settled
from hybridize.study.store import now, transaction

UNDO_DEPTH: Final = 60
REVEALED: Final = '{"revealed_to"'


class Conflict(Exception):
    """Somebody, perhaps the same rater in another tab, saved in between; `current` is what is stored now."""

    def __init__(self, current: Stored | None) -> None:
        super().__init__("saved in between from elsewhere")
        self.current = current


class Refused(Exception):
    """A rule of the study forbids it; the message is a sentence for the rater."""


class Invalid(Exception):
    """The form breaks rules; nothing was stored."""

    def __init__(self, found: Sequence[Problem]) -> None:
        super().__init__(found[0].message if found else "invalid")
        self.problems = tuple(found)


@dataclass(frozen=True, slots=True)
class Stored:
    """A rating as stored: its form, "draft" or "submitted", and the revision to save over."""

    rater: str
    form: Form
    state: str
    revision: int
    locked: bool
    updated_at: str


def add_rater(connection: sqlite3.Connection, name: str, role: str = "rater") -> None:
    """Make sure that there is a rater of this name; initials are made from it.

    Raises:
        Refused: the name is no single line of 1 to 60 printable characters, or the role does not exist.
    """
    name = " ".join(name.split())
    if not name or len(name) > 60 or not name.isprintable():
        raise Refused("A name is one line of 1 to 60 printable characters.")
    if role not in ("rater", "reconciler", "admin"):
        raise Refused("A role is rater, reconciler or admin.")
    with transaction(connection):
        if connection.execute("SELECT 1 FROM rater WHERE name = ?", (name,)).fetchone():
            return
        base = "".join(word[0] for word in name.split()).upper()
        initials, number = base, 1
        while connection.execute("SELECT 1 FROM rater WHERE initials = ?", (initials,)).fetchone():
            number += 1
            initials = f"{base}{number}"
        connection.execute("INSERT INTO rater VALUES (?, ?, ?, ?)", (name, initials, role, now()))


def round_of(connection: sqlite3.Connection, item: str) -> str:
    """The round that an item is rated in.

    Raises:
        Refused: there is no such item.
    """
    row = connection.execute("SELECT round FROM item WHERE id = ?", (item,)).fetchone()
    if row is None:
        raise Refused(f"There is no item {item!r}.")
    return str(row[0] or "")


def load(connection: sqlite3.Connection, item: str, rater: str) -> Stored | None:
    """A rater's rating of an item in its round, or null."""
    row = connection.execute(
        "SELECT * FROM rating WHERE item = ? AND rater = ? AND round = ?", (item, rater, round_of(connection, item))
    ).fetchone()
    return None if row is None else stored_row(connection, row)


def stored_row(connection: sqlite3.Connection, row: sqlite3.Row) -> Stored:
    """A row of `rating` with its form."""
    # The newest event has the typed names as well; a row that another program wrote has no event.
    event = connection.execute(
        "SELECT after_json FROM rating_event WHERE rating_id = ? AND after_json NOT LIKE ? ORDER BY id DESC LIMIT 1",
        (row["id"], REVEALED + "%"),
    ).fetchone()
    form = parse(json.loads(event[0])["form"]) if event else form_of_row(connection, row)
    return Stored(
        row["rater"], form, row["state"], row["revision"], is_locked(connection, row["id"]), row["updated_at"]
    )


def form_of_row(connection: sqlite3.Connection, row: sqlite3.Row) -> Form:
    """The form that the columns of `rating` or `reconciled` hold."""
    data: dict[str, Any] = {
        "is_fix": None if row["is_fix"] is None else bool(row["is_fix"]),
        "comment": row["comment"],
        "discuss": bool(row["discuss"]) if "discuss" in row.keys() else False,  # noqa: SIM118 (a row is no mapping)
    }
    columns = row.keys()
    for facet in FACETS:
        code = connection.execute("SELECT name FROM code WHERE id = ?", (row[f"{facet}_id"],)).fetchone()
        comment = row[f"{facet}_comment"] if f"{facet}_comment" in columns else ""
        data[facet] = {"choice": code[0] if code else None, "comment": comment}
    return parse(data)


def is_locked(connection: sqlite3.Connection, rating_id: int) -> bool:
    """Whether somebody has seen this rating beside the others."""
    return (
        connection.execute(
            "SELECT 1 FROM rating_event WHERE rating_id = ? AND after_json LIKE ?", (rating_id, REVEALED + "%")
        ).fetchone()
        is not None
    )


def history(connection: sqlite3.Connection, item: str, rater: str) -> list[dict[str, Any]]:
    """The forms that a rater's rating of an item went through, oldest first, for undo."""
    rows = connection.execute(
        "SELECT e.after_json FROM rating_event e JOIN rating r ON r.id = e.rating_id WHERE r.item = ? AND r.rater = ?"
        " AND r.round = ? AND e.after_json NOT LIKE ? ORDER BY e.id DESC LIMIT ?",
        (item, rater, round_of(connection, item), REVEALED + "%", UNDO_DEPTH),
    ).fetchall()
    forms = [json.loads(row[0])["form"] for row in reversed(rows)]
    return [form for place, form in enumerate(forms) if place == 0 or form != forms[place - 1]]


def save(
    connection: sqlite3.Connection, item: str, rater: str, form: Form, revision: int, *, submit: bool = False
) -> Stored:
    """Store a draft, or submit it.

    Args:
        connection: the study database.
        item: what is rated.
        rater: who rates; must exist.
        form: the whole form.
        revision: the revision that the rater saw last; 0 if there was no rating.
        submit: count it from now on; a draft is never counted.

    Raises:
        Conflict: another revision is stored.
        Invalid: it is to be submitted and breaks rules.
        Refused: it was submitted already, or the other raters' answers have been seen.
    """
    with transaction(connection):
        round_name = round_of(connection, item)
        present = load(connection, item, rater)
        if (present.revision if present else 0) != revision:
            raise Conflict(present)
        if present is not None and present.locked:
            raise Refused("The ratings of this item have been compared: only the reconciled answer can change now.")
        if present is not None and present.state == "submitted":
            raise Refused("This rating is submitted: withdraw it first.")
        if _seen_by_reconciler(connection, item, rater, round_name):
            raise Refused("A reconciler can't rate what others have rated already: it would not be blind.")
        if present is not None and present.form == form and not submit:
            return present
        if submit:
            found = problems(form, codebook_store.read(connection))
            if found:
                raise Invalid(found)
            form = with_codes(connection, form, rater)
        _write(connection, item, rater, round_name, form, "submitted" if submit else "draft", present)
        stored = load(connection, item, rater)
    assert stored is not None
    return stored


def with_codes(connection: sqlite3.Connection, form: Form, rater: str) -> Form:
    """Add the names that were typed in to the codebook; in the form that comes back they are choices."""
    done = settled(form)
    for facet in FACETS:
        choice = done.answers[facet].choice
        if form.answers[facet].new.strip() and choice is not None:
            codebook_store.add_code(connection, facet, choice, rater)
    return done


def _seen_by_reconciler(connection: sqlite3.Connection, item: str, rater: str, round_name: str) -> bool:
    role = connection.execute("SELECT role FROM rater WHERE name = ?", (rater,)).fetchone()
    if role is None:
        raise Refused(f"There is no rater {rater!r}.")
    return role[0] != "rater" and len(submitted(connection, item, round_name, but=rater)) >= 2


def _write(
    connection: sqlite3.Connection, item: str, rater: str, round_name: str, form: Form, state: str,
    present: Stored | None,
) -> None:  # fmt: skip
    moment = now()
    columns: dict[str, Any] = {
        "is_fix": None if form.is_fix is None else int(form.is_fix),
        "comment": form.comment,
        "discuss": int(form.discuss),
        "state": state,
        "updated_at": moment,
        "revision": present.revision + 1 if present else 1,
    }
    for facet in FACETS:
        answer = form.answers[facet]
        columns[f"{facet}_id"] = codebook_store.code_id(connection, facet, answer.choice) if answer.choice else None
        columns[f"{facet}_comment"] = answer.comment
    if present is None:
        columns |= {"item": item, "rater": rater, "round": round_name, "created_at": moment}
        marks = ", ".join("?" * len(columns))
        connection.execute(f"INSERT INTO rating ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))
    else:
        sets = ", ".join(f"{name} = ?" for name in columns)
        connection.execute(
            f"UPDATE rating SET {sets} WHERE item = ? AND rater = ? AND round = ?",
            (*columns.values(), item, rater, round_name),
        )
    before = {"form": present.form.as_json(), "state": present.state} if present else {}
    connection.execute(
        "INSERT INTO rating_event (rating_id, at, before_json, after_json)"
        " SELECT id, ?, ?, ? FROM rating WHERE item = ? AND rater = ? AND round = ?",
        (moment, json.dumps(before), json.dumps({"form": form.as_json(), "state": state}), item, rater, round_name),
    )


def withdraw(connection: sqlite3.Connection, item: str, rater: str, revision: int) -> Stored:
    """Turn a submitted rating into a draft again, as long as nobody has compared it with the others.

    Raises:
        Conflict: another revision is stored.
        Refused: it is not submitted, or has been compared.
    """
    with transaction(connection):
        present = load(connection, item, rater)
        if present is None or present.revision != revision:
            raise Conflict(present)
        if present.locked:
            raise Refused("The ratings of this item have been compared: only the reconciled answer can change now.")
        if present.state != "submitted":
            raise Refused("This rating is not submitted.")
        _write(connection, item, rater, round_of(connection, item), present.form, "draft", present)
        stored = load(connection, item, rater)
    assert stored is not None
    return stored


def submitted(connection: sqlite3.Connection, item: str, round_name: str, but: str = "") -> list[sqlite3.Row]:
    """The submitted ratings of an item in a round, those of `but` left out."""
    return connection.execute(
        "SELECT * FROM rating WHERE item = ? AND round = ? AND state = 'submitted' AND rater <> ? ORDER BY rater",
        (item, round_name, but),
    ).fetchall()
