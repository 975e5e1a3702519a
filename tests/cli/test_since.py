"""`--since`: the analysis is that of the whole project, the report that of what changed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from hybridize.cli import main

PROGRAM = """\
import tensorflow as tf


def double(x):
    return tf.exp(x) * 2.0


def triple(x):
    return tf.exp(x) * 3.0


@tf.function
def shown(x):
    return tf.constant(x.numpy())


double(tf.ones(3))
triple(tf.ones(3))
shown(tf.ones(3))
"""


def git(*arguments: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    (tmp_path / "main.py").write_text(PROGRAM)
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    return tmp_path


def reported(capsys: pytest.CaptureFixture[str], revision: str = "HEAD", *options: str) -> list[str]:
    """The functions that are to change, and the findings."""
    code = main(["check", "--since", revision, "--all-safe", "--isolated", "--output-format", "json", *options])
    data = json.loads(capsys.readouterr().out)
    changed = [f["qualname"] for f in data["functions"] if f["decision"]["action"] != "keep"]
    found = [*changed, *(f"{f['code']}:{f['line']}" for f in data["findings"])]
    assert code == bool(found)
    return found


def edit(folder: Path, old: str, new: str) -> None:
    text = (folder / "main.py").read_text()
    assert old in text
    (folder / "main.py").write_text(text.replace(old, new, 1))


def test_nothing_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(capsys) == []


def test_a_function_that_was_touched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(folder, "tf.exp(x) * 3.0", "tf.exp(x) * 4.0")
    assert reported(capsys) == ["triple"]


def test_a_finding_in_a_function_that_was_touched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(folder, "    return tf.constant", "    # now\n    return tf.constant")
    found = reported(capsys)
    assert "HY301:15" in found
    assert {"double", "triple"}.isdisjoint(found)


def test_lines_that_only_moved_are_not_touched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(folder, "import tensorflow as tf\n", "import tensorflow as tf\n\nLIMIT = 3\n")
    assert reported(capsys) == []


def test_a_line_that_is_gone_touches_its_function_and_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(folder, "@tf.function\n", "")
    assert reported(capsys) == []  # nothing to change, but it is looked at:
    main(["check", "--since", "HEAD", "--all", "--isolated", "--output-format", "json"])
    assert [f["qualname"] for f in json.loads(capsys.readouterr().out)["functions"]] == ["shown"]
    edit(folder, "def double(x):\n    return tf.exp(x) * 2.0\n\n\n", "")
    edit(folder, "double(tf.ones(3))\n", "")
    main(["check", "--since", "HEAD", "--all", "--isolated", "--output-format", "json"])
    assert [f["qualname"] for f in json.loads(capsys.readouterr().out)["functions"]] == ["shown"]


def test_what_is_staged_committed_and_untracked_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.py").write_text(
        "import tensorflow as tf\n\ndef halve(x):\n    return tf.exp(x)\n\nhalve(tf.ones(3))\n"
    )
    assert reported(capsys) == ["halve"]
    git("add", ".")
    assert reported(capsys) == ["halve"]
    git("commit", "--quiet", "-m", "two")
    assert reported(capsys) == []
    assert reported(capsys, "HEAD~1") == ["halve"]


def test_verdicts_rest_on_files_that_did_not_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.py").write_text("import tensorflow as tf\n\ndef halve(x):\n    return tf.exp(x) / 2.0\n")
    (folder / "main.py").write_text("import tensorflow as tf\nimport model\n\nmodel.halve(tf.ones(3))\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "two")
    (folder / "model.py").write_text((folder / "model.py").read_text().replace("2.0", "4.0"))
    assert reported(capsys) == ["halve"]  # that it takes a tensor is said in main.py


def test_the_project_may_be_a_folder_of_the_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "sub dir").mkdir()
    (folder / "sub dir" / "größe.py").write_text(PROGRAM)
    git("add", ".")
    git("commit", "--quiet", "-m", "two")
    monkeypatch.chdir(folder / "sub dir")
    file = folder / "sub dir" / "größe.py"
    file.write_text(PROGRAM.replace("* 3.0", "* 5.0"))
    assert reported(capsys) == ["triple"]
    git("add", ".")
    monkeypatch.chdir(folder)
    assert reported(capsys, "HEAD", "sub dir/größe.py") == ["triple"]


def test_line_ends_alone_are_no_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main.py").write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    assert reported(capsys) == []


def test_a_cell_of_a_notebook(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(text: str) -> None:
        cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": part} for part in text.split("\n\n\n")]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        (folder / "notes.ipynb").write_text(json.dumps(notebook))

    write(PROGRAM)
    (folder / "main.py").unlink()
    git("add", ".")
    git("commit", "--quiet", "-m", "two")
    write(PROGRAM.replace("* 3.0", "* 5.0"))
    assert reported(capsys) == ["triple"]


def test_a_submodule_counts_from_its_own_commit(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "lib.py").write_text(PROGRAM)
    git("-C", str(other), "init", "--quiet")
    git("-C", str(other), "add", ".")
    git("-C", str(other), "commit", "--quiet", "-m", "one")
    git("-c", "protocol.file.allow=always", "submodule", "add", str(other), "lib")
    git("commit", "--quiet", "-m", "two")
    assert reported(capsys) == []
    (folder / "lib" / "lib.py").write_text(PROGRAM.replace("* 3.0", "* 5.0"))
    assert reported(capsys) == ["triple"]


@pytest.mark.parametrize("revision", ["gone", "", "--all", "HEAD:main.py", "HEAD~7"])
def test_a_bad_revision_is_a_line(revision: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"--since={revision}"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"hybridize: error: --since {revision}: ")
    assert output.err.count("\n") == 1
    assert "revision" in output.err


def test_no_repository(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path_factory.mktemp("plain")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    assert main(["check", "--since", "HEAD"]) == 2
    assert capsys.readouterr().err.startswith("hybridize: error: --since HEAD: not a git repository")


def test_no_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["check", "--since", "HEAD"]) == 2
    said = "hybridize: error: --since HEAD: git cannot be run: no such file or directory\n"
    assert capsys.readouterr().err == said


def test_nothing_that_the_repository_configures_is_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A filter, a text converter, an external diff, a monitor and hooks: each would leave a mark."""
    mark = folder / "mark"
    program = folder / ".git" / "program"
    program.write_text(f"#!/bin/sh\necho ran >> '{mark}'\ncat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for hook in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction"):
        (folder / ".git" / "hooks").mkdir(exist_ok=True)
        (folder / ".git" / "hooks" / hook).write_bytes(program.read_bytes())
        (folder / ".git" / "hooks" / hook).chmod(0o755)
    (folder / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    keys = ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.evil.command", "diff.external")
    for key in (*keys, "core.fsmonitor", "core.pager"):
        git("config", key, str(program))
    edit(folder, "* 3.0", "* 5.0")
    assert reported(capsys) == ["triple"]
    assert not mark.exists()
    subprocess.run(["git", "status"], check=False, capture_output=True)
    assert mark.exists()  # the trap works
