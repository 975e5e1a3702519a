"""Mining finds the changesets that add or remove a use, whatever the history looks like."""

from __future__ import annotations

import argparse
import io
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hybridize.study import cli_mine
from hybridize.study.bugfix import is_bug_fix
from hybridize.study.history import Repository, web_address
from hybridize.study.mine import MineOptions, Miner, MineResult, repository_name
from hybridize.study.mined_set import SetError
from hybridize.study.profile import built_in
from hybridize.study.store import connect, file_changes
from hybridize.study.suggest import suggest_all

sys.path.insert(0, str(Path(__file__).parent))
from histories import History

PLAIN = "import tensorflow as tf\n\n\ndef step(x):\n    return x\n"
HYBRID = PLAIN.replace("def step", "@tf.function\ndef step")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.new(tmp_path / "owner" / "name")


@pytest.fixture
def database(tmp_path: Path) -> sqlite3.Connection:
    return connect(tmp_path / "study.db")


def mine(database: sqlite3.Connection, path: Path, **options: object) -> MineResult:
    return Miner(database, Repository(path), repository_name(path, None), MineOptions(**options)).run()  # type: ignore[arg-type]


def subjects(database: sqlite3.Connection) -> list[str]:
    return [row[0] for row in database.execute("SELECT subject FROM changeset ORDER BY authored_at")]


def test_a_changeset_is_kept_with_its_functions_spans_and_texts(database, history):
    history.commit("start", {"a.py": PLAIN})
    sha = history.commit("Fix slow step\n\nIt ran eagerly.", {"a.py": HYBRID})
    result = mine(database, history.path)
    assert (result.commits, result.kept, result.bug_fixes, result.error) == (2, 1, 1, None)
    row = database.execute("SELECT * FROM changeset").fetchone()
    assert (row["sha"], row["subject"], row["body"], row["author"]) == (sha, "Fix slow step", "It ran eagerly.", "Ann")
    assert (row["uses_added"], row["uses_removed"], row["touches_use"]) == (1, 0, 1)
    (file,) = file_changes(database, row["id"])
    assert (file.before, file.after) == (PLAIN, HYBRID)
    (function,) = file.functions
    assert (function.qualname, function.uses_before, function.uses_after) == ("step", (), ("@tf.function",))
    assert (function.lines_before, function.lines_after) == ((4, 5), (4, 6))
    item = database.execute("SELECT * FROM item").fetchone()
    assert (item["id"], item["project"], item["selected"]) == (f"commit:{sha}", "owner/name", 1)


def test_side_branches_are_searched_and_merges_are_not_changesets(database, history):
    history.commit("start", {"a.py": PLAIN, "b.py": "pass\n"})
    history.git("checkout", "-q", "-b", "side")
    history.commit("hybrid", {"a.py": HYBRID})
    history.commit("eager again", {"a.py": PLAIN})
    history.git("checkout", "-q", "main")
    history.commit("other", {"b.py": "\n"})
    history.day += 1
    history.git("merge", "-q", "--no-ff", "-m", "merge side", "side")
    mine(database, history.path)
    assert subjects(database) == ["hybrid", "eager again"]


def test_branches_that_head_does_not_reach_are_searched_on_request(database, history, tmp_path):
    history.commit("start", {"a.py": PLAIN})
    history.git("checkout", "-q", "-b", "side")
    history.commit("hybrid", {"a.py": HYBRID})
    history.git("checkout", "-q", "main")
    narrow = connect(tmp_path / "narrow.db")
    mine(narrow, history.path)
    assert subjects(narrow) == []
    mine(database, history.path, all_refs=True)
    assert subjects(database) == ["hybrid"]


def test_the_filter_only_marks_what_is_selected(database, history):
    history.commit("start", {"a.py": PLAIN})
    history.commit("Speed up", {"a.py": HYBRID})
    history.commit("Fixes the speed", {"a.py": PLAIN})
    mine(database, history.path)
    rows = database.execute("SELECT title, selected FROM item ORDER BY happened_at").fetchall()
    assert [tuple(row) for row in rows] == [("Speed up", 0), ("Fixes the speed", 1)]


def test_all_changes_selects_everything(database, history):
    history.commit("Hybrid from the start", {"a.py": HYBRID})
    mine(database, history.path, all_changes=True)
    assert database.execute("SELECT selected FROM item").fetchone()[0] == 1


