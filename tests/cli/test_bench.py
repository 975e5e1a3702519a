"""`hybridize bench`: with a TensorFlow that is none, so that no test waits for the real one."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from hybridize.cli import main

#: Eager operations take a while, those of a graph none.
FAKE = """\
import time
eager = True

def executing_eagerly():
    return eager

def ones(n):
    return 1.0

def tanh(x):
    if eager:
        time.sleep(0.001)
    return x / 2

def print(*values, output_stream=None):
    output_stream.write(" ".join(map(str, values)) + "\\n")

class function:
    def __init__(self, f=None, **options):
        self.f, self.options, self.traces = f, options, 0

    def __call__(self, *args):
        global eager
        if self.f is None:
            return function(*args)
        self.traces = 1
        eager = False
        try:
            return self.f(*args)
        finally:
            eager = True

    def experimental_get_tracing_count(self):
        return self.traces

    def __get__(self, instance, owner=None):
        return self
"""
CHAIN = "\n    ".join("x = tf.tanh(x)" for _ in range(25))
PROGRAM = f"""\
import sys
import tensorflow as tf

def step(x):
    {CHAIN}
    return x

for i in range(int(sys.argv[1])):
    loss = step(tf.ones(3))
    print(f"step {{i}} loss {{loss:.3g}}")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fake = tmp_path / "site" / "tensorflow"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(fake.parent))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(folder)
    return folder


def test_the_converted_program_is_faster_and_the_same(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--runs", "4", "--output-format", "json", "train.py", "6"]) == 0
    data = json.loads(capsys.readouterr().out)
    original, refactored = data["variants"]
    assert data["program"] == "train.py 6"
    assert len(original["runs"]) == len(refactored["runs"]) == 4
    assert refactored["speed_up"] > 1
    assert refactored["same_metrics"]
    assert len(original["metrics"]["loss"]) == 6
    (step,) = data["functions"]
    assert step["qualname"] == "step"
    assert step["timings"]["original"]["calls"] == step["timings"]["refactored"]["calls"] == 6
    assert [step["timings"][v]["traces"] for v in ("original", "refactored")] == [0, 1]
    assert step["timings"]["original"]["steady"] > step["timings"]["refactored"]["steady"]
    assert (project / "train.py").read_text() == PROGRAM
    assert [p.name for p in project.iterdir()] == ["train.py"]


def test_the_report_for_people(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--runs", "1", "train.py", "3"]) == 0
    shown = capsys.readouterr()
    assert "round 1 of 1, refactored" in shown.err
    assert "too few runs" in shown.out
    assert "1 metric is the same" in shown.out
    assert "step" in shown.out


def test_variants(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["bench", "-q", "--runs", "1", "--variants", "--output-format", "markdown", "train.py", "2"])
    shown = capsys.readouterr()
    assert not shown.err
    assert all(f"| {name} " in shown.out for name in ("original", "refactored", "reduce_retracing", "jit_compile"))
    assert "best: " in shown.out


def test_a_module_and_a_report_in_a_file(project: Path) -> None:
    file = project / "table.tex"
    assert (
        main(["bench", "-q", "--runs", "1", "--output-format", "latex", "--output-file", str(file), "-m", "train", "2"])
        == 0
    )
    assert file.read_text().startswith(r"\begin{tabular}")


def test_a_program_that_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "-q", "--runs", "1", "train.py", "not a number"]) == 2
    assert "ValueError" in capsys.readouterr().out


def test_nothing_to_convert(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "train.py").write_text("print('loss', 1.0)\n")
    assert main(["bench", "train.py"]) == 1
    assert "nothing to convert" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a program"),
        (["nowhere.py"], "no such file: nowhere.py"),
        (["--runs", "0", "train.py"], "--runs must be at least 1"),
        (["--plot", "times.txt", "train.py"], "--plot writes .svg, .png, .pdf"),
        (["--python", "/no/such/python", "train.py"], "/no/such/python"),
    ],
)
def test_mistakes_are_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["bench", "-q", *arguments]) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("hybridize: error")]
    assert said in line


def test_without_tensorflow(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    (project / "python").write_text(
        textwrap.dedent(
            """\
            #!/bin/sh
            exec python3 -S "$@"
            """
        )
    )
    (project / "python").chmod(0o755)
    assert main(["bench", "-q", "--python", "./python", "train.py", "1"]) == 2
    assert "has no TensorFlow" in capsys.readouterr().err


def test_a_picture(project: Path) -> None:
    pytest.importorskip("matplotlib")
    assert main(["bench", "-q", "--runs", "1", "--plot", "times.svg", "train.py", "3"]) == 0
    assert "<svg" in (project / "times.svg").read_text()


def test_repairs_are_measured_with_the_conversion_they_unlock(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Functions keep their numbers and places though a repair moves lines."""
    repaired = PROGRAM.replace("def step", "note = 'x'\n\ndef step").replace(
        "    return x\n", "    print('x', x)\n    return x\n"
    )
    (project / "train.py").write_text(repaired)
    assert main(["bench", "-q", "--runs", "1", "--unsafe-fixes", "--output-format", "json", "train.py", "3"]) == 0
    (step,) = json.loads(capsys.readouterr().out)["functions"]
    assert [step["timings"][v]["calls"] for v in ("original", "refactored")] == [3, 3]
    assert [step["timings"][v]["traces"] for v in ("original", "refactored")] == [0, 1]
