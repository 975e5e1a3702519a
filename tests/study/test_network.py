"""Subjects and issues from a server that behaves as GitHub's does, with its limits and faults."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridize.study import cli, clone, subjects
from hybridize.study.download import DatabaseShelf, download
from hybridize.study.github import Client, GitHubError
from hybridize.study.store import connect
from study.github_server import World, issue, repository, serving
from study.histories import History


@pytest.fixture
def world() -> Iterator[World]:
    with serving(World()) as running:
        yield running


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    cli.add_commands(parser)
    return cli.run(parser.parse_args(words))


def client(world: World, slept: list[float] | None = None, **options: object) -> Client:
    waits = [] if slept is None else slept
    return Client(world.base, "secret-token", sleep=waits.append, clock=lambda: 1000.0, **options)  # type: ignore[arg-type]


def test_threads_come_with_all_pages_and_comments(world):
    for number in range(1, 6):
        issue(world, number, f"tf.function {number}", "2020-01-02", comments=3 if number == 5 else 0)
    found = download(client(world), "tf.function", [])
    assert [thread.number for thread in found.threads] == [1, 2, 3, 4, 5]
    assert len(found.threads[-1].comments) == 3
    assert (found.total, found.incomplete) == (5, [])
    assert {token for _, _, token in world.log} == {"Bearer secret-token"}


@pytest.mark.parametrize("from_file", [False, True])
def test_pull_requests_come_marked_and_can_be_left_out(world, tmp_path, from_file, capsys):
    issue(world, 1, "tf.function", "2020-01-02")
    issue(world, 2, "Use tf.function", "2020-01-03", comments=2, pull=True)
    (tmp_path / "threads.json").write_text(json.dumps(world.issues))
    source = [str(tmp_path / "threads.json")] if from_file else ["--download", "--api", world.base]
    for options, expected in ([], [(1, 0), (2, 1)]), (["--no-pull-requests"], [(1, 0)]):
        database = str(tmp_path / f"{len(options)}.db")
        assert command("issues", *source, "--out", database, *options) == 0
        found = connect(database).execute("SELECT number, is_pull_request FROM issue ORDER BY number")
        assert [tuple(row) for row in found] == expected
    assert "2 threads (1 pull requests), 2 with tf.function" in capsys.readouterr().out
    if not from_file:
        assert len(download(client(world), "tf.function", []).threads[1].comments) == 2


def test_a_second_download_is_conditional_and_equal(world, tmp_path):
    issue(world, 1, "tf.function", "2020-01-02", comments=1)
    database = connect(tmp_path / "s.db")
    first = download(client(world, shelf=DatabaseShelf(database)), "tf.function", ["o/n"])
    world.log.clear()
    second = download(client(world, shelf=DatabaseShelf(database)), "tf.function", ["o/n"])
    assert {status for _, status, _ in world.log} == {304}
    assert first.threads == second.threads
    database.close()
    assert b"secret-token" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_more_than_a_search_gives_is_asked_for_in_parts(world, monkeypatch):
    monkeypatch.setattr("hybridize.study.download.FOUND_AT_MOST", 3)
    for number in range(1, 8):
        issue(world, number, "tf.function", f"20{10 + number}-03-04")
    found = download(client(world), "tf.function", [])
    assert sorted(thread.number or 0 for thread in found.threads) == list(range(1, 8))
    assert len(found.queries) > 2


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        ((500, {}, b"oops"), 1.0),
        ((502, {}, b""), 1.0),
        ((200, {}, b'{"items": ['), 1.0),
        ((200, {"Content-Length": "50"}, b"{}"), 1.0),
        ((403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1030"}, b""), 31.0),
        ((403, {"Retry-After": "17"}, b""), 17.0),
        ((429, {"Retry-After": "17"}, b""), 17.0),
        ((403, {}, b"You have exceeded a secondary rate limit"), 60.0),
    ],
)
def test_faults_and_limits_are_waited_for(world, fault, wait):
    issue(world, 1, "tf.function", "2020-01-02")
    world.faults.append(fault)
    slept: list[float] = []
    assert len(download(client(world, slept), "tf.function", []).threads) == 1
    assert slept == [wait]


def test_what_waiting_does_not_mend_is_an_error(world):
    world.faults += [(500, {}, b"")] * 6
    with pytest.raises(GitHubError, match=r"500 .*6 times"):
        download(client(world), "tf.function", [])
    world.faults.append((401, {}, b""))
    with pytest.raises(GitHubError, match="token is not accepted"):
        download(client(world), "tf.function", [])
    world.faults.append((403, {"Retry-After": "9000"}, b""))
    with pytest.raises(GitHubError, match="goes on from here"):
        download(client(world), "tf.function", [])


def test_an_incomplete_search_is_told(world):
    world.incomplete = True
    issue(world, 1, "tf.function", "2020-01-02")
    for number in range(2, 6):  # several pages of one search
        issue(world, number, "tf.function", "2020-01-02")
    incomplete = download(client(world), "tf.function", [], pull_requests=False).incomplete
    assert len(incomplete) == len(set(incomplete)) == 1


def test_a_thread_that_is_found_twice_counts_once(world):
    issue(world, 1, "tf.function", "2020-01-02")
    assert len(download(client(world), "tf.function", ["o/n", "o/n"]).threads) == 1


def test_what_git_says_went_wrong_is_told_and_not_its_advice(tmp_path: Path, capsys):
    (tmp_path / "list.txt").write_text(f"file://{tmp_path}/nowhere\n")
    assert command("clone", str(tmp_path / "list.txt"), "--into", str(tmp_path / "clones")) == 1
    error = capsys.readouterr().err
    assert "fatal: " in error
    assert "nowhere" in error


def test_a_renamed_repository_is_followed_and_the_token_stays_with_its_host(world):
    issue(world, 1, "tf.function", "2020-01-02", comments=1)
    world.renamed["/repos/o/n"] = "/repositories/1"
    assert len(download(client(world), "tf.function", []).threads[0].comments) == 1
    with serving(World(comments={1: [{"body": "elsewhere"}]})) as other:
        world.renamed["/repos/o/n"] = "//" + other.base.removeprefix("http://") + "/x"
        world.base = ""
        download(Client(f"http://{world_host(world)}", "secret-token", sleep=lambda _: None), "tf.function", [])
        assert {token for _, _, token in other.log} == {None}


def world_host(world: World) -> str:
    return world.issues[0]["comments_url"].split("/")[2]


def test_subjects_leave_out_forks_copies_and_others_with_the_reason(world):
    world.repositories = [
        repository("a/good", 5),
        repository("b/fork", 4, fork=True),
        repository("c/good", 6, size=15, description="A deep learning thing, 5"),
        repository("d/cooking", 3, description="Recipes"),
        repository("e/readme", 2, description=None),
        repository("f/old", 7, pushed_at="2012-01-01T00:00:00Z"),
        repository("g/other", 8),
    ]
    for one in ("a/good", "d/cooking", "e/readme"):
        world.files[f"/repos/{one}/contents/requirements.txt"] = "numpy\ntensorflow>=2\n"
    world.files["/repos/g/other/contents/setup.py"] = "install_requires=['tensorflow-text']"
    world.files["/repos/e/readme/readme"] = "Trains a neural network."
    wanted = subjects.Wanted(dependencies=("tensorflow",), pushed_since="2020-01-01")
    found = subjects.search(client(world), wanted)
    assert [one["full_name"] for one in found.kept] == ["a/good", "e/readme"]
    assert found.kept[0]["stargazers_count"] == 5
    reasons = {one["full_name"]: one["reason"] for one in found.left_out}
    assert reasons["b/fork"] == "a fork"
    assert reasons["c/good"] == "a copy of a/good"
    assert "deep learning" in reasons["d/cooking"]
    assert reasons["f/old"] == "no push since 2020-01-01"
    assert "depends on none" in reasons["g/other"]


@pytest.mark.parametrize("url", ["ext::sh -c id", "--upload-pack=id", "git://x/y", "/etc"])
def test_no_other_transport_is_cloned(tmp_path: Path, url):
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"kept": [{"full_name": "o/n", "clone_url": url}]}))
    with pytest.raises(clone.CloneError, match="no repository to clone"):
        clone.listed(path)


@pytest.mark.parametrize("filters", ["true", "false"])
def test_a_clone_has_the_contents_that_mining_reads_and_no_others(tmp_path: Path, filters):
    history = History.new(tmp_path / "origin")
    history.git("config", "uploadpack.allowFilter", filters)
    history.git("config", "uploadpack.allowAnySHA1InWant", "true")
    plain = "import tensorflow as tf\n\n\ndef step(x):\n    return x\n"
    history.commit("start", {"a.py": plain, "big.bin": "0" * 1000})
    history.commit("Fix it", {"a.py": plain.replace("def", "@tf.function\ndef")})
    (tmp_path / "list.txt").write_text(f"file://{history.path}\n")
    words = ["--into", str(tmp_path / "clones")]
    assert command("clone", str(tmp_path / "list.txt"), *words) == 0
    (found,) = (tmp_path / "clones").iterdir()
    assert command("mine", str(found), "--out", str(tmp_path / "s.db")) == 0
    rows = connect(tmp_path / "s.db").execute("SELECT subject, state FROM changeset").fetchall()
    assert [tuple(row) for row in rows] == [("Fix it", "done")]
    missing = History(found).git("rev-list", "--objects", "--all", "--missing=print").count("?")
    assert missing == (1 if filters == "true" else 0)