def test_a_bare_clone_is_as_good(database, history, tmp_path):
    history.commit("start", {"a.py": HYBRID})
    history.git("clone", "-q", "--bare", str(history.path), str(tmp_path / "bare.git"))
    assert mine(database, tmp_path / "bare.git").kept == 1


def test_renames_are_followed(database, history):
    body = HYBRID + "\n".join(f"line_{n} = {n}" for n in range(30)) + "\n"
    history.commit("start", {"a.py": body})
    history.commit("moved and eager", {"a.py": None, "b.py": body.replace("@tf.function\n", "")})
    mine(database, history.path)
    (row,) = database.execute("SELECT * FROM file_change WHERE status = 'R'").fetchall()
    assert (row["path_before"], row["path_after"]) == ("a.py", "b.py")


def test_a_pure_rename_changes_nothing(database, history):
    history.commit("start", {"a.py": HYBRID})
    history.commit("moved", {"a.py": None, "b.py": HYBRID})
    mine(database, history.path)
    assert subjects(database) == ["start"]


def test_text_and_comments_are_kept_but_marked(database, history):
    history.commit("start", {"a.py": PLAIN})
    history.commit("document tf.function", {"a.py": PLAIN + "# see tf.function\n"})
    mine(database, history.path)
    assert database.execute("SELECT touches_use, uses_added FROM changeset").fetchone()[:] == (0, 0)


def test_uses_only_drops_them(database, history):
    history.commit("start", {"a.py": PLAIN})
    history.commit("document tf.function", {"a.py": PLAIN + "# see tf.function\n"})
    assert mine(database, history.path, uses_only=True).kept == 0


def test_an_argument_changed_on_a_line_of_its_own_is_found(database, history):
    source = HYBRID.replace("@tf.function", "@tf.function(\n    reduce_retracing=False,\n)")
    history.commit("start", {"a.py": source})
    history.commit("relax", {"a.py": source.replace("False", "True")})
    mine(database, history.path)
    assert subjects(database) == ["start", "relax"]


def test_a_use_under_an_imported_name_is_found(database, history):
    source = "from tensorflow import function\n\n\ndef step(x):\n    return x\n"
    history.commit("start", {"a.py": source})
    history.commit("hybrid", {"a.py": source.replace("def step", "@function\ndef step")})
    mine(database, history.path)
    assert "hybrid" in subjects(database)


def test_another_functions_decorator_is_no_use(database, history):
    source = "from tensorflow.python.framework import function\n\n\n@function.Defun()\ndef step(x):\n    return x\n"
    history.commit("start", {"a.py": "pass\n"})
    history.commit("old style", {"a.py": source})
    assert mine(database, history.path).kept == 0


def test_names_and_messages_in_any_encoding(database, history):
    history.commit("start", {"a.py": PLAIN})
    name = b"caf\xe9.py"
    history.commit("Fehler behoben: fix f\xfcr Gr\xf6\xdfe".encode("latin-1"), {name: HYBRID})
    mine(database, history.path)
    assert subjects(database) == ["Fehler behoben: fix für Größe"]
    assert database.execute("SELECT path_after FROM file_change").fetchone()[0] == "caf\\xe9.py"


def test_python_2_is_read_as_tokens(database, history):
    source = PLAIN + "print 'tf.function'\n"
    history.commit("start", {"a.py": source})
    history.commit("hybrid", {"a.py": source.replace("def step", "@tf.function\ndef step")})
    mine(database, history.path)
    row = database.execute("SELECT f.method, h.qualname, h.uses_added FROM change h JOIN file_change f").fetchone()
    assert tuple(row) == ("tokens", "step", 1)


def test_notebooks_on_request(database, history, tmp_path):
    def notebook(code: str) -> str:
        cell = {"cell_type": "code", "source": [f"{line}\n" for line in ["%matplotlib inline", *code.split("\n")]]}
        return json.dumps({"cells": [cell], "nbformat": 4}, indent=1)

    history.commit("start", {"a.ipynb": notebook(PLAIN)})
    history.commit("hybrid", {"a.ipynb": notebook(HYBRID)})
    assert mine(connect(tmp_path / "plain.db"), history.path).kept == 0
    mine(database, history.path, notebooks=True)
    assert subjects(database) == ["hybrid"]
    assert database.execute("SELECT qualname, uses_added FROM change").fetchone()[:] == ("step", 1)


