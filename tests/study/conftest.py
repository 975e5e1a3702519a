"""A small study database for everything that rates: four changesets (one hostile) and an issue."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridize.study import codebook, codebook_store
from hybridize.study.label import ratings
from hybridize.study.store import SuggestionRow, connect, put_text, replace_suggestions


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: drives a real headless browser")


HOSTILE = "<script>window.pwned=1</script><img src=x onerror=window.pwned=2>"

BEFORE = f"""import tensorflow as tf

# {HOSTILE}


def helper(x):
    return x


def step(x):
    y = helper(x)
    return y * 2  # \u202e reversed
"""
AFTER = BEFORE.replace("def step", "@tf.function\ndef step").replace("y * 2", "y * 3")


def add_changeset(db: sqlite3.Connection, number: int, subject: str, before: str, after: str) -> str:
    sha = f"{number:040x}"
    db.execute(
        "INSERT INTO changeset (id, repository_id, sha, author, authored_at, subject, body, is_bug_fix, touches_use,"
        " state) VALUES (?, 1, ?, 'Dev', '2020-05-06T07:08:09Z', ?, 'Why and how.', 1, 1, 'done')",
        (number, sha, subject),
    )
    put_text(db, f"b{number}", before)
    put_text(db, f"a{number}", after)
    db.execute(
        "INSERT INTO file_change (id, changeset_id, status, path_before, path_after, oid_before, oid_after, is_test,"
        " method) VALUES (?, ?, 'M', 'src/model.py', 'src/model.py', ?, ?, 0, 'tree')",
        (number, number, f"b{number}", f"a{number}"),
    )
    db.execute(
        "INSERT INTO change (file_change_id, qualname, qualname_before, qualname_after, uses_added, uses_after_json,"
        " line_before, end_line_before, line_after, end_line_after)"
        " VALUES (?, 'step', 'step', 'step', 1, '[\"@tf.function\"]', 10, 12, 10, 13)",
        (number,),
    )
    item = f"commit:{sha}"
    db.execute(
        "INSERT INTO item (id, kind, changeset_id, project, title, happened_at, round, queue_position)"
        " VALUES (?, 'commit', ?, 'o/r', ?, '2020-05-06', 'one', ?)",
        (item, number, subject, number),
    )
    return item


def fill(db: sqlite3.Connection) -> list[str]:
    codebook_store.save(db, codebook.built_in())
    db.execute(
        "INSERT INTO repository (id, name, path, url, commits, state)"
        " VALUES (1, 'o/r', '/nowhere', 'https://example.org/o/r.git', 90, 'done')"
    )
    subjects = ["Speed up step", f"Fix {HOSTILE}", "=1+1 fixes retracing", "Tidy"]
    items = [add_changeset(db, n, subject, BEFORE, AFTER) for n, subject in enumerate(subjects, 1)]
    replace_suggestions(
        db,
        items[0],
        [SuggestionRow(items[0], "add_decorator", True, ({"message": "step", "path": "src/model.py", "line": 10},))],
    )
    url = "https://example.org/o/r/issues/7"
    db.execute(
        "INSERT INTO issue (id, source, project, number, url, title, body, has_keyword, has_code, created_at)"
        " VALUES (1, 'x.json', 'o/r', 7, ?, 'tf.function hangs', ?, 1, 1, '2021-02-03T00:00:00Z')",
        (url, f"It hangs.\n```python\n{HOSTILE}\n```\nHelp"),
    )
    db.execute("INSERT INTO issue_comment (issue_id, position, author, body) VALUES (1, 1, 'bob', 'same here')")
    db.execute(
        "INSERT INTO item (id, kind, issue_id, project, title, round, queue_position)"
        " VALUES (?, 'issue', 1, 'o/r', 'tf.function hangs', 'one', 5)",
        (f"issue:{url}",),
    )
    return [*items, f"issue:{url}"]


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    """The path of a database with five items in round "one", no raters."""
    path = tmp_path / "study.db"
    db = connect(path)
    fill(db)
    db.close()
    return path


@pytest.fixture
def study(study_file: Path) -> Iterator[sqlite3.Connection]:
    """A connection to that database with the raters ana, bo and the reconciler rec."""
    db = connect(study_file)
    for name in ("ana", "bo"):
        ratings.add_rater(db, name)
    ratings.add_rater(db, "rec", "reconciler")
    yield db
    db.close()


@pytest.fixture
def items(study_file: Path) -> list[str]:
    """The identities of the five items, in queue order."""
    db = connect(study_file)
    found = [row[0] for row in db.execute("SELECT id FROM item ORDER BY queue_position")]
    db.close()
    return found
