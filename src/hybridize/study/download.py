"""Threads of issues and pull requests by GitHub's interface: search for the keyword, then each thread's comments.

The study keeps the pages. A search finds a thousand threads at most. Where there are more, the period is halved until
each part has fewer.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import product
from typing import Any, Final

from hybridize.study.github import Client, GitHubError, Gone, Page
from hybridize.study.issues import Comment, Thread, comment_of, thread_of
from hybridize.study.store import now

FOUND_AT_MOST: Final = 1000
FIRST_DAY: Final = date(2008, 1, 1)


class DatabaseShelf:
    """Pages in the study's own database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, url: str) -> Page | None:
        """The kept page, if any."""
        row = self._connection.execute("SELECT * FROM response WHERE url = ?", (url,)).fetchone()
        return Page(url, json.loads(zlib.decompress(row["body"])), row["next_url"], row["etag"], False) if row else None

    def put(self, page: Page) -> None:
        """Keep a page in place of an older one."""
        body = zlib.compress(json.dumps(page.data).encode())
        values = (page.url, page.etag, page.next_url, now(), body)
        self._connection.execute("INSERT OR REPLACE INTO response VALUES (?, ?, ?, ?, ?)", values)


@dataclass
class Found:
    """What a download was: what was asked and when, and whether the interface says that it did not look everywhere."""

    queries: list[str] = field(default_factory=list)
    asked_at: str = ""
    total: int = 0
    incomplete: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)


def download(
    client: Client,
    keyword: str,
    repositories: list[str],
    since: date | None = None,
    until: date | None = None,
    progress: Callable[[str], None] = lambda _: None,
    *,
    pull_requests: bool = True,
) -> Found:
    """All threads that the search finds for the literal keyword, with their comments (of a pull request its
    conversation, not what is said at lines).

    Args:
        client: whom to ask.
        keyword: the literal, such as `tf.function`.
        repositories: "owner/name"; none: all of GitHub.
        since: the first day of opening; null: GitHub's own.
        until: the last day; null: today.
        progress: gets a line now and then.
        pull_requests: ask for these, too; GitHub wants a search of its own for them.

    Raises:
        GitHubError: something could not be got; what was got is kept, and the same call goes on from there.
    """
    found = Found(asked_at=now())
    kinds = ("issue", "pull-request") if pull_requests else ("issue",)
    known: set[str] = set()
    for repository, kind in product(repositories or [""], kinds):
        if repository in found.missing:
            continue
        query = f'"{keyword}" is:{kind}' + (f" repo:{repository}" if repository else "")
        try:
            for record in _search(client, query, since or FIRST_DAY, until or date.today(), found):
                thread = thread_of(record)
                if thread is None or thread.url in known:
                    continue
                known.add(thread.url)
                thread.comments = list(_comments(client, record))
                found.threads.append(thread)
                progress(f"{len(found.threads)} threads; {thread.project}")
        except Gone:
            found.missing.append(repository)
        except GitHubError as error:
            if not repository or "422" not in str(error):
                raise
            found.missing.append(repository)
    return found


def _search(client: Client, query: str, first: date, last: date, found: Found) -> Iterator[dict[str, Any]]:
    asked = f"{query} created:{first}..{last}"
    pages = client.pages("/search/issues", {"q": asked, "sort": "created", "order": "asc", "per_page": 100})
    for number, page in enumerate(pages):
        total = int(page.data.get("total_count", 0))
        if number == 0 and total > FOUND_AT_MOST and first < last:
            middle = first + (last - first) // 2
            yield from _search(client, query, first, middle, found)
            yield from _search(client, query, middle + timedelta(days=1), last, found)
            return
        if number == 0:
            found.queries.append(asked)
            found.total += total
        partial = page.data.get("incomplete_results") or (number == 0 and total > FOUND_AT_MOST)
        if partial and asked not in found.incomplete:
            found.incomplete.append(asked)
        yield from (item for item in page.data.get("items", ()) if isinstance(item, dict))


def _comments(client: Client, record: dict[str, Any]) -> Iterator[Comment]:
    """Asked for only where there are some: most of the requests."""
    address = record.get("comments_url")
    if not record.get("comments") or not isinstance(address, str) or not address.startswith(client.base + "/"):
        return
    for page in client.pages(address.removeprefix(client.base), {"per_page": 100}):
        yield from (comment_of(item) for item in page.data if isinstance(item, dict))