def test_a_missing_object_loses_one_commit(database, history):
    history.commit("one", {"a.py": HYBRID})
    lost = history.commit("two", {"a.py": HYBRID + "lost = 1\n@tf.function\ndef other(): pass\n"})
    history.commit("three", {"a.py": None, "b.py": PLAIN})
    history.commit("four", {"b.py": HYBRID + "# four\n"})
    history.forget(history.git("rev-parse", f"{lost}:a.py"))
    result = mine(database, history.path)
    assert result.error is None
    assert {"one", "four"} <= set(subjects(database))
    assert lost in result.lost
    assert database.execute("SELECT state, error FROM repository").fetchone()["state"] == "done"


def test_a_missing_tree_loses_its_commits_only(database, history):
    history.commit("one", {"a.py": HYBRID})
    lost = history.commit("two", {"sub/b.py": PLAIN})
    history.commit("three", {"sub/b.py": PLAIN + "\n"})
    history.commit("four", {"a.py": PLAIN})
    history.forget(history.git("rev-parse", f"{lost}^{{tree}}"))
    result = mine(database, history.path)
    assert lost in result.lost
    assert {"one", "four"} <= set(subjects(database))


def test_a_corrupt_object_is_a_missing_one(database, history):
    history.commit("one", {"a.py": HYBRID})
    bad = history.commit("two", {"a.py": PLAIN})
    history.commit("three", {"c.py": HYBRID})
    oid = history.git("rev-parse", f"{bad}:a.py")
    path = history.path / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(b"no zlib")
    mine(database, history.path)
    assert {"one", "three"} <= set(subjects(database))


def test_a_partial_changeset_keeps_what_can_be_read(database, history):
    history.commit("start", {"a.py": PLAIN, "b.py": PLAIN + "# b\n"})
    sha = history.commit("both", {"a.py": HYBRID, "b.py": HYBRID + "# b\n"})
    history.forget(history.git("rev-parse", f"{sha}:b.py"))
    mine(database, history.path)
    row = database.execute("SELECT state, uses_added FROM changeset WHERE subject = 'both'").fetchone()
    assert tuple(row) == ("partial", 1)


def test_mining_again_does_nothing_and_new_commits_are_added(database, history):
    history.commit("one", {"a.py": HYBRID})
    assert mine(database, history.path).kept == 1
    assert mine(database, history.path).skipped
    history.commit("two", {"a.py": PLAIN})
    again = mine(database, history.path)
    assert (again.commits, again.kept) == (1, 1)
    assert subjects(database) == ["one", "two"]
    assert database.execute("SELECT commits FROM repository").fetchone()[0] == 2


def test_an_interrupted_run_resumes(database, history, monkeypatch):
    for number in range(6):
        history.commit(f"c{number}", {f"f{number}.py": HYBRID})
    monkeypatch.setattr("hybridize.study.mine.BATCH", 2)
    seen: list[int] = []

    def stop(name: str, seen_: int, of: int, kept: int) -> None:
        seen.append(kept)
        if len(seen) == 5:
            raise KeyboardInterrupt

    miner = Miner(database, Repository(history.path), "x", MineOptions())
    with pytest.raises(KeyboardInterrupt):
        miner.run(stop)
    assert len(subjects(database)) == 4
    again = Miner(database, Repository(history.path), "x", MineOptions()).run()
    assert (again.kept, len(subjects(database))) == (2, 6)


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        ({}, {"uses_only": True}, "no --uses-only"),
        ({"until": "2021-01-14T23:59:59Z"}, {"until": "2019-12-31T23:59:59Z"}, "--until 2021-01-14T23:59:59Z"),
        ({}, {"profile": built_in("jax")}, "study of profile tensorflow"),
        ({"all_changes": True}, {}, "--all-changes"),
    ],
)
def test_a_set_mined_with_other_options_is_never_mixed(database, history, first, then, says):
    history.commit("one", {"a.py": HYBRID})
    mine(database, history.path, **first)
    history.commit("two", {"a.py": PLAIN})
    with pytest.raises(SetError, match=says) as caught:
        mine(database, history.path, **then)
    assert "\n" not in str(caught.value)
    assert "give" in str(caught.value)
    assert subjects(database) == ["one"]


def test_all_changes_asked_for_later_selects_what_is_there(database, history):
    history.commit("no repair", {"a.py": HYBRID})
    mine(database, history.path)
    assert mine(database, history.path, all_changes=True).skipped
    assert database.execute("SELECT selected FROM item").fetchone()[0] == 1


