"""Imports issue threads from exported files, filters them, and draws a sample.

Read are: lists of issues as GitHub's REST interface gives them (also `{"items": [...]}` of its search), what
`gh issue list --json ...` prints, the files of a GitHub archive (issues and comments as separate objects that name
their
issue), all as JSON or JSON lines; and CSV with a header (`url`, `title`, `body`, and what there is of `number`,
`project`, `author`, `state`, `created_at`, `comments`). `download.py` gets them from GitHub.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hybridize.study.keyword import DEFAULT, Keyword
from hybridize.study.social import is_social
from hybridize.study.store import issue_item, transaction

CODE_WEIGHT: Final = 3.0
"""How much likelier a thread with code is drawn than one without."""

_CODE: Final = re.compile(
    r"```|^(?: {4}|\t)\S.*\n(?: {4}|\t)\S|<code>|<pre>|^\s*>>> |Traceback \(most recent", re.MULTILINE
)
_HTML: Final = re.compile(r"https?://[^/\s]+/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
_API: Final = re.compile(r"https?://[^/\s]+/(?:api/v3/)?repos/([\w.-]+/[\w.-]+)/(?:issues|pulls)/(\d+)")


class IssueError(Exception):
    """A file that can't be imported; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment of a thread."""

    body: str
    author: str | None = None
    created_at: str | None = None


@dataclass(slots=True)
class Thread:
    """One issue or pull request with its comments in order."""

    url: str
    project: str
    title: str
    body: str
    number: int | None = None
    author: str | None = None
    state: str | None = None
    is_pull_request: bool = False
    labels: tuple[str, ...] = ()
    created_at: str | None = None
    closed_at: str | None = None
    comments: list[Comment] = field(default_factory=list)

    def technical_text(self) -> str:
        """Title, body and those comments that are no social conversation."""
        return "\n\n".join([self.title, self.body, *(c.body for c in self.comments if not is_social(c.body))])

    def has_code(self) -> bool:
        """Whether anybody showed code or a traceback."""
        return any(_CODE.search(text) for text in (self.body, *(c.body for c in self.comments)))


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What an import brought: threads read, with the keyword, with it outside social conversation; comments, social
    ones."""

    threads: int
    with_keyword: int
    kept: int
    comments: int
    social: int


# -- reading ---------------------------------------------------------------------------------------------------------


def read_threads(paths: Iterable[Path], incomplete: list[str] | None = None) -> list[Thread]:
    """All threads of the files; comments in one file join their issue in another.

    Args:
        paths: the files.
        incomplete: gets the names of the files that say of themselves that a search did not find everything.

    Raises:
        IssueError: a file can't be read, or nothing in it looks like an issue.
    """
    threads: dict[str, Thread] = {}
    loose: list[tuple[str, Comment]] = []
    for path in paths:
        before = len(threads) + len(loose)
        records = list(_records(path))
        if incomplete is not None and any("incomplete_results" in record for record in records):
            incomplete.append(path.name)
        for record in records:
            target = _comment_target(record)
            if target:
                loose.append((target, comment_of(record)))
                continue
            thread = thread_of(record)
            if thread is not None:
                threads[thread.url] = thread
        if len(threads) + len(loose) == before:
            raise IssueError(f"{path}: no issue with a title and an address in it")
    by_key = {(t.project.lower(), t.number): t for t in threads.values()}
    for target, comment in sorted(loose, key=lambda pair: pair[1].created_at or ""):
        thread = threads.get(target)
        if thread is None:
            found = _HTML.search(target) or _API.search(target)
            thread = by_key.get((found[1].lower(), int(found[2]))) if found else None
        if thread is not None:
            thread.comments.append(comment)
    return list(threads.values())


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text("utf-8-sig", errors="replace")
    except OSError as error:
        raise IssueError(f"{path}: {error.strerror or error}") from error
    if path.suffix.lower() == ".csv":
        csv.field_size_limit(2**31 - 1)
        for row in csv.DictReader(io.StringIO(text)):
            yield {str(name).strip().lower(): value for name, value in row.items() if name}
        return
    try:
        values: list[Any] = [json.loads(text)]
    except ValueError:
        try:
            values = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise IssueError(f"{path}: neither JSON nor JSON lines: {error}") from error
    yield from _objects(values)


def _objects(values: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Objects of nested lists, pages (`gh api --paginate --slurp`) and search results."""
    for value in values:
        if isinstance(value, list):
            yield from _objects(value)
        elif isinstance(value, dict):
            inner = value.get("items", value.get("issues"))
            if isinstance(inner, list) and "title" not in value:
                yield from _objects(inner)
                if value.get("incomplete_results"):
                    yield {"incomplete_results": True}
            else:
                yield value


