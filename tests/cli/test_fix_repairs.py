"""`hybridize fix` with repairs: on real programs, through the whole command."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hybridize.cli import main

PROGRAM = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])


def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    print(f"loss {loss:.4f}")  # every step
    return loss


def report(value):
    print("value", value)
    return value + 1


for _ in range(10):
    report(train_step(tf.ones([4, 2]), tf.ones([4, 1])))
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path / "train.py"


def test_an_unsafe_repair_waits_to_be_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix"]) == 0
    assert file.read_text() == PROGRAM
    assert "HY801 print-to-tf-print is not safe" in capsys.readouterr().out


def test_a_repair_comes_with_the_conversion_that_it_unlocks(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--unsafe-fixes"]) == 0
    text = file.read_text()
    assert "@tf.function\ndef train_step" in text
    assert "    tf.print(tf.strings.join" in text
    assert "output_stream=sys.stdout)  # every step" in text
    assert text.startswith("import sys\n\nimport tensorflow as tf\n")
    output = capsys.readouterr().out
    assert "     5  to hybrid    train_step" in output
    assert "    10  repair       HY801 print-to-tf-print: `print` becomes `tf.print` (for train_step)" in output
    assert output.endswith("1 function changed, 1 repair in 1 file\n")


def test_a_repair_that_unlocks_nothing_is_not_applied(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["fix", "--unsafe-fixes"])
    assert 'print("value", value)' in file.read_text()
    assert "report (train.py:14): it would not become hybrid even so" in capsys.readouterr().out


def test_one_that_is_selected_is(file: Path) -> None:
    assert main(["fix", "--unsafe-fixes", "--select", "HY801", "--only", "report"]) == 0
    text = file.read_text()
    assert 'tf.print("value", value, output_stream=sys.stdout)' in text
    assert "@tf.function" not in text


def test_one_that_is_selected_comes_with_its_conversion(file: Path) -> None:
    assert main(["fix", "--unsafe-fixes", "--select", "HY801", "--only", "train_step"]) == 0
    assert "@tf.function\ndef train_step" in file.read_text()


def test_a_conversion_that_is_ignored_is_not_made(file: Path) -> None:
    main(["fix", "--unsafe-fixes", "--select", "HY801", "--ignore", "P1"])
    text = file.read_text()
    assert "tf.print(" in text
    assert "@tf.function" not in text


def test_a_part_that_is_selected_is_decorated(file: Path) -> None:
    main(["fix", "--unsafe-fixes", "--select", "HY817"])
    assert "@tf.function\ndef _train_step_graph" in file.read_text()


def test_a_byte_order_mark_stays(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + PROGRAM.encode())
    assert main(["fix", "--unsafe-fixes", "--diff"]) == 1
    assert "+import sys\n" in capsys.readouterr().out
    main(["fix", "--unsafe-fixes"])
    assert file.read_bytes().startswith(b"\xef\xbb\xbfimport sys\n\nimport tensorflow as tf\n")


def test_a_second_run_changes_nothing(file: Path) -> None:
    main(["fix", "--unsafe-fixes"])
    text = file.read_text()
    assert main(["fix", "--unsafe-fixes"]) == 0
    assert file.read_text() == text


def test_diff(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--unsafe-fixes", "--diff"]) == 1
    assert file.read_text() == PROGRAM
    assert '-    print(f"loss {loss:.4f}")  # every step\n' in capsys.readouterr().out


@pytest.mark.parametrize(("answer", "changed"), [("y\n", True), ("n\n", False), ("what\ny\n", True), ("", False)])
def test_interactive(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str, changed: bool
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    main(["fix", "--unsafe-fixes", "-i"])
    assert (file.read_text() != PROGRAM) == changed
    output = capsys.readouterr().out
    assert "line 10: HY801 print-to-tf-print: `print` becomes `tf.print` [unsafe: " in output
    assert "+@tf.function" in output


def test_interactive_goes_alone(file: Path) -> None:
    assert main(["fix", "-i", "--diff"]) == 2


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["fix", "--unsafe-fixes", "--diff", "--output-format", "json"])
    data = json.loads(capsys.readouterr().out)
    assert [(r["code"], r["line"], r["functions"], r["safe"]) for r in data["repairs"]] == [
        ("HY801", 10, ["train_step"], False)
    ]
    assert [left["function"] for left in data["not_repaired"]] == ["train:report"]


def test_check_gives_the_hint(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check"])
    output = capsys.readouterr().out
    assert (
        "Repairs to try: up to 1 more graph; fix --unsafe-fixes keeps what works" in output
    )  # a graph of `report` would not pay
    assert "     1  HY801 print-to-tf-print: `print` becomes `tf.print` (train.py:10)\n" in output
    main(["check", "--all"])
    assert "[repairable with --unsafe-fixes] HY801 print-to-tf-print" in capsys.readouterr().out


def test_explain_lists_the_repairs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "train_step", "."])
    assert "HY801 print-to-tf-print at train.py:10" in capsys.readouterr().out
    assert main(["explain", "HY801"]) == 0
    assert "After `fix --unsafe-fixes`:" in capsys.readouterr().out


PARTS = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
losses = []
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    losses.append(loss.numpy())
    if len(losses) % 5 == 0:
        print(f"step {len(losses)}: {losses[-1]:.3f}")
def main():
    v = tf.Variable([[1.0], [2.0]])
    for i in range(100):
        x = tf.random.stateless_normal([4, 2], [1, i])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, v) - 1.0))
        v.assign_sub(0.99 ** i * tape.gradient(loss, v))
        if i % 10 == 0:
            print(i, float(loss))
for _ in range(10):
    train_step(tf.ones([4, 2]), tf.ones([4, 1]))
main()
"""