def test_a_wrap_put_under_a_condition_touches_a_use(database, history):
    text = "import tensorflow as tf\n\n\ndef f(x):\n    return x\n\n\ndef make(jit):\n    g = f\n"
    history.commit("start", {"a.py": text + "    g = tf.function(g)\n    return g\n"})
    history.commit("asked", {"a.py": text + "    if jit:\n        g = tf.function(g)\n    return g\n"})
    mine(database, history.path)
    found = database.execute("SELECT touches_use FROM changeset WHERE subject = 'asked'").fetchone()
    assert tuple(found) == (1,)


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    cli_mine.add_parser(parser.add_subparsers())
    args = parser.parse_args(words)
    code: int = args.study_run(args)
    return code


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--since", "2030-13-45"], "--since: not a date: '2030-13-45'; write YYYY-MM-DD"),
        (["--until", "yesteryear"], "--until: not a date: 'yesteryear'"),
        (["--since", "2021-01-02", "--until", "2021-01-01"], "is before"),
        (["--profile", "mine"], "no profile 'mine': give jax, numba, tensorflow, torch or a TOML file"),
        (["--jobs", "0"], "--jobs must be at least 1"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(history, tmp_path, words, complaint, capsys):
    history.commit("one", {"a.py": HYBRID})
    assert command("mine", str(history.path), "--out", str(tmp_path / "s.db"), *words) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_until_is_the_end_of_that_day(history, tmp_path, capsys):
    history.commit("one", {"a.py": HYBRID})  # 2020-09-14T12:26:40Z
    history.commit("two", {"a.py": PLAIN})
    assert command("mine", str(history.path), "--out", str(tmp_path / "s.db"), "--until", "2020-09-14") == 0
    assert subjects(connect(tmp_path / "s.db")) == ["one"]


def test_a_database_of_another_profile_says_no_in_one_line(history, tmp_path, capsys):
    history.commit("one", {"a.py": HYBRID})
    database = str(tmp_path / "s.db")
    assert command("mine", str(history.path), "--out", database) == 0
    capsys.readouterr()
    for words in (["mine", str(history.path), "--out", database], ["suggest", database]):
        assert command(*words, "--keyword", "jax.jit") == 2
        assert "holds a study of profile tensorflow (tf.function)" in capsys.readouterr().err
    assert command("suggest", database) == 0


def test_suggestions_follow_the_mined_profile(history, tmp_path, capsys):
    plain = "import jax\n\n\ndef step(x):\n    return x\n"
    history.commit("start", {"a.py": plain})
    history.commit("fix it", {"a.py": plain.replace("def step", "@jax.jit\ndef step")})
    database = str(tmp_path / "s.db")
    assert command("mine", str(history.path), "--out", database, "--profile", "jax") == 0
    assert command("suggest", database) == 0
    assert "1  add decorator" in capsys.readouterr().out


def content(path: Path) -> list[tuple[object, ...]]:
    query = (
        "SELECT i.id, i.project, i.selected, c.subject, c.uses_added, c.uses_removed, f.path_after, h.qualname,"
        " r.name, r.commits, r.candidates, r.state FROM item i JOIN changeset c ON c.id = i.changeset_id"
        " JOIN repository r ON r.id = c.repository_id LEFT JOIN file_change f ON f.changeset_id = c.id"
        " LEFT JOIN change h ON h.file_change_id = f.id ORDER BY 1, 7, 8"
    )
    return [tuple(row) for row in connect(path).execute(query)]


def test_one_job_and_two_give_equal_results(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cli_mine, "PROGRESS_SECONDS", 0.0)
    clones = []
    for name in ("a", "b", "c"):
        history = History.new(tmp_path / "owner" / name)
        history.commit("shared", {"a.py": HYBRID})
        history.commit(f"off in {name}", {"a.py": PLAIN})
        clones.append(str(history.path))
    for jobs in ("1", "2"):
        assert command("mine", *clones, "--out", str(tmp_path / f"{jobs}.db"), "--jobs", jobs) == 0
        told = capsys.readouterr().err
        assert all(f"[{n}/3] owner/{name}: 2 of 2 commits" in told for n, name in enumerate("abc", 1))
    assert content(tmp_path / "1.db") == content(tmp_path / "2.db")
    # Three equal commits are one item, of the clone that was named first.
    assert [row[1] for row in content(tmp_path / "2.db") if row[3] == "shared"] == ["owner/a"]


@pytest.mark.parametrize("stop_at", [1, 3, 7])
def test_killed_and_resumed_gives_what_one_run_gives(tmp_path, history, monkeypatch, stop_at):
    for number in range(8):
        history.commit(f"c{number}", {f"f{number % 3}.py": HYBRID if number % 2 else PLAIN + f"# {number}\n"})
    monkeypatch.setattr("hybridize.study.mine.LOOKED", 2)
    whole, resumed = connect(tmp_path / "whole.db"), connect(tmp_path / "resumed.db")
    mine(whole, history.path)

    def stop(name: str, seen: int, of: int, kept: int) -> None:
        if seen == stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Miner(resumed, Repository(history.path), repository_name(history.path, None), MineOptions()).run(stop)
    looked: list[int] = []
    Miner(resumed, Repository(history.path), repository_name(history.path, None), MineOptions()).run(
        lambda name, seen, of, kept: looked.append(of)
    )
    assert looked[0] <= 8 - stop_at + 1  # what was looked through is not looked through again
    assert content(tmp_path / "resumed.db") == content(tmp_path / "whole.db")


def test_progress_is_told_off_a_terminal_too(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(cli_mine, "PROGRESS_SECONDS", 0.0)
    cli_mine.Bar(stream).show("[1/2] owner/name: 50 of 100 commits, 3 changesets")
    assert stream.getvalue() == "[1/2] owner/name: 50 of 100 commits, 3 changesets\n"


def test_two_repositories_of_one_name_are_not_mixed_up(database, history, tmp_path):
    history.commit("one", {"a.py": HYBRID})
    other = History.new(tmp_path / "elsewhere" / "owner" / "name")
    other.commit("two", {"a.py": HYBRID + "# 2\n"})
    mine(database, history.path)
    assert "already called" in (mine(database, other.path).error or "")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_clone_is_called_as_its_remote_and_its_address_kept(history, tmp_path, jobs, capsys):
    history.commit("one", {"a.py": HYBRID})
    history.git("remote", "add", "origin", "git@example.org:someone/some.git")
    other = History.new(tmp_path / "there" / "another")
    other.commit("two", {"a.py": HYBRID})
    clones = [str(history.path), str(other.path)]
    assert command("mine", *clones, "--out", str(tmp_path / "s.db"), "--jobs", jobs) == 0
    with closing(sqlite3.connect(tmp_path / "s.db")) as found:
        rows = found.execute("SELECT name, url FROM repository ORDER BY id").fetchall()
    assert rows == [("someone/some", "https://example.org/someone/some"), ("there/another", None)]


def test_a_shared_commit_is_one_item(database, history, tmp_path):
    history.commit("one", {"a.py": HYBRID})
    history.git("clone", "-q", "--bare", str(history.path), str(tmp_path / "fork.git"))
    mine(database, history.path)
    mine(database, tmp_path / "fork.git")
    assert database.execute("SELECT count(*) FROM changeset").fetchone()[0] == 2
    assert database.execute("SELECT count(*) FROM item").fetchone()[0] == 1


def test_what_is_no_repository_says_so(database, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "not a git repository" in (mine(database, tmp_path / "empty").error or "")


def test_a_history_without_commits_says_so(database, history):
    assert mine(database, history.path).error == "no commit at HEAD"


def test_the_end_of_a_shallow_clone_is_no_changeset(database, history, tmp_path):
    history.commit("one", {"a.py": HYBRID})
    history.commit("two", {"a.py": HYBRID + "# more\n"})
    history.commit("three", {"a.py": PLAIN})
    history.git("clone", "-q", "--depth", "2", f"file://{history.path}", str(tmp_path / "shallow"))
    mine(database, tmp_path / "shallow")
    assert subjects(database) == ["three"]


def test_the_keyword_is_an_option(database, history):
    source = "import torch\n\n\ndef step(x):\n    return x\n"
    history.commit("start", {"a.py": source})
    history.commit("compiled", {"a.py": source.replace("def step", "@torch.compile\ndef step")})
    mine(database, history.path, profile=built_in("torch"))
    assert subjects(database) == ["compiled"]


def test_a_hostile_configuration_is_not_obeyed(database, history, tmp_path):
    marker = tmp_path / "ran"
    history.commit("start", {"a.py": PLAIN, ".gitattributes": "*.py diff=evil\n"})
    history.commit("hybrid", {"a.py": HYBRID})
    for key in ("diff.evil.command", "diff.evil.textconv", "diff.external", "core.fsmonitor", "core.pager"):
        history.git("config", key, f"touch {marker}; true")
    history.git("config", "log.follow", "true")
    mine(database, history.path)
    assert subjects(database) == ["hybrid"]
    assert not marker.exists()


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Fixes a thing", True),
        ("Add feature\n\nAlso fixes bugs in the loop", True),
        ("Fix.", True),
        ("two bugs.", False),  # punctuation keeps the plural from being lemmatized, as in the original
        ("Improve error handling", False),
        ("Use error codes", False),
        ("Fix error handling", True),
        ("debugging prefix", False),
        ("BUG=none", False),
        ("bug= 123 fixed", False),
        ("TYPO", True),
        ("fixup! speed", False),
        ("", False),
    ],
)
def test_the_papers_bug_fix_filter(message, kept):
    assert is_bug_fix(message) is kept


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/o/n.git", "https://github.com/o/n"),
        ("https://user:secret@github.com/o/n", "https://github.com/o/n"),
        ("git@github.com:o/n.git", "https://github.com/o/n"),
        ("ssh://git@github.com:22/o/n", "https://github.com/o/n"),
        ("/some/path/n.git", None),
        ("../n", None),
    ],
)
def test_web_addresses_carry_no_credentials(remote, address):
    assert web_address(remote) == address


