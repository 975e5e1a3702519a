"""A mined changeset: what is kept of it, how its functions are compared, and how it is written to the database."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from hybridize.study.history import RawCommit, RawFile
from hybridize.study.store import commit_item, put_text
from hybridize.study.uses_data import MODULE, FileUses, Outside, Use


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """Uses that one function (by its name in the file, as the paper's miner counts) gained and lost."""

    qualname: str
    added: int
    removed: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    lines_before: tuple[int, int] | None
    lines_after: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class MinedFile:
    """A file of a changeset that is kept."""

    raw: RawFile
    before: str | None
    after: str | None
    method: str
    changes: tuple[FunctionChange, ...]
    outside: tuple[Outside, Outside] = ((), ())


@dataclass(frozen=True, slots=True)
class Mined:
    """A changeset to keep. `unread` says that some of its files could not be read, `of_interest` that one of them uses
    the API otherwise than before or has other lines that name it."""

    commit: RawCommit
    files: tuple[MinedFile, ...]
    unread: bool
    is_bug_fix: bool
    of_interest: bool = True


def keep_changeset(
    connection: sqlite3.Connection, repository_id: int, project: str, mined: Mined, selected: bool, dataset: str
) -> None:
    """Write one changeset, its files and functions, and its item; one that is there already stays as it is."""
    commit, files, fix = mined.commit, mined.files, mined.is_bug_fix
    added = sum(change.added for file in files for change in file.changes)
    removed = sum(change.removed for file in files for change in file.changes)
    state = "partial" if mined.unread else "done"
    authored = _iso(commit.authored)
    changeset = connection.execute(
        "INSERT INTO changeset (repository_id, sha, author, authored_at, committed_at, subject, body, is_bug_fix,"
        " touches_use, uses_added, uses_removed, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING RETURNING id",
        (
            *(repository_id, commit.sha, commit.author, authored, _iso(commit.committed), commit.subject, commit.body),
            *(int(fix), int(bool(added or removed)), added, removed, state),
        ),
    ).fetchone()
    if changeset is None:
        return
    for file in files:
        _keep_file(connection, int(changeset["id"]), file)
    connection.execute(
        "INSERT INTO item (id, kind, changeset_id, project, title, happened_at, selected, dataset)"
        " VALUES (?, 'commit', ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            *(commit_item(commit.sha), changeset["id"], project, commit.subject, authored),
            *(int(selected), dataset),
        ),
    )


def _keep_file(connection: sqlite3.Connection, changeset_id: int, file: MinedFile) -> None:
    raw = file.raw
    for oid, text in ((raw.oid_before, file.before), (raw.oid_after, file.after)):
        if oid and text is not None:
            put_text(connection, oid, text)
    row = connection.execute(
        "INSERT INTO file_change (changeset_id, status, path_before, path_after, oid_before, oid_after, is_test,"
        " method, outside_before_json, outside_after_json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            *(changeset_id, raw.status, raw.path_before, raw.path_after, raw.oid_before, raw.oid_after),
            *(int("test" in raw.path.lower()), file.method, *(json.dumps(side) for side in file.outside)),
        ),
    ).fetchone()
    connection.executemany(
        "INSERT INTO change (file_change_id, qualname, qualname_before, qualname_after, uses_added, uses_removed,"
        " uses_before_json, uses_after_json, line_before, end_line_before, line_after, end_line_after)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(row["id"], change.qualname),
                *(change.qualname if change.lines_before else None, change.qualname if change.lines_after else None),
                *(change.added, change.removed, json.dumps(change.before), json.dumps(change.after)),
                *(change.lines_before or (None, None)),
                *(change.lines_after or (None, None)),
            )
            for change in file.changes
        ],
    )


def function_changes(before: FileUses, after: FileUses) -> tuple[FunctionChange, ...]:
    """Per function of one file, by name: uses gained and lost. A decorator belongs to the function that it
    decorates."""
    olds, news = _by_place(before), _by_place(after)
    result = []
    for name in sorted({*olds, *news}):
        old = Counter(_identity(use) for use in olds.get(name, ()))
        new = Counter(_identity(use) for use in news.get(name, ()))
        if old != new:
            result.append(
                FunctionChange(
                    name,
                    (new - old).total(),
                    (old - new).total(),
                    tuple(use.text for use in olds.get(name, ())),
                    tuple(use.text for use in news.get(name, ())),
                    _lines(before, name),
                    _lines(after, name),
                )
            )
    return tuple(result)


def _by_place(file: FileUses) -> dict[str, list[Use]]:
    places: dict[str, list[Use]] = {}
    for use in file.uses:
        places.setdefault(use.owner if use.role == "decorator" else use.scope, []).append(use)
    return places


def _identity(use: Use) -> tuple[object, ...]:
    # A use that is put under a condition, or freed of one, is another use.
    return (use.role, use.owner, use.arguments, bool(use.condition))


def _lines(file: FileUses, name: str) -> tuple[int, int] | None:
    if name == MODULE:
        return (1, max(len(file.lines), 1)) if file.lines else None
    function = file.functions.get(name)
    return (function.line, function.end_line) if function else None


def _iso(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return "1970-01-01T00:00:00Z"