def test_a_part_of_the_function_that_is_asked_for_comes_with_its_decorator(file: Path) -> None:
    file.write_text(PARTS, encoding="utf-8")
    assert main(["fix", "--unsafe-fixes", "--only", "train_step"]) == 0
    text = file.read_text()
    assert "@tf.function\ndef _train_step_graph(x, y):" in text
    assert text.count("@tf.function") == 1
    assert main(["fix", "--unsafe-fixes", "--only", "main"]) == 0
    text = file.read_text()
    assert "    @tf.function\n    def train_step_2(x, factor):" in text
    assert "train_step_2(x, tf.constant(factor, dtype=tf.float32))" in text
    assert main(["fix", "--unsafe-fixes"]) == 0
    assert file.read_text() == text


def test_interactive_offers_parts_and_steps(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(PARTS, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\ny\n"))
    assert main(["fix", "-i", "--unsafe-fixes"]) == 0
    text = file.read_text()
    assert text.count("@tf.function") == 1
    assert ("def _train_step_graph" in text) != ("def train_step_2" in text)


TRAINER = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
losses = []


def train_step(x):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    losses.append(loss.numpy())
    if len(losses) % 5 == 0:
        print(losses[-1])


for _ in range(10):
    train_step(tf.ones([4, 2]))
"""


def test_lines_are_those_of_the_file_as_it_was(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TRAINER)
    main(["fix", "--diff", "--unsafe-fixes"])
    shown, said = capsys.readouterr()
    lines = [line.split()[:2] for line in said.splitlines() if line.startswith("    ")]
    assert lines[:2] == [["11", "repair"], ["11", "to"]]  # the part, then what it becomes
    assert "+@tf.function\n+def _train_step_graph(x):\n" in shown


def test_repairs_that_wait_for_the_same_reason_are_told_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = "".join(
        PROGRAM[PROGRAM.index("def train") : PROGRAM.index("def report")].replace("step(", f"step_{i}(")
        for i in range(3)
    )
    calls = "".join(f"    train_step_{i}(tf.ones([4, 2]), tf.ones([4, 1]))\n" for i in range(3))
    file.write_text(PROGRAM[: PROGRAM.index("def train")] + steps + "for _ in range(10):\n" + calls)
    main(["fix", "--diff"])
    said = capsys.readouterr().err
    assert said.count("HY801 print-to-tf-print is not safe") == 1
    assert "train_step_0 (train.py:5) and 2 more (-v names them): HY801" in said
    main(["fix", "--diff", "-v"])
    assert capsys.readouterr().err.count("HY801 print-to-tf-print is not safe") == 3
