"""Comparing the raters of an item, once they have submitted, and storing the final answer."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hybridize.study import codebook_store
from hybridize.study.codebook import FACETS
from hybridize.study.label.forms import Answer, Form, Problem, problems
from hybridize.study.label.ratings import (
    Conflict,
    Invalid,
    Refused,
    Stored,
    form_of_row,
    is_locked,
    round_of,
    stored_row,
    submitted,
    with_codes,
)
from hybridize.study.store import now, transaction


def reveal(connection: sqlite3.Connection, item: str, viewer: str, needed: int) -> list[Stored]:
    """All submitted ratings side by side; from then on they are locked.

    Raises:
        Refused: fewer than `needed` raters have submitted, or the viewer is a rater who has not.
    """
    with transaction(connection):
        rows = submitted(connection, item, round_of(connection, item))
        if len(rows) < needed:
            raise Refused(f"Blind until {needed} raters have submitted: {len(rows)} have.")
        role = connection.execute("SELECT role FROM rater WHERE name = ?", (viewer,)).fetchone()
        if role is None or (role[0] == "rater" and all(row["rater"] != viewer for row in rows)):
            raise Refused("Submit your own rating first.")
        for row in rows:
            if not is_locked(connection, row["id"]):
                note = json.dumps({"revealed_to": viewer})
                connection.execute(
                    "INSERT INTO rating_event (rating_id, at, before_json, after_json) VALUES (?, ?, '{}', ?)",
                    (row["id"], now(), note),
                )
        return [stored_row(connection, row) for row in rows]


@dataclass(frozen=True, slots=True)
class Settled:
    """The reconciled rows of an item with the tag to save over them."""

    rows: tuple[dict[str, Any], ...]
    tag: str
    reconciler: str | None


def final(connection: sqlite3.Connection, item: str) -> Settled:
    """The reconciled rows of an item; none yet is a state like any other, with its own tag."""
    rows = connection.execute("SELECT * FROM reconciled WHERE item = ? ORDER BY position", (item,)).fetchall()
    forms = tuple(form_of_row(connection, row).as_json() for row in rows)
    tag = hashlib.sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()[:16]
    return Settled(forms, tag, rows[0]["reconciler"] if rows else None)


def reconcile(
    connection: sqlite3.Connection, item: str, reconciler: str, forms: Sequence[Form], tag: str, needed: int
) -> Settled:
    """Store the final answer on an item: one row, or several where a change fixes several problems.

    Raises:
        Conflict: somebody reconciled it in between.
        Invalid: a row breaks rules; fields are named "1.category" and so on.
        Refused: the ratings may not be seen yet, or there is no row.
    """
    with transaction(connection):
        reveal(connection, item, reconciler, needed)
        if final(connection, item).tag != tag:
            raise Conflict(None)
        if not forms or (len(forms) > 1 and any(not form.is_fix for form in forms)):
            raise Refused("There must be one row, or several that are all fixes.")
        book = codebook_store.read(connection)
        found = [
            Problem(f"{place}.{problem.field}", problem.message)
            for place, form in enumerate(forms, 1)
            for problem in problems(form, book)
        ]
        if found:
            raise Invalid(found)
        _replace_final(connection, item, reconciler, [with_codes(connection, form, reconciler) for form in forms])
        return final(connection, item)


def _replace_final(connection: sqlite3.Connection, item: str, reconciler: str, forms: Sequence[Form]) -> None:
    connection.execute("DELETE FROM reconciled WHERE item = ?", (item,))
    for place, form in enumerate(forms, 1):
        choices = [form.answers[facet].choice for facet in FACETS]
        numbers = [
            codebook_store.code_id(connection, facet, choice) if choice else None
            for facet, choice in zip(FACETS, choices, strict=True)
        ]
        connection.execute(
            "INSERT INTO reconciled (item, position, is_fix, category_id, cause_id, symptom_id, fix_id, comment,"
            " reconciler, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (item, place, int(bool(form.is_fix)), *numbers, form.comment, reconciler, now()),
        )


def accept_agreed(connection: sqlite3.Connection, reconciler: str, needed: int, round_name: str | None = None) -> int:
    """Reconcile every item that enough raters submitted with the same labels; returns how many were.

    Left as they are: items reconciled already, marked for discussion, or which the reconciler may not see yet.
    """
    done = 0
    rows = connection.execute(
        "SELECT r.item FROM rating r JOIN item i ON i.id = r.item AND coalesce(i.round, '') = r.round"
        " WHERE r.state = 'submitted' AND r.item NOT IN (SELECT item FROM reconciled) AND (? IS NULL OR r.round = ?)"
        " GROUP BY r.item HAVING count(*) >= ? AND max(r.discuss) = 0 ORDER BY r.item",
        (round_name, round_name, needed),
    ).fetchall()
    for (item,) in rows:
        try:
            with transaction(connection):
                ratings = submitted(connection, item, round_of(connection, item))
                labels = {(r["is_fix"], *(r[f"{facet}_id"] for facet in FACETS)) for r in ratings}
                if len(labels) == 1:
                    form = _plain(form_of_row(connection, ratings[0]))
                    reconcile(connection, item, reconciler, [form], final(connection, item).tag, needed)
                    done += 1
        except Refused:
            continue
    return done


def _plain(form: Form) -> Form:
    """The labels alone: what a rater remarked is not the reconciler's comment."""
    answers = {facet: Answer(form.answers[facet].choice) for facet in FACETS}
    return Form(form.is_fix, answers)
