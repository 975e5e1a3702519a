"""`--add-ignore`: comments for all that is reported; then nothing is, and a second run adds nothing."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from hybridize.cli import main
from hybridize.rewrite.journal import Journal

from .test_living_with_it import PROGRAM

ADD = ("check", "--all-safe", "--isolated", "--add-ignore")
QUIET = ("check", "--all-safe", "--isolated", "-q", "--output-format", "concise")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(PROGRAM)
    return tmp_path


def test_what_is_reported_is_silenced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(QUIET) == 1
    capsys.readouterr()
    assert main([*ADD, "--reason", "before 2026"]) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("hybridize: note: ")
    assert output.err.endswith(" comments written in 1 file\n")
    text = (folder / "main.py").read_text()
    assert "def double(x):  # hybridize: ignore[P1] -- before 2026\n" in text
    assert "HY301" in next(line for line in text.splitlines() if "tf.constant(x.numpy())" in line)
    plain = [line.partition("  # hybridize")[0] for line in text.splitlines()]
    assert plain == PROGRAM.splitlines()
    assert main(QUIET) == 0
    assert capsys.readouterr().out == ""


def test_a_second_run_adds_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(ADD)
    text = (folder / "main.py").read_text()
    capsys.readouterr()
    assert main(ADD) == 0
    assert capsys.readouterr().err == "hybridize: note: 0 comments written in 0 files\n"
    assert (folder / "main.py").read_text() == text


def test_only_what_is_selected(folder: Path) -> None:
    main([*ADD, "--select", "HY301"])
    text = (folder / "main.py").read_text()
    assert "HY301" in text
    assert "P1" not in text


def test_what_the_baseline_knows_is_left_alone(folder: Path) -> None:
    main(["check", "--all-safe", "--isolated", "--baseline", "b.json", "--write-baseline"])
    (folder / "main.py").write_text(PROGRAM + "\ndef triple(x):\n    return x * 3\n\ntriple(tf.ones(2))\n")
    assert main([*ADD, "--baseline", "b.json"]) == 0
    lines = [line for line in (folder / "main.py").read_text().splitlines() if "hybridize" in line]
    assert lines == ["def triple(x):  # hybridize: ignore[P1]"]


def test_a_decorator_that_is_commented_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main.py").write_text(PROGRAM.replace("def total", "# @tf.function\ndef total"))
    main(QUIET)
    assert "HY502" in capsys.readouterr().out
    assert main(ADD) == 0
    assert "# @tf.function  # hybridize: ignore[HY502]\n" in (folder / "main.py").read_text()
    assert main(QUIET) == 0


def test_a_notebook(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main.py").unlink()
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": part.splitlines(keepends=True)}
        for part in PROGRAM.split("\n\n")
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notes.ipynb").write_text(json.dumps(notebook, indent=1))
    assert main(ADD) == 0
    new = json.loads((folder / "notes.ipynb").read_text())
    assert "def double(x):  # hybridize: ignore[P1]\n" in [line for cell in new["cells"] for line in cell["source"]]
    assert main(QUIET) == 0


def test_what_takes_no_comment_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "main.py").write_text(
        PROGRAM.replace("x.numpy())", "1 + \\\n        2 + \\\n        x.numpy() + \\\n        3)")
    )
    assert main(ADD) == 1
    said = capsys.readouterr().err.splitlines()
    assert any(line.startswith("hybridize: left: main.py:15: HY301 ") for line in said)
    assert any(line.startswith("hybridize: left: broken.py:1: E999 ") for line in said)
    assert main([*ADD, "--exit-zero"]) == 0
    assert main([*ADD, "--exit-zero", ".", "gone.py"]) == 2


def test_a_comment_that_silences_nothing_is_not_silenced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main.py").write_text(PROGRAM.replace("y = x * 2\n", "y = x * 2  # hybridize: ignore[HY302]\n"))
    assert main(ADD) == 1
    assert "HY020 unused-suppression: no comment silences it" in capsys.readouterr().err
    assert "HY020" not in (folder / "main.py").read_text()


def test_a_file_that_is_read_only_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "main.py").chmod(stat.S_IRUSR)
    assert main(ADD) == 1
    assert "main.py: not written: the file is read-only" in capsys.readouterr().err
    assert (folder / "main.py").read_text() == PROGRAM


def test_a_run_of_fix_with_tests_is_not_disturbed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal.open(folder)
    assert main(ADD) == 2
    assert "another run of `fix --verify-with` is at work here" in capsys.readouterr().err
    assert (folder / "main.py").read_text() == PROGRAM
    journal.close()
    assert main(ADD) == 0