def _comment_target(record: dict[str, Any]) -> str | None:
    """The address of the issue that a separate comment belongs to."""
    if _text(record.get("title")):
        return None
    for name in ("issue_url", "issue", "pull_request"):
        value = record.get(name)
        if isinstance(value, str) and value.startswith("http"):
            return value
    html = record.get("html_url")
    return html.partition("#")[0] if isinstance(html, str) and "#issuecomment" in html else None


def thread_of(record: dict[str, Any]) -> Thread | None:
    """One issue as an export or the interface gives it; null where it has no title or address."""
    title = _text(record.get("title"))
    url = _text(record.get("html_url")) or _text(record.get("url"))
    number = _integer(record.get("number"))
    project = _text(record.get("repository")) or _text(record.get("project")) or ""
    for pattern in (_HTML, _API):
        found = pattern.search(url)
        if found:
            project, number = found[1], int(found[2])
            if pattern is _API:
                url = f"https://github.com/{project}/issues/{number}"
            break
    if not url and project and number is not None:
        url = f"https://github.com/{project}/issues/{number}"
    if not title or not url:
        return None
    comments = record.get("comments")
    if isinstance(comments, str):
        comments = _parsed(comments)
    if not isinstance(comments, list):
        comments = record.get("comments_data") or record.get("comment_list") or []
    labels = record.get("labels")
    return Thread(
        url=url,
        project=project or url,
        title=title,
        body=_text(record.get("body")),
        number=number,
        author=_login(record.get("user") or record.get("author")),
        state=_text(record.get("state")).lower() or None,
        is_pull_request=bool(record.get("pull_request")) or "/pull/" in url,
        labels=tuple(filter(None, (_label(label) for label in labels))) if isinstance(labels, list) else (),
        created_at=_text(record.get("created_at") or record.get("createdAt")) or None,
        closed_at=_text(record.get("closed_at") or record.get("closedAt")) or None,
        comments=[comment_of(c) if isinstance(c, dict) else Comment(_text(c)) for c in comments],
    )


def comment_of(record: dict[str, Any]) -> Comment:
    """One comment of an issue."""
    return Comment(
        _text(record.get("body")),
        _login(record.get("user") or record.get("author")),
        _text(record.get("created_at") or record.get("createdAt")) or None,
    )


