"""`hybridize fix`: what is written, what is not, and how it says so."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from hybridize.cli import main
from hybridize.decide.model import Action, Decision, FileError, FunctionReport, ProjectInfo, Report
from hybridize.facts.model import FunctionKind, Hybridization, Mode

from ..report.samples import facts
from .fake_api import FakeApi, install

EAGER = "import tensorflow as tf\n\n\ndef step(x):\n    return x + 1\n\n\ndef loss(x):\n    return x - 1\n"
HYBRID = "import tensorflow as tf\n\n\n@tf.function\ndef label(n):\n    return n\n"


def report_on(folder: Path, missing_decorator: bool = False) -> Report:
    """What an engine would say: undecorated functions to hybrid (P1), a decorated `label` to eager (P2)."""
    functions = []
    files = sorted(folder.glob("*.py"))
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if not line.startswith("def "):
                continue
            name = line[4:].partition("(")[0]
            decorated = number > 1 and lines[number - 2] == "@tf.function"
            action = Action.KEEP
            if decorated and name == "label":
                action = Action.CONVERT_TO_EAGER
            elif not decorated and name != "label":
                action = Action.CONVERT_TO_HYBRID
            known = facts(
                f"{file.stem}:{name}",
                number,
                kind=FunctionKind.FUNCTION,
                mode=Mode.HYBRID if decorated else Mode.EAGER,
                hybridization=Hybridization(number - 1, (), is_decorator=True) if decorated else None,
            )
            precondition = {Action.CONVERT_TO_HYBRID: "P1", Action.CONVERT_TO_EAGER: "P2"}.get(action)
            functions.append(FunctionReport(known, Decision(action, precondition)))
    return Report(ProjectInfo(str(folder), len(files), 20, 0.1), tuple(functions))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "eager.py").write_text(EAGER, encoding="utf-8")
    (folder / "hybrid.py").write_text(HYBRID, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return folder


@pytest.fixture
def api(project: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    return install(monkeypatch, lambda: report_on(project))


def test_everything_is_changed_and_a_second_run_changes_nothing(
    api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix"]) == 0
    assert capsys.readouterr().out == (
        "eager.py\n     4  to hybrid    step\n     8  to hybrid    loss\n"
        "hybrid.py\n     5  to eager     label\n"
        "3 functions changed in 2 files\n"
    )
    assert (project / "eager.py").read_text() == EAGER.replace("def ", "@tf.function\ndef ")
    assert (project / "hybrid.py").read_text() == HYBRID.replace("@tf.function\n", "")
    assert main(["fix"]) == 0
    assert capsys.readouterr().out == "nothing to change\n"


def test_diff_shows_and_writes_nothing(api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--diff", "--only", "step"]) == 1
    output = capsys.readouterr()
    assert output.out == (
        "--- eager.py\n+++ eager.py\n@@ -1,6 +1,7 @@\n import tensorflow as tf\n \n \n+@tf.function\n"
        " def step(x):\n     return x + 1\n \n"
    )
    assert output.err.endswith("1 function would change in 1 file\n")
    assert (project / "eager.py").read_text() == EAGER


def test_diff_of_nothing(monkeypatch: pytest.MonkeyPatch, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, Report(ProjectInfo(str(project), 2, 20, 0.1)))
    assert main(["fix", "--diff"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "changed"),
    [
        (["--only", "step"], ["eager.py"]),
        (["--only", "eager.py:8"], ["eager.py"]),
        (["--only", "hybrid.py", "--only", "loss"], ["eager.py", "hybrid.py"]),
        (["--select", "P2"], ["hybrid.py"]),
        (["--ignore", "P2"], ["eager.py"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_part(api: FakeApi, project: Path, arguments: list[str], changed: list[str]) -> None:
    assert main(["fix", *arguments]) == 0
    before = {"eager.py": EAGER, "hybrid.py": HYBRID}
    assert [name for name, text in before.items() if (project / name).read_text() != text] == changed


def test_only_names_one_function(api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--only", "stp"]) == 2
    assert "no function `stp`; did you mean `step`?" in capsys.readouterr().err
    (project / "more.py").write_text(EAGER, encoding="utf-8")
    assert main(["fix", "--only", "step"]) == 2
    assert "`step` means 2 functions:\n  eager:step  (eager.py:4)\n" in capsys.readouterr().err
    assert (project / "eager.py").read_text() == EAGER


def test_a_read_only_file_is_left_and_the_rest_is_done(
    api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.chmod(project / "eager.py", 0o444)
    assert main(["fix"]) == 1
    assert capsys.readouterr().out == (
        "error: eager.py: not written: the file is read-only\n"
        "hybrid.py\n     5  to eager     label\n"
        "1 function changed in 1 file, 2 not changed\n"
    )
    assert (project / "eager.py").read_text() == EAGER
    assert sorted(os.listdir(project)) == ["eager.py", "hybrid.py"]  # nothing half-written


def test_a_refused_change_says_why(
    monkeypatch: pytest.MonkeyPatch, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = facts("eager:other", 4, kind=FunctionKind.FUNCTION)
    wrong = FunctionReport(known, Decision(Action.CONVERT_TO_HYBRID, "P1"))
    install(monkeypatch, Report(ProjectInfo(str(project), 1, 9, 0.1), (wrong,)))
    assert main(["fix"]) == 1
    assert "     4  not changed  other: line 4 defines step, not other\n" in capsys.readouterr().out


def test_what_is_not_a_decorator_is_left_to_the_user(
    monkeypatch: pytest.MonkeyPatch, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = facts(
        "eager:step", 4, kind=FunctionKind.FUNCTION, mode=Mode.HYBRID, hybridization=Hybridization(9, (), False)
    )
    called = FunctionReport(known, Decision(Action.CONVERT_TO_EAGER, "P2"))
    install(monkeypatch, Report(ProjectInfo(str(project), 1, 9, 0.1), (called,)))
    assert main(["fix"]) == 1
    assert "made hybrid by a call of `tf.function` on line 9, which is left to you" in capsys.readouterr().out


def test_errors_and_missing_paths(
    monkeypatch: pytest.MonkeyPatch, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = (FileError("broken.py", 3, "invalid syntax"),)
    install(monkeypatch, lambda: replace(report_on(project), errors=broken))
    assert main(["fix"]) == 1
    assert "error: broken.py:3: invalid syntax\n3 functions changed in 2 files, 1 error\n" in capsys.readouterr().out
    assert main(["fix", ".", "gone"]) == 2


def test_json(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--diff", "--output-format", "json", "--only", "label"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["written"] is False
    assert data["files"] == [
        {
            "path": "hybrid.py",
            "changed": True,
            "error": None,
            "changes": [
                {
                    "function": "hybrid:label",
                    "line": 5,
                    "action": "convert_to_eager",
                    "precondition": "P2",
                    "outcome": "done",
                    "reason": None,
                }
            ],
        }
    ]


def test_quiet_says_only_what_was_not_done(api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_concise(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--output-format", "concise", "--only", "label"]) == 0
    assert capsys.readouterr().out == "hybrid.py:5: to eager     label\n1 function changed in 1 file\n"
