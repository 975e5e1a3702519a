"""The codebook in the database: loading a version of it, reading it back, and names that raters type in."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, replace
from typing import Final

from hybridize.study.codebook import BUILT_IN, Code, Codebook, Facet, built_in, checked
from hybridize.study.store import now, record_provenance, transaction

_COMMAND: Final = "codebook"


def save(connection: sqlite3.Connection, book: Codebook) -> None:
    """Make `book` the database's codebook, as a new version if it says anything new.

    Names that `book` no longer has are retired, not deleted: ratings may use them. Names typed in by raters stay.
    """
    with transaction(connection):
        if _stored(connection) == book:
            return
        version = connection.execute("SELECT coalesce(max(version), 0) + 1 FROM codebook").fetchone()[0]
        connection.execute("INSERT INTO codebook VALUES (?, ?, ?)", (version, book.source, now()))
        connection.execute("UPDATE code SET retired = 1 WHERE added_by IS NULL")
        for position, code in enumerate(book.codes):
            parent = code_id(connection, "category", code.parent) if code.parent else None
            connection.execute(
                "INSERT INTO code (facet, name, abbreviation, definition, parent_id, is_abstract, position,"
                " codebook_version, retired) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (facet, name) DO UPDATE SET"
                " abbreviation = excluded.abbreviation, definition = excluded.definition, added_by = NULL,"
                " parent_id = excluded.parent_id, is_abstract = excluded.is_abstract, position = excluded.position,"
                " codebook_version = excluded.codebook_version, retired = excluded.retired",
                (
                    *(code.facet, code.name, code.abbreviation, code.definition, parent),
                    *(int(code.abstract), position, version, int(code.retired)),
                ),
            )
        # Roles and flags have no column of their own; the log of who loaded what keeps the whole book.
        record_provenance(connection, _COMMAND, asdict(book))


def _stored(connection: sqlite3.Connection) -> Codebook | None:
    row = connection.execute(
        "SELECT options_json FROM provenance WHERE command = ? ORDER BY id DESC LIMIT 1", (_COMMAND,)
    ).fetchone()
    if row is None:
        return None
    data = json.loads(row[0])
    return Codebook(data["title"], data["keyword"], tuple(Code(**code) for code in data["codes"]), data["source"])


def read(connection: sqlite3.Connection) -> Codebook:
    """The database's codebook with the names that raters added; the built-in one where none was loaded yet."""
    base = _stored(connection) or built_in()
    rows = connection.execute(
        "SELECT c.*, p.name AS parent FROM code c LEFT JOIN code p ON p.id = c.parent_id ORDER BY c.position, c.id"
    ).fetchall()
    known = {(code.facet, code.name) for code in base.codes}
    added = [
        Code(
            row["facet"],
            row["name"],
            row["definition"],
            row["abbreviation"],
            row["parent"],
            bool(row["is_abstract"]),
            origin="ours",
            retired=bool(row["retired"]),
            added_by=row["added_by"],
        )
        for row in rows
        if (row["facet"], row["name"]) not in known
    ]
    source = base.source if rows else BUILT_IN
    return checked(replace(base, codes=(*base.codes, *added), source=source))


def code_id(connection: sqlite3.Connection, facet: Facet, name: str) -> int | None:
    """The database's number for a name, or null."""
    row = connection.execute("SELECT id FROM code WHERE facet = ? AND name = ?", (facet, name)).fetchone()
    return None if row is None else int(row[0])


def add_code(connection: sqlite3.Connection, facet: Facet, name: str, rater: str) -> int:
    """The number of the name that `rater` typed in, new or, if another was quicker, the one there is."""
    with transaction(connection):
        present = code_id(connection, facet, name)
        if present is not None:
            return present
        version = connection.execute("SELECT max(version) FROM codebook").fetchone()[0]
        cursor = connection.execute(
            "INSERT INTO code (facet, name, position, added_by, codebook_version) VALUES (?, ?, 10000, ?, ?)",
            (facet, name, rater, version),
        )
        return int(cursor.lastrowid or 0)