def _parsed(text: str) -> Any:
    """A CSV cell with comments: a JSON list, or nothing usable (such as their number)."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _login(value: Any) -> str | None:
    if isinstance(value, dict):
        return _text(value.get("login") or value.get("name")) or None
    return _text(value).rstrip("/").rpartition("/")[2] or None


def _label(value: Any) -> str:
    return _text(value.get("name")) if isinstance(value, dict) else _text(value).rpartition("/")[2]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None or isinstance(value, dict | list) else str(value)


def _integer(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


# -- filtering and keeping -------------------------------------------------------------------------------------------


def import_threads(
    connection: sqlite3.Connection,
    threads: Iterable[Thread],
    source: str,
    keyword: Keyword = DEFAULT,
    *,
    keep_social: bool = False,
    dataset: str = "",
) -> ImportCounts:
    """Keep threads that have the literal keyword, with its period; those with it only in social talk are not selected.

    A thread already there is replaced, its item and ratings stay. Once a sample is drawn, it stays as it is: new
    threads are set aside until a sample is asked for again.
    """
    counts = [0, 0, 0, 0, 0]
    with transaction(connection):
        for thread in threads:
            counts[0] += 1
            connection.execute("INSERT OR IGNORE INTO issue_read VALUES (?)", (thread.url,))
            whole = "\n\n".join([thread.title, thread.body, *(c.body for c in thread.comments)])
            if not keyword.literal_pattern.search(whole):
                continue
            counts[1] += 1
            selected = keep_social or keyword.literal_pattern.search(thread.technical_text()) is not None
            counts[2] += selected
            counts[3] += len(thread.comments)
            counts[4] += sum(is_social(c.body) for c in thread.comments)
            _keep(connection, thread, source, selected, dataset)
    return ImportCounts(*counts)


def _keep(connection: sqlite3.Connection, thread: Thread, source: str, eligible: bool, dataset: str) -> None:
    drawn = connection.execute("SELECT 1 FROM issue WHERE sampled IS NOT NULL LIMIT 1").fetchone() is not None
    values = {
        "source": source,
        "project": thread.project,
        "number": thread.number,
        "url": thread.url,
        "title": thread.title,
        "body": thread.body,
        "author": thread.author,
        "state": thread.state,
        "is_pull_request": int(thread.is_pull_request),
        "labels_json": json.dumps(thread.labels),
        "created_at": thread.created_at,
        "closed_at": thread.closed_at,
        "has_keyword": 1,
        "has_code": int(thread.has_code()),
        "eligible": int(eligible),
    }
    names = list(values)
    row = connection.execute(
        f"INSERT INTO issue ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        + " ON CONFLICT (url) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in names if name != "url")
        + " RETURNING id",
        list(values.values()),
    ).fetchone()
    connection.execute("DELETE FROM issue_comment WHERE issue_id = ?", (row["id"],))
    connection.executemany(
        "INSERT INTO issue_comment (issue_id, position, author, created_at, body, is_social) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (row["id"], number, c.author, c.created_at, c.body, int(is_social(c.body)))
            for number, c in enumerate(thread.comments, 1)
        ],
    )
    connection.execute(
        "INSERT INTO item (id, kind, issue_id, project, title, happened_at, selected, dataset)"
        " VALUES (?, 'issue', ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET title = excluded.title"
        + ("" if drawn else ", selected = excluded.selected"),
        (
            *(issue_item(thread.url), row["id"], thread.project, thread.title, thread.created_at),
            *(int(eligible and not drawn), dataset),
        ),
    )


def draw_sample(connection: sqlite3.Connection, size: int, seed: int, code_weight: float = CODE_WEIGHT) -> list[str]:
    """Select `size` of the eligible threads at random, those with code `code_weight` times as likely; unselect the
    rest.

    The same database content, size and seed give the same sample. A later call draws anew from all that the filters
    kept.
    """
    with transaction(connection):
        rows = connection.execute(
            "SELECT i.id AS item, s.id, s.has_code FROM item i JOIN issue s ON s.id = i.issue_id"
            " WHERE s.eligible ORDER BY i.id"
        ).fetchall()
        generator = random.Random(seed)
        # Weighted sampling without replacement: the largest of u ** (1 / weight).
        keys = [(generator.random() ** (1 / (code_weight if row["has_code"] else 1.0)), row) for row in rows]
        keys.sort(key=lambda pair: (-pair[0], pair[1]["item"]))
        for number, (_, row) in enumerate(keys, 1):
            drawn = number <= size
            connection.execute("UPDATE issue SET sampled = ? WHERE id = ?", (number if drawn else -number, row["id"]))
            connection.execute("UPDATE item SET selected = ? WHERE id = ?", (int(drawn), row["item"]))
    return [row["item"] for _, row in keys[:size]]
