"""Baselines: what is in the file, what survives, and how it gets shorter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridize.cli import main

from .test_living_with_it import PROGRAM

CHECK = ("check", "--all-safe", "--isolated", "--baseline", "baseline.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(PROGRAM)
    return tmp_path


def entries(folder: Path) -> list[dict[str, Any]]:
    data = json.loads((folder / "baseline.json").read_text(encoding="utf-8"))
    assert data["version"] == 2
    found: list[dict[str, Any]] = data["entries"]
    return found


def test_an_entry_is_a_line_that_a_person_can_read(folder: Path) -> None:
    assert main([*CHECK, "--write-baseline"]) == 0
    text = (folder / "baseline.json").read_text(encoding="utf-8")
    assert '  {"path": "main.py", "code": "P1", "function": "double"}' in text
    line = '{"path": "main.py", "code": "HY301", "function": "shown", "text": "return tf.constant(x.numpy())"'
    assert any(each.strip().startswith(line) for each in text.splitlines())
    assert len(text.splitlines()) == len(entries(folder)) + 3


def test_a_written_baseline_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*CHECK, "--write-baseline"])
    assert main([*CHECK, "-q", "--output-format", "concise"]) == 0
    assert capsys.readouterr().out == ""


def test_what_it_leaves_out_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*CHECK, "--write-baseline"])
    capsys.readouterr()
    main(CHECK)
    number = sum(entry.get("count", 1) for entry in entries(folder))
    assert capsys.readouterr().err == f"hybridize: note: {number} entries of baseline.json not reported\n"


def test_it_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*CHECK, "--write-baseline"])
    twice = PROGRAM.replace("def double", "def triple(x):\n    return x * 3\n\ntriple(tf.ones(1))\n\ndef double")
    twice = twice.replace(
        "    return tf.constant(x.numpy())", "    return tf.constant(x.numpy())\n    return tf.constant(x.numpy())"
    )
    (folder / "main.py").write_text(f"# moved\n\n{twice}")
    capsys.readouterr()
    assert main([*CHECK, "-q", "--output-format", "concise"]) == 1
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["P1"]


def test_paths_count_from_the_file_wherever_it_is_used_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ci").mkdir()
    options = ["check", "--all-safe", "--isolated", "-q", "--output-format", "concise"]
    assert main([*options, "main.py", "--baseline", "ci/known.json", "--write-baseline"]) == 0
    assert {entry["path"] for entry in json.loads((folder / "ci" / "known.json").read_text())["entries"]} == {
        "../main.py"
    }
    monkeypatch.chdir(folder / "ci")
    assert main([*options, "..", "--baseline", "known.json"]) == 0


def test_what_is_gone_is_told_and_pruned(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*CHECK, "--write-baseline"])
    before = entries(folder)
    (folder / "main.py").write_text(PROGRAM.replace("x.numpy()", "x").replace("def double", "def doubled"))
    capsys.readouterr()
    main([*CHECK, "-q"])
    assert "baseline" not in capsys.readouterr().err
    main(CHECK)
    assert "no longer found (--prune drops what is gone)" in capsys.readouterr().err
    assert entries(folder) == before
    main([*CHECK, "--prune"])
    assert "dropped" in capsys.readouterr().err
    left = entries(folder)
    assert all(entry in before for entry in left)
    assert not [e for e in left if e.get("function") in ("double", "shown") and e["code"] in ("P1", "HY301")]
    assert left  # what `total` does is still known
    main([*CHECK, "--prune"])
    assert "dropped" not in capsys.readouterr().err


def test_what_was_not_looked_at_is_not_pruned(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "other.py").write_text(PROGRAM)
    main([*CHECK, "--write-baseline"])
    before = entries(folder)
    (folder / "main.py").write_text("import tensorflow as tf\n")
    (folder / "sub" / "other.py").write_text("import tensorflow as tf\n")
    main([*CHECK, "sub", "--prune"])
    assert {e["path"] for e in entries(folder)} == {"main.py"}
    main([*CHECK, "--ignore", "convert-to-hybrid,HY,P2,P3,P4,P6,P7", "--prune"])
    assert entries(folder) == [e for e in before if e["path"] == "main.py"]
    main([*CHECK, "--select", "P1", "--prune"])
    assert {e["code"] for e in entries(folder)} == {e["code"] for e in before} - {"P1"}
    (folder / "main.py").write_text("def f(:\n")
    main([*CHECK, "--prune"])
    assert entries(folder)  # nobody knows what a file says that cannot be parsed
    (folder / "main.py").unlink()
    main([*CHECK, "sub", "--prune"])
    assert entries(folder) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prune"], "--prune needs --baseline FILE"),
        (["--write-baseline"], "--write-baseline needs --baseline FILE"),
        (["--baseline", "b", "--write-baseline", "--prune"], "--write-baseline does not go with --prune"),
        (["--baseline", "b", "--write-baseline", "--since", "HEAD"], "--write-baseline does not go with --since"),
        (
            ["--add-ignore", "--output-format", "json"],
            "--add-ignore writes comments and no report: it goes with no --output-format or --output-file",
        ),
        (["--reason", "x"], "--reason needs --add-ignore"),
        (["--add-ignore", "--reason", "a # b"], "--reason takes a line of text without `#`"),
        (["--add-ignore", "--reason", "a\nb"], "--reason takes a line of text without `#`"),
        (["--baseline", "gone.json"], "gone.json: cannot be read: no such file or directory"),
    ],
)
def test_what_does_not_go_together(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *options]) == 2
    assert capsys.readouterr().err == f"hybridize: error: {said}\n"


@pytest.mark.parametrize("style", ["full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit"])
def test_the_exit_code_is_that_of_any_format(style: str, folder: Path) -> None:
    check = ["check", "--all-safe", "--isolated", "--output-format", style, "--output-file", "out"]
    assert main(check) == 1
    assert main([*check, "--exit-zero"]) == 0
    assert main([*check, "--exit-zero", ".", "gone.py"]) == 2
    (folder / "main.py").write_text("x = 1\n")
    assert main(check) == 0
