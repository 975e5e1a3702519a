"""Issue threads come in from several export formats, are filtered by the literal keyword, and sampled with a seed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from hybridize.study.issues import IssueError, Thread, draw_sample, import_threads, read_threads
from hybridize.study.social import is_social
from hybridize.study.store import connect

URL = "https://github.com/o/n/issues/7"
CODE = "```python\n@tf.function\ndef f(): pass\n```"


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return connect(tmp_path / "study.db")


def written(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


REST = {
    "url": "https://api.github.com/repos/o/n/issues/7",
    "html_url": URL,
    "number": 7,
    "title": "tf.function is slow",
    "body": CODE,
    "user": {"login": "ann"},
    "state": "closed",
    "labels": [{"name": "bug"}],
    "comments": 1,
    "created_at": "2020-01-01T00:00:00Z",
    "closed_at": None,
}
COMMENT = {
    "html_url": f"{URL}#issuecomment-1",
    "issue_url": "https://api.github.com/repos/o/n/issues/7",
    "body": "It retraces.",
    "user": {"login": "bob"},
    "created_at": "2020-01-02T00:00:00Z",
}
GH = {
    "number": 7,
    "title": "tf.function is slow",
    "body": CODE,
    "url": URL,
    "state": "CLOSED",
    "author": {"login": "ann"},
    "labels": [{"name": "bug"}],
    "createdAt": "2020-01-01T00:00:00Z",
    "comments": [{"author": {"login": "bob"}, "body": "It retraces.", "createdAt": "2020-01-02T00:00:00Z"}],
}


@pytest.mark.parametrize(
    "files",
    [
        {"i.json": [REST, COMMENT]},
        {"i.json": {"total_count": 1, "items": [REST]}, "c.json": [COMMENT]},
        {"i.json": [[REST], [COMMENT]]},
        {"i.jsonl": json.dumps(REST) + "\n" + json.dumps(COMMENT) + "\n"},
        {"i.json": [GH]},
        {
            "issues_000001.json": [{**REST, "html_url": None, "url": URL, "user": "https://github.com/ann"}],
            "issue_comments_000001.json": [{"issue": URL, "body": "It retraces.", "user": "https://github.com/bob"}],
        },
        {
            "i.csv": "Number,Title,Body,URL,State,Author,Created_At,Comments\n"
            f'7,tf.function is slow,"{CODE}",{URL},closed,ann,2020-01-01T00:00:00Z,'
            '"[{""body"": ""It retraces."", ""author"": ""bob""}]"\n'
        },
    ],
    ids=["REST", "search and comments", "pages", "JSON lines", "gh", "archive", "CSV"],
)
def test_formats(tmp_path, files):
    (thread,) = read_threads([written(tmp_path / name, value) for name, value in files.items()])
    assert (thread.url, thread.project, thread.number, thread.title) == (URL, "o/n", 7, "tf.function is slow")
    assert (thread.author, thread.state, thread.created_at) == ("ann", "closed", "2020-01-01T00:00:00Z")
    assert [(c.body, c.author) for c in thread.comments] == [("It retraces.", "bob")]
    assert thread.has_code()


@pytest.mark.parametrize("content", ["no json", "[1, 2]", "{}", '[{"title": ""}]'])
def test_a_file_without_issues_says_so(tmp_path, content):
    with pytest.raises(IssueError, match=r"i\.json"):
        read_threads([written(tmp_path / "i.json", content)])


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(IssueError, match="No such file"):
        read_threads([tmp_path / "none.json"])


def thread(number: int, title: str = "", body: str = "", *comments: str) -> Thread:
    from hybridize.study.issues import Comment

    url = f"https://github.com/o/n/issues/{number}"
    return Thread(url, "o/n", title, body, number, comments=[Comment(text) for text in comments])


def selected(database: sqlite3.Connection) -> list[str]:
    return [row[0] for row in database.execute("SELECT title FROM item WHERE selected ORDER BY title")]


def test_the_literal_needs_its_period_and_social_talk_does_not_count(database):
    counts = import_threads(
        database,
        [
            thread(1, "a tf.function"),
            thread(2, "b", "tf function"),
            thread(3, "c", "", "I use tf.function with shape errors"),
            thread(4, "d", "", "Thanks for tf.function!"),
        ],
        "test",
    )
    assert selected(database) == ["a tf.function", "c"]
    assert (counts.threads, counts.with_keyword, counts.kept, counts.social) == (4, 3, 2, 1)


def test_social_talk_may_be_kept(database):
    import_threads(database, [thread(4, "d", "", "Thanks for tf.function!")], "test", keep_social=True)
    assert selected(database) == ["d"]


def test_importing_again_updates_and_keeps_the_item(database):
    import_threads(database, [thread(1, "tf.function", "", "one")], "test")
    import_threads(database, [thread(1, "tf.function!", "", "one", "two")], "test")
    assert selected(database) == ["tf.function!"]
    assert database.execute("SELECT count(*) FROM issue_comment").fetchone()[0] == 2


def test_the_sample_is_seeded_sized_and_prefers_code(database):
    threads = [thread(n, f"tf.function {n:03}", CODE if n % 2 else "words") for n in range(200)]
    import_threads(database, threads, "test")
    first = draw_sample(database, 60, seed=1)
    assert len(first) == len(set(first)) == len(selected(database)) == 60
    assert draw_sample(database, 60, seed=1) == first
    assert draw_sample(database, 60, seed=2) != first
    coded = sum(int(item.rpartition("/")[2]) % 2 for item in first)
    assert 36 <= coded <= 57  # 45 expected of weight 3; a fair draw gives 30


def test_a_sample_larger_than_what_there_is_takes_all(database):
    import_threads(database, [thread(1, "tf.function"), thread(2, "no")], "test")
    assert len(draw_sample(database, 10, seed=0)) == 1


def test_sampling_never_takes_what_the_filters_left_out(database):
    import_threads(database, [thread(1, "tf.function"), thread(2, "d", "", "Thanks for tf.function!")], "test")
    draw_sample(database, 10, seed=0)
    assert selected(database) == ["tf.function"]


@pytest.mark.parametrize(
    "comment",
    [
        "Thanks!",
        "+1",
        "👍",
        "@ann gentle ping",
        "Any update on this?",
        "Great work, I really appreciate it :-)",
        "LGTM",
        "Closing, feel free to reopen.",
        "> tf.function(x)\n\nThank you so much!",
    ],
)
def test_social(comment):
    assert is_social(comment)


@pytest.mark.parametrize(
    "comment",
    [
        "Thanks! The error goes away with `experimental_relax_shapes=True`.",
        "It retraces.",
        "See https://example.org/issues/1, thanks",
        "Thanks, but the model still fails with a shape error in version 2",
        "```\nx = 1\n```",
        "Traceback (most recent call last):",
        "同样出现这个问题",
        "Could you check what I mentioned? The answers that you linked did not help me at all. Thanks",
    ],
)
def test_technical(comment):
    assert not is_social(comment)


def test_importing_again_keeps_the_sample_and_later_threads_do_not_join_it_unasked(database):
    first = [thread(n, f"tf.function {n:03}") for n in range(20)]
    import_threads(database, first, "test")
    draw_sample(database, 5, seed=1)
    drawn = selected(database)
    import_threads(database, [*first, thread(50, "tf.function 050")], "again")
    assert selected(database) == drawn
    assert len(draw_sample(database, 30, seed=1)) == 21


def test_a_search_that_did_not_find_everything_is_told(tmp_path):
    incomplete: list[str] = []
    path = written(tmp_path / "found.json", {"incomplete_results": True, "items": [REST]})
    assert len(read_threads([path], incomplete)) == 1
    assert incomplete == ["found.json"]