# -- a project's own name for it -------------------------------------------------------------------------------------

COMPAT = "import tensorflow as tf\n\n\ndef maybe_function(f):\n    return tf.function(f) if FAST else f\n"
USER = "from .compat import maybe_function as function\n\n\ndef step(x):\n    return x\n"


@pytest.mark.parametrize(
    ("eager", "hybrid"),
    [
        (USER, USER.replace("def step", "@function\ndef step")),
        (
            USER.replace("from .compat", "from pkg"),
            USER.replace("from .compat", "from pkg").replace("def step", "@function\ndef step"),
        ),
        (
            "from pkg import compat as c\n\n\ndef step(x):\n    return x\n",
            "from pkg import compat as c\n\n\n@c.maybe_function\ndef step(x):\n    return x\n",
        ),
    ],
    ids=["imported", "imported through the package", "by its module"],
)
def test_a_maker_from_another_file_of_the_project(database, history, eager, hybrid):
    start = {"pkg/compat.py": COMPAT, "pkg/__init__.py": "from .compat import maybe_function\n"}
    history.commit("start", {**start, "pkg/user.py": eager})
    history.commit("on", {"pkg/user.py": hybrid})
    history.commit("unrelated", {"pkg/user.py": hybrid.replace("return x", "return x + 1")})
    history.commit("off", {"pkg/user.py": eager.replace("return x", "return x + 1")})
    mine(database, history.path, all_changes=True)
    assert subjects(database) == ["start", "on", "off"]
    suggest_all(database)
    kinds = [row[0] for row in database.execute("SELECT kind FROM suggestion WHERE is_primary ORDER BY item")]
    assert sorted(kinds) == ["add_decorator", "other", "remove_decorator"]  # what is new as a whole is other


