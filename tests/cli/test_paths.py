"""What is given is part of its project, and places are those that `patch`, editors and annotations find from here."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.cli import main

HELPER = """\
import tensorflow as tf

seen = []


def scale(x):
    return tf.reduce_sum(tf.exp(x) * tf.sin(x) + tf.matmul(x, x))


def record(x):
    seen.append(x)
"""
TRAIN = """\
import tensorflow as tf

from helper import record, scale


def step(x):
    return scale(x) + tf.reduce_mean(tf.matmul(x, x)) * tf.reduce_max(tf.tanh(x))


def logged(x):
    record(x)
    return scale(x)


for _ in range(1000):
    logged(step(tf.ones([64, 64])) * tf.ones([64, 64]))
"""
NOTEBOOK_CELL = "def step(x):\n    return tf.reduce_sum(tf.matmul(x, x) + tf.exp(x) * tf.sin(x))\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`top/sub/train.py` uses `top/sub/helper.py`, and `top/other.py` stands beside them; we are in `top`."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True)
    (top / "pyproject.toml").write_text('[project]\nname = "top"\n')
    (top / "sub" / "helper.py").write_text(HELPER)
    (top / "sub" / "train.py").write_text(TRAIN)
    (top / "other.py").write_text(TRAIN.replace("from helper", "from sub.helper"))
    monkeypatch.chdir(top)
    return top


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capsys.readouterr()
    main(["check", "--no-cache", "--output-format", "json", *arguments])
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def of_file(report: dict[str, object], path: str) -> list[object]:
    return [f for f in report["functions"] if f["path"] == path]  # type: ignore[attr-defined]


def test_a_file_says_what_its_project_says(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, alone = data(capsys, "."), data(capsys, "sub/train.py")
    assert alone["functions"] == of_file(whole, "sub/train.py") != []
    assert alone["project"]["files"] == 1  # type: ignore[index]


def test_a_folder_says_what_its_project_says_wherever_we_are(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = data(capsys, ".")
    monkeypatch.chdir(project / "sub")
    part = data(capsys)
    assert part["functions"] == of_file(whole, "sub/helper.py") + of_file(whole, "sub/train.py")
    assert part["project"]["prefix"] == f"{project}/"  # type: ignore[index]
    monkeypatch.chdir(project.parent)
    assert data(capsys, "top/sub")["functions"] == part["functions"]


def test_a_file_of_no_marked_project_belongs_to_the_working_folder(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pyproject.toml").unlink()
    assert data(capsys, "sub/train.py")["functions"] == of_file(data(capsys, "."), "sub/train.py")


@pytest.mark.parametrize(("folder", "expected"), [(".", "top/sub/train.py"), ("top/sub", "train.py"), ("else", None)])
@pytest.mark.parametrize("form", ["concise", "github", "full"])
def test_paths_are_those_of_the_working_folder(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    expected: str | None,
    form: str,
) -> None:
    here = project.parent / folder
    here.mkdir(exist_ok=True)
    monkeypatch.chdir(here)
    main(["check", "--all-safe", "--no-cache", "--output-format", form, str(project / "sub" / "train.py")])
    output = capsys.readouterr().out
    pattern = {
        "concise": r"^(\S+train\.py|train\.py):\d",
        "github": r"file=([^,]+),",
        "full": r"^ +1  (\S*train\.py):\d",
    }[form]
    shown = set(re.findall(pattern, output, re.M))
    assert shown == {expected or str(project / "sub" / "train.py")}


def test_the_diff_of_a_sub_folder_is_a_patch_from_here(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("patch") is None:
        pytest.skip("no patch on this machine")
    (project / "sub" / "book.ipynb").write_text(notebook(["import tensorflow as tf\n", NOTEBOOK_CELL]))
    assert main(["fix", "--all-safe", "--diff", "--no-cache", "sub"]) == 1
    diff = capsys.readouterr().out
    assert "=== sub/book.ipynb:cell 3\n" in diff
    done = subprocess.run(["patch", "-p0"], input=diff, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "@tf.function\ndef step" in (project / "sub" / "train.py").read_text()
    assert main(["fix", "--all-safe", "--diff", "--no-cache", "sub/train.py", "sub/helper.py"]) == 0


def test_only_what_is_given_is_changed(project: Path) -> None:
    other = (project / "other.py").read_bytes()
    assert main(["fix", "--all-safe", "--no-cache", "sub/train.py"]) == 0
    assert "@tf.function\ndef step" in (project / "sub" / "train.py").read_text()
    assert (project / "other.py").read_bytes() == other
    assert (project / "sub" / "helper.py").read_text() == HELPER


def test_a_repair_that_needs_another_file_is_not_made(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "sub" / "helper.py").write_text(HELPER.replace("seen.append(x)", 'print("x", x)'))
    said = "sub/helper.py, too, which was not asked for"
    main(["fix", "--unsafe-fixes", "--all-safe", "--no-cache", "--verbose", "--diff", "sub/train.py"])
    output = capsys.readouterr()
    assert said in " ".join(output.err.split())
    assert "helper.py" not in output.out
    main(["fix", "--unsafe-fixes", "--all-safe", "--no-cache", "--verbose", "--diff", "sub"])
    assert "+++ sub/helper.py" in capsys.readouterr().out


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(text.encode()))


def test_stdin_is_the_file_of_that_name(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = data(capsys, "sub/train.py")
    (project / "sub" / "train.py").write_text("broken(\n")
    give(monkeypatch, TRAIN)
    assert data(capsys, "-", "--stdin-filename", "sub/train.py")["functions"] == saved["functions"]
    (project / "sub" / "train.py").unlink()
    give(monkeypatch, TRAIN)
    assert data(capsys, "-", "--stdin-filename", "sub/train.py")["functions"] == saved["functions"]


@pytest.mark.parametrize("there", [True, False])
def test_fix_writes_the_text_to_stdout(
    project: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    file = project / "sub" / "train.py"
    text = "\ufeff" + TRAIN.replace("\n", "\r\n")
    if not there:
        file.unlink()
    give(monkeypatch, text)
    assert main(["fix", "--all-safe", "--no-cache", "-", "--stdin-filename", "sub/train.py"]) == 0
    fixed, said = capsysbinary.readouterr()
    assert fixed == text.replace("def step", "@tf.function\r\ndef step").encode()
    assert b"to hybrid    step" in said
    assert file.exists() == there
    assert not there or file.read_text() == TRAIN
    give(monkeypatch, fixed.decode())
    assert main(["fix", "--all-safe", "--no-cache", "-", "--stdin-filename", "sub/train.py"]) == 0
    assert capsysbinary.readouterr()[0] == fixed


def test_what_cannot_be_parsed_comes_out_as_it_was(
    project: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    give(monkeypatch, "def f(:\n")
    assert main(["fix", "--no-cache", "-", "--stdin-filename", "sub/new.py"]) == 1
    fixed, said = capsysbinary.readouterr()
    assert fixed == b"def f(:\n"
    assert b"sub/new.py:1" in said


def test_the_diff_of_stdin(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, TRAIN)
    assert main(["fix", "--all-safe", "--diff", "--no-cache", "-", "--stdin-filename", "sub/train.py"]) == 1
    assert capsys.readouterr().out.startswith("--- sub/train.py\n+++ sub/train.py\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["check", "-"], "`-` needs --stdin-filename NAME"),
        (["check", "-", "sub", "--stdin-filename", "a.py"], "stands alone"),
        (["check", "-", "--stdin-filename", "a.txt"], "neither a .py nor an .ipynb file"),
        (["fix", "-", "--stdin-filename", "a.py", "--interactive"], "goes with none of --interactive"),
    ],
)
def test_what_stdin_does_not_go_with(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert main(arguments) == 2
    assert reason in capsys.readouterr().err


def notebook(sources: list[str], indent: int | None = None) -> str:
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "metadata": {}, "source": "# Title"}]
    for source in sources:
        cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=indent)


@pytest.mark.parametrize("indent", [None, 1])
def test_cells_of_notebooks(project: Path, capsys: pytest.CaptureFixture[str], indent: int | None) -> None:
    call = "\nfor _ in range(1000):\n    step(tf.ones([64, 64]))\n"
    text = notebook(["import tensorflow as tf\n", NOTEBOOK_CELL + call], indent)
    (project / "book.ipynb").write_text(text)
    main(["check", "--all-safe", "--no-cache", "--output-format", "concise", "book.ipynb"])
    assert capsys.readouterr().out.startswith("book.ipynb:cell 3:1:1: P1 convert `step`")
    main(["explain", "--all-safe", "--no-cache", "book.ipynb:cell 3:1"])
    assert "add `@tf.function` to the definition on line 1 of cell 3" in capsys.readouterr().out
    main(["check", "--all-safe", "--no-cache", "--output-format", "github", "book.ipynb"])
    line = text[: text.index("def step")].count("\n") + 1
    column = text.index("def step") - text.rfind("\n", 0, text.index("def step"))
    assert f"file=book.ipynb,line={line},endLine={line},col={column}," in capsys.readouterr().out
    assert main(["explain", "--all-safe", "--no-cache", "book.ipynb:cell 3:2"]) == 0
    assert "book.ipynb:cell 3:1, function" in capsys.readouterr().out
    main(["fix", "--diff", "--all-safe", "--no-cache", "book.ipynb"])
    assert capsys.readouterr().out.startswith("=== book.ipynb:cell 3\n@@ line 1 @@\n+@tf.function\n def step(x):\n")
    assert main(["fix", "--all-safe", "--no-cache", "book.ipynb"]) == 0
    assert (project / "book.ipynb").read_text() == text.replace('"def step', '"@tf.function\\ndef step')


@pytest.mark.parametrize("form", ["full", "concise", "github", "gitlab", "sarif"])
def test_a_notebook_on_stdin_has_the_places_of_the_file_that_it_stands_for(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        "@tf.function\n",
        "def f(x, n):\n",
        "    return tf.exp(x) * n\n",
        "for n in range(100):\n",
        "    f(tf.ones([3]), n)\n",
    ]
    sources = [["import tensorflow as tf\n"], lines]
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    book = {
        "cells": [cell | {"source": source} for source in sources],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    data = json.dumps(book, indent=1).encode()
    (tmp_path / "book.ipynb").write_bytes(data)
    main(["check", "book.ipynb", "--output-format", form])
    expected = capsys.readouterr().out
    (tmp_path / "book.ipynb").unlink()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    main(["check", "-", "--stdin-filename", "book.ipynb", "--output-format", form])
    assert capsys.readouterr().out == expected
    assert "HY101" in expected
