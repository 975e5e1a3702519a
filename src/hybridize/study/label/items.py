"""What the page shows: the queue of a rater, and an item with its diff or its thread."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import quote

from hybridize.study import codebook_store, store
from hybridize.study.codebook import Codebook
from hybridize.study.label import diff

_SAFE_URL: Final = re.compile(r"https?://[^\s\"'<>]+\Z")


def book_json(connection: sqlite3.Connection) -> dict[str, Any]:
    """The codebook for the page's menus."""
    book = codebook_store.read(connection)
    codes = [asdict(code) | {"depth": _depth(book, code.parent)} for code in book.codes if not code.retired]
    return {"title": book.title, "keyword": book.keyword, "codes": codes}


def _depth(book: Codebook, parent: str | None) -> int:
    depth = 0
    while parent is not None:
        above = book.get("category", parent)
        depth, parent = depth + 1, above.parent if above else None
    return depth


def rounds(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """The rounds with the number of their items; items without a round form the round ""."""
    rows = connection.execute(
        "SELECT coalesce(round, '') AS name, count(*) AS items FROM item WHERE selected = 1 GROUP BY 1 ORDER BY 1"
    )
    return store.rows_as_dicts(rows.fetchall())


def queue(connection: sqlite3.Connection, rater: str, round_name: str, needed: int) -> list[dict[str, Any]]:
    """The items of a round, in order, with what this rater may know of each.

    Of the others' ratings no more is told than how many are submitted.
    """
    rows = connection.execute(
        "SELECT i.id, i.kind, i.project, i.title, i.happened_at, own.state AS own, own.discuss AS discuss,"
        " own.is_fix AS is_fix, (SELECT count(*) FROM rating r WHERE r.item = i.id AND r.round = ?"
        " AND r.state = 'submitted') AS submitted,"
        " EXISTS (SELECT 1 FROM reconciled f WHERE f.item = i.id) AS reconciled"
        " FROM item i LEFT JOIN rating own ON own.item = i.id AND own.rater = ? AND own.round = ?"
        " WHERE i.selected = 1 AND coalesce(i.round, '') = ?"
        " ORDER BY i.queue_position IS NULL, i.queue_position, i.id",
        (round_name, rater, round_name, round_name),
    ).fetchall()
    role = connection.execute("SELECT role FROM rater WHERE name = ?", (rater,)).fetchone()
    may_compare = role is not None and role[0] != "rater"
    found = []
    for row in store.rows_as_dicts(rows):
        row["ready"] = row["submitted"] >= needed and (may_compare or row["own"] == "submitted")
        found.append(row)
    return found


def item_json(connection: sqlite3.Connection, item: str, *, everything: bool = False) -> dict[str, Any] | None:
    """An item with everything that a rater reads; null if there is no such item."""
    row = connection.execute("SELECT * FROM item WHERE id = ?", (item,)).fetchone()
    if row is None:
        return None
    found = {
        "id": row["id"],
        "kind": row["kind"],
        "project": row["project"],
        "title": row["title"],
        "at": row["happened_at"],
        "suggestions": [asdict(one) for one in store.suggestions(connection, item)],
    }
    if row["kind"] == "commit":
        return found | _changeset(connection, row["changeset_id"], everything)
    return found | _thread(connection, row["issue_id"])


def _changeset(connection: sqlite3.Connection, number: int, everything: bool) -> dict[str, Any]:
    row = connection.execute(
        "SELECT c.*, r.name, r.url FROM changeset c JOIN repository r ON r.id = c.repository_id WHERE c.id = ?",
        (number,),
    ).fetchone()
    keyword = codebook_store.read(connection).keyword
    files = [diff.side_by_side(file, keyword, everything=everything) for file in store.file_changes(connection, number)]
    url = row["url"].removesuffix(".git").rstrip("/") if row["url"] else None
    return {
        "sha": row["sha"],
        "author": row["author"],
        "message": row["subject"] + ("\n\n" + row["body"] if row["body"] else ""),
        "url": _safe(f"{url}/commit/{quote(row['sha'])}" if url else None),
        "partial": row["state"] != "done",
        "files": files,
    }


def _thread(connection: sqlite3.Connection, number: int) -> dict[str, Any]:
    row = connection.execute("SELECT * FROM issue WHERE id = ?", (number,)).fetchone()
    comments = connection.execute(
        "SELECT author, created_at, body, is_social FROM issue_comment WHERE issue_id = ? ORDER BY position", (number,)
    )
    return {
        "number": row["number"],
        "author": row["author"],
        "message": row["body"],
        "url": _safe(row["url"]),
        "state": row["state"],
        "pull": bool(row["is_pull_request"]),
        "labels": json.loads(row["labels_json"]),
        "comments": store.rows_as_dicts(comments.fetchall()),
    }


def _safe(url: str | None) -> str | None:
    """A web address that may become a link; a `javascript:` one may not."""
    return url if url and _SAFE_URL.match(url) else None
