"""Where calls of a graph pass tensors for the numbers that it is traced anew for (HY806 for HY101)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import fixed

PROGRAM = """\
import tensorflow as tf

w = tf.Variable(1.0)
NAMES = ["first", "second"] * 500


@tf.function
def train_step(x, epoch):
    with tf.GradientTape() as tape:
        loss = tf.square(w * x - 1.0)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    tf.summary.scalar("loss", loss, step=epoch)
    return loss


def fit(data, epochs):
    for epoch in range(epochs):
        for x in data:
            train_step(x, epoch)


def main(arguments):
    fit(tf.data.Dataset.from_tensor_slices([1.0, 2.0]), arguments.epochs)
"""


def test_it_does_not_matter_that_nothing_runs_what_makes_the_calls(tmp_path: Path) -> None:
    assert "train_step(x, tf.constant(epoch, dtype=tf.int32))" in fixed(PROGRAM, tmp_path).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("step=epoch", "step=len(NAMES[epoch])"),  # only a Python number is an index of a list
        ("train_step(x, epoch)", "train_step(x, epoch if epoch else None)"),
        ("train_step(x, epoch)", "train_step(*(x, epoch))"),
        ("range(epochs)", "(0, 1)"),  # two traces
    ],
)
def test_calls_stay_where_a_tensor_would_not_do(old: str, new: str, tmp_path: Path) -> None:
    program = PROGRAM.replace(old, new)
    assert fixed(program, tmp_path).text == program


def test_calls_stay_in_a_library_whose_users_make_others(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "steps"\n', encoding="utf-8")
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    assert "tf.constant" not in fixed(PROGRAM, tmp_path).text


def is_made_by_default(program: str, folder: Path) -> bool:
    return "tf.constant(epoch" in fixed(program, folder, unsafe=False).text


def test_a_number_that_is_given_to_tensors_as_it_is_needs_no_option(tmp_path: Path) -> None:
    assert is_made_by_default(PROGRAM, tmp_path)
    assert is_made_by_default(PROGRAM.replace("    return loss", "    return loss * epoch"), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return loss", "return loss / (epoch + 1)"),  # computed in int32 first
        ("return loss", "return loss if epoch > 5 else -loss"),  # Python decides now, and the graph then
        ("return loss", "print(x)\n    return loss"),  # printed by each trace
        ("return loss", "return loss * RATES[0]"),  # what is read anew with each trace
        ("return loss", "RATES.append(0.1)\n    return loss"),
    ],
)
def test_it_does_where_the_traces_that_fall_away_could_be_missed(old: str, new: str, tmp_path: Path) -> None:
    program = PROGRAM.replace(old, new).replace("NAMES =", "RATES = [0.5]\nNAMES =")
    program = program.replace("        for x in data:", "        RATES[0] *= 0.9\n        for x in data:")
    assert is_made_by_default(PROGRAM.replace("NAMES =", "RATES = [0.5]\nNAMES ="), tmp_path)
    assert not is_made_by_default(program, tmp_path)


def test_a_graph_that_becomes_eager_needs_no_tensors(tmp_path: Path) -> None:
    """One operation is faster without a graph, whatever is passed: the plan takes the decorator away."""
    source = """\
import tensorflow as tf


@tf.function
def fade(x, level):
    return x * level


for i in range(9):
    fade(tf.ones([4]), i)
"""
    found = fixed(source, tmp_path, unsafe=False)
    assert "@tf.function" not in found.text
    assert "tf.constant" not in found.text
    assert not found.report.repairs
