"""Living with findings: comments that silence, settings by file, and a baseline for old projects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hybridize.cli import main

PROGRAM = """\
import tensorflow as tf

def total(x):
    y = x * 2
    return y.numpy()

def double(x):
    return x * 2

@tf.function
def shown(x):
    return tf.constant(x.numpy())

total(tf.ones(3))
double(tf.ones(3))
shown(tf.ones(3))
"""


def check(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    code = main(["check", str(folder), "--output-format", "json", "--all-safe", *options])
    return code, json.loads(capsys.readouterr().out)


def project(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    text = PROGRAM
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "main.py").write_text(text)
    return tmp_path


def actions(report: dict[str, Any]) -> dict[str, str]:
    return {f["qualname"]: f["decision"]["action"] for f in report["functions"]}


def test_a_hit_that_is_silenced_on_its_line_blocks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    silenced = ("return y.numpy()", "return y.numpy()  # hybridize: ignore[HY301] -- trust me")
    _, before = check(project(tmp_path), capsys)
    assert actions(before)["total"] == "keep"
    _, after = check(project(tmp_path, silenced), capsys)
    assert not [
        s for f in after["functions"] for s in f["statuses"] if f["qualname"] == "total" and s["code"] == "HY301"
    ]


def test_a_decision_is_silenced_on_the_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, report = check(project(tmp_path, ("def double(x):", "def double(x):  # hybridize: ignore[P1]")), capsys)
    assert actions(report)["double"] == "keep"


def test_a_finding_is_silenced_for_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, before = check(project(tmp_path), capsys)
    assert "HY301" in {f["code"] for f in before["findings"]}
    _, report = check(project(tmp_path, ("import tensorflow", "# hybridize: ignore[HY301]\nimport tensorflow")), capsys)
    assert "HY301" not in {f["code"] for f in report["findings"]}


def test_a_comment_that_silences_nothing_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, report = check(project(tmp_path, ("y = x * 2\n", "y = x * 2  # hybridize: ignore[HY302]\n")), capsys)
    (unused,) = [f for f in report["findings"] if f["name"] == "unused-suppression"]
    assert (unused["line"], unused["severity"]) == (4, "warning")


def test_codes_are_ignored_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.hybridize.per-file-ignores]\n"main.py" = ["P1"]\n"*.txt" = ["HY301"]\n'
    )
    _, report = check(project(tmp_path), capsys)
    assert actions(report)["double"] == "keep"
    assert "HY301" in {f["code"] for f in report["findings"]}
    _, report = check(project(tmp_path), capsys, "--per-file-ignores", "main.py:HY301,P1")
    assert "HY301" not in {f["code"] for f in report["findings"]}


def test_a_baseline_hides_what_was_there_and_survives_shifts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = project(tmp_path), tmp_path / "baseline.json"
    assert main(["check", str(folder), "--all-safe", "--baseline", str(file), "--write-baseline"]) == 0
    capsys.readouterr()
    code, report = check(folder, capsys, "--baseline", str(file))
    assert (code, report["findings"], set(actions(report).values())) == (0, [], {"keep"})
    new = "import tensorflow as tf\n\nLIMIT = 3\n\ndef triple(x):\n    return x * 3\n\ntriple(tf.ones(2))\n"
    code, report = check(project(tmp_path, ("import tensorflow as tf\n", new)), capsys, "--baseline", str(file))
    assert (code, report["findings"]) == (1, [])
    assert [name for name, action in actions(report).items() if action != "keep"] == ["triple"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 99, "entries": []}',
        '{"version": 2, "entries": [3]}',
        '{"version": 2, "entries": [{"path": 3, "code": "P1"}]}',
    ],
)
def test_a_broken_baseline_is_a_usage_error(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "baseline.json").write_text(text)
    assert main(["check", str(project(tmp_path)), "--baseline", str(tmp_path / "baseline.json")]) == 2
    assert "baseline.json" in capsys.readouterr().err
