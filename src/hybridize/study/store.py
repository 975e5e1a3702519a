"""What both halves of the study room read from and write to the database."""

from __future__ import annotations

import json
import platform
import sqlite3
import subprocess
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hybridize import __version__
from hybridize.study.schema import DatabaseError, connect, transaction
from hybridize.study.uses_data import Outside

__all__ = [
    "ChangedFile",
    "ChangedFunction",
    "DatabaseError",
    "SuggestionRow",
    "commit_item",
    "connect",
    "file_changes",
    "issue_item",
    "now",
    "put_text",
    "record_provenance",
    "replace_suggestions",
    "suggestions",
    "text_of",
    "transaction",
]


@dataclass(frozen=True, slots=True)
class SuggestionRow:
    """One stored suggestion: a pre-fill with its evidence, never a rating."""

    item: str
    kind: str
    is_primary: bool
    evidence: tuple[dict[str, Any], ...]
    rules: tuple[str, ...] = ()
    category: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ChangedFunction:
    """One row of `change`; line spans are (first, last), decorators included, or null."""

    qualname: str
    uses_added: int
    uses_removed: int
    uses_before: tuple[str, ...]
    uses_after: tuple[str, ...]
    lines_before: tuple[int, int] | None
    lines_after: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One row of `file_change` with both texts (null: absent or unread) and its changed functions."""

    status: str
    path_before: str | None
    path_after: str | None
    before: str | None
    after: str | None
    is_test: bool
    method: str
    functions: tuple[ChangedFunction, ...]
    outside_before: Outside = ()
    outside_after: Outside = ()


def now() -> str:
    """The present moment as the database writes it: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit_item(sha: str) -> str:
    """The stable identity of a changeset as something to rate; a fork's copy of a commit is the same item."""
    return f"commit:{sha}"


def issue_item(url: str) -> str:
    """The stable identity of an issue thread as something to rate."""
    return f"issue:{url}"


def put_text(connection: sqlite3.Connection, oid: str, text: str) -> None:
    """Keep a file's content under git's object name; a second time costs nothing."""
    if connection.execute("SELECT 1 FROM source_text WHERE oid = ?", (oid,)).fetchone() is None:
        data = zlib.compress(text.encode("utf-8", "surrogatepass"), 3)  # a tenth larger, in half the time
        connection.execute("INSERT OR IGNORE INTO source_text (oid, text) VALUES (?, ?)", (oid, data))


def text_of(connection: sqlite3.Connection, oid: str | None) -> str | None:
    """The content kept under an object name, or null where there is none."""
    row = connection.execute("SELECT text FROM source_text WHERE oid = ?", (oid,)).fetchone()
    return None if row is None else zlib.decompress(row[0]).decode("utf-8", "surrogatepass")


def file_changes(connection: sqlite3.Connection, changeset_id: int) -> list[ChangedFile]:
    """The files of one changeset that carry the keyword, in path order, with their texts and changed functions."""
    rows = connection.execute(
        "SELECT * FROM file_change WHERE changeset_id = ? ORDER BY coalesce(path_after, path_before)", (changeset_id,)
    ).fetchall()
    return [
        ChangedFile(
            row["status"],
            row["path_before"],
            row["path_after"],
            text_of(connection, row["oid_before"]),
            text_of(connection, row["oid_after"]),
            bool(row["is_test"]),
            row["method"],
            _functions(connection, row["id"]),
            outside_of(row["outside_before_json"]),
            outside_of(row["outside_after_json"]),
        )
        for row in rows
    ]


def outside_of(text: str) -> Outside:
    """Imported makers as the database writes them."""
    return tuple((name, tuple((key, value) for key, value in bound)) for name, bound in json.loads(text))


def _functions(connection: sqlite3.Connection, file_change_id: int) -> tuple[ChangedFunction, ...]:
    rows = connection.execute("SELECT * FROM change WHERE file_change_id = ? ORDER BY id", (file_change_id,))
    return tuple(
        ChangedFunction(
            row["qualname"],
            row["uses_added"],
            row["uses_removed"],
            tuple(json.loads(row["uses_before_json"])),
            tuple(json.loads(row["uses_after_json"])),
            _span(row["line_before"], row["end_line_before"]),
            _span(row["line_after"], row["end_line_after"]),
        )
        for row in rows
    )


def _span(first: int | None, last: int | None) -> tuple[int, int] | None:
    return None if first is None or last is None else (first, last)


def suggestions(connection: sqlite3.Connection, item: str) -> list[SuggestionRow]:
    """The suggestions on an item, the primary one first."""
    rows = connection.execute(
        "SELECT * FROM suggestion WHERE item = ? ORDER BY is_primary DESC, confidence DESC, kind", (item,)
    )
    return [
        SuggestionRow(
            row["item"],
            row["kind"],
            bool(row["is_primary"]),
            tuple(json.loads(row["evidence_json"])),
            tuple(json.loads(row["rules_json"])),
            row["category"],
            row["confidence"],
        )
        for row in rows
    ]


def replace_suggestions(connection: sqlite3.Connection, item: str, rows: Iterable[SuggestionRow]) -> None:
    """Set an item's suggestions; earlier ones go."""
    with transaction(connection):
        connection.execute("DELETE FROM suggestion WHERE item = ?", (item,))
        connection.executemany(
            "INSERT INTO suggestion (item, kind, is_primary, evidence_json, rules_json, category, confidence,"
            " tool_version) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    item,
                    row.kind,
                    int(row.is_primary),
                    json.dumps(row.evidence),
                    json.dumps(row.rules),
                    row.category,
                    row.confidence,
                    __version__,
                )
                for row in rows
            ],
        )


def record_provenance(
    connection: sqlite3.Connection, command: str, options: Mapping[str, object], heads: Mapping[str, str] | None = None
) -> None:
    """Note who wrote what: command, options, versions of tool, Python and git, and the repositories' heads."""
    connection.execute(
        "INSERT INTO provenance (at, command, options_json, tool_version, python_version, git_version, heads_json)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            now(),
            command,
            json.dumps(options, sort_keys=True, default=str),
            __version__,
            platform.python_version(),
            git_version(),
            json.dumps(heads or {}, sort_keys=True),
        ),
    )


def git_version() -> str | None:
    """What `git --version` says, or null where there is no git."""
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def rows_as_dicts(rows: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    """Rows with their column names, for writers of CSV and JSON lines."""
    return [dict(zip(row.keys(), tuple(row), strict=True)) for row in rows]