def test_a_namesake_from_elsewhere_is_no_maker(database, history):
    history.commit("start", {"pkg/compat.py": COMPAT})
    history.commit(
        "other", {"pkg/user.py": "from elsewhere import maybe_function\n\n\n@maybe_function\ndef f(): pass\n"}
    )
    history.commit("before there was one", {"pkg/compat.py": "def maybe_function(f):\n    return f\n"})
    history.commit("last", {"pkg/compat.py": COMPAT})
    mine(database, history.path)
    assert "other" not in subjects(database)


def test_files_that_import_each_other_come_to_an_end(database, history):
    history.commit(
        "start",
        {"a.py": "from b import *\nfrom b import maybe_function\n" + COMPAT, "b.py": "from a import maybe_function\n"},
    )
    history.commit("on", {"b.py": "from a import maybe_function\n\n\n@maybe_function\ndef f(): pass\n"})
    mine(database, history.path)
    assert subjects(database) == ["start", "on"]


def test_two_do_not_mine_into_one_file(history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fcntl = pytest.importorskip("fcntl")
    history.commit("Add a decorator", {"a.py": HYBRID})
    database = tmp_path / "s.db"
    connect(database).close()
    with open(database, "rb") as other:
        fcntl.flock(other.fileno(), fcntl.LOCK_EX)
        assert command("mine", str(history.path), "--out", str(database)) == 2
    assert capsys.readouterr().err == f"error: {database}: another `study mine` is at work on it\n"
    assert command("mine", str(history.path), "--out", str(database)) == 0
