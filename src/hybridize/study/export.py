"""Tables of the study's database as CSV, JSON lines or Parquet, and as data frames of pandas."""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    import pandas

Format = Literal["csv", "jsonl", "parquet"]
FORMATS: Final[tuple[Format, ...]] = ("csv", "jsonl", "parquet")

QUERIES: Final[dict[str, str]] = {
    "commits": (
        "SELECT r.name AS project, c.sha, c.author, c.authored_at, c.subject, c.body, c.is_bug_fix, c.touches_use,"
        " c.uses_added, c.uses_removed, c.state, i.round, i.dataset, i.selected,"
        " (SELECT s.kind FROM suggestion s WHERE s.item = i.id AND s.is_primary) AS suggested"
        " FROM changeset c JOIN repository r ON r.id = c.repository_id LEFT JOIN item i ON i.id = 'commit:' || c.sha"
        " ORDER BY r.name, c.authored_at, c.sha"
    ),
    "changes": (
        "SELECT r.name AS project, c.sha, f.status, f.path_before, f.path_after, f.is_test, f.method, h.qualname,"
        " h.uses_added, h.uses_removed, h.uses_before_json, h.uses_after_json, h.line_before, h.end_line_before,"
        " h.line_after, h.end_line_after FROM change h JOIN file_change f ON f.id = h.file_change_id"
        " JOIN changeset c ON c.id = f.changeset_id JOIN repository r ON r.id = c.repository_id"
        " ORDER BY r.name, c.authored_at, c.sha, f.path_after, f.path_before, h.qualname"
    ),
    "suggestions": (
        "SELECT item, kind, is_primary, evidence_json, rules_json, category, confidence FROM suggestion"
        " ORDER BY item, is_primary DESC, kind"
    ),
    "issues": (
        "SELECT s.project, s.number, s.url, s.title, s.body, s.author, s.state, s.is_pull_request, s.created_at,"
        " s.closed_at, s.has_code, s.sampled, i.selected, i.round, i.dataset,"
        " (SELECT count(*) FROM issue_comment c WHERE c.issue_id = s.id) AS comments,"
        " (SELECT count(*) FROM issue_comment c WHERE c.issue_id = s.id AND c.is_social) AS social_comments"
        " FROM issue s LEFT JOIN item i ON i.issue_id = s.id ORDER BY s.project, s.number, s.url"
    ),
    "repositories": "SELECT name, url, head, commits, candidates, state, error, mined_at FROM repository ORDER BY name",
    "ratings": "SELECT * FROM rating_named ORDER BY item, rater, round",
    "reconciled": "SELECT * FROM reconciled_named ORDER BY item, position",
    "provenance": "SELECT * FROM provenance ORDER BY id",
}
"""What can be exported, by name."""

NUMBERS: Final = frozenset(
    (
        *("id", "position", "number", "sampled", "commits", "candidates", "comments", "social_comments"),
        *("uses_added", "uses_removed", "line_before", "end_line_before", "line_after", "end_line_after"),
        *("is_bug_fix", "touches_use", "is_test", "is_primary", "is_pull_request", "has_code", "selected"),
        *("is_fix", "discuss"),
    )
)
"""Columns that hold integers (0 and 1 for no and yes)."""
FRACTIONS: Final = frozenset({"confidence"})
"""Columns that hold other numbers; what is in neither holds text."""


class ExportError(Exception):
    """Nothing was written; the message is one line for the user."""


def export(connection: sqlite3.Connection, table: str, target: Path | None, form: Format) -> int:
    """Write a table to a file (null: standard output, not for Parquet); says how many rows.

    Raises:
        ExportError: the file can't be written, or Parquet is asked for without its library.
    """
    if form == "parquet":
        return _parquet(connection, table, target)
    cursor = connection.execute(QUERIES[table])
    names = [column[0] for column in cursor.description]
    if target is None:
        return _text(cursor, names, sys.stdout, form)
    try:
        with target.open("w", encoding="utf-8", newline="") as stream:
            return _text(cursor, names, stream, form)
    except OSError as error:
        raise ExportError(f"cannot write {target}: {error.strerror or error}") from error


def _text(rows: Iterator[Any], names: list[str], stream: Any, form: Format) -> int:
    count = 0
    writer = csv.writer(stream, lineterminator="\n") if form == "csv" else None
    if writer:
        writer.writerow(names)
    for row in rows:
        count += 1
        if writer:
            writer.writerow([_cell(value) for value in row])
        else:
            record = {
                name.removesuffix("_json"): json.loads(value) if name.endswith("_json") and value else value
                for name, value in zip(names, row, strict=True)
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return count


def _cell(value: Any) -> Any:
    """A spreadsheet must not take text from a stranger's repository for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def frame(connection: sqlite3.Connection, table: str) -> pandas.DataFrame:
    """A table as a data frame. The types are those of the columns, not of the rows that happen to be there: frames and
    files of two studies can be put together.

    Raises:
        ImportError: pandas or pyarrow is not installed.
    """
    import pandas
    import pyarrow

    cursor = connection.execute(QUERIES[table])
    names = [column[0] for column in cursor.description]
    found = pandas.DataFrame([tuple(row) for row in cursor], columns=names, dtype=object)
    kinds = {
        name: pyarrow.int64() if name in NUMBERS else pyarrow.float64() if name in FRACTIONS else pyarrow.string()
        for name in names
    }
    for name, kind in kinds.items():
        if kind == pyarrow.string():
            found[name] = found[name].map(_unicode)
    return found.astype({name: pandas.ArrowDtype(kind) for name, kind in kinds.items()})


def _parquet(connection: sqlite3.Connection, table: str, target: Path | None) -> int:
    if target is None:
        raise ExportError("Parquet needs a file: give --out")
    try:
        found = frame(connection, table)
        found.to_parquet(target, index=False)
    except ImportError as error:
        raise ExportError("Parquet needs pandas and pyarrow: pip install 'hybridize[study]'") from error
    except OSError as error:
        raise ExportError(f"cannot write {target}: {error}") from error
    return len(found)


def _unicode(value: Any) -> str | None:
    """Text as Parquet takes it: what a stranger's file has of half characters is replaced."""
    return None if value is None else str(value).encode("utf-8", "replace").decode("utf-8")
