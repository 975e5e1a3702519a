"""What data sets trace: functions that nobody has decorated, and prints that show what an element is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

_PROGRAM = """\
import random
import numpy as np
import tensorflow as tf

generator = np.random.default_rng(0)
scale = np.random.rand()


def draw(x):
    return x * random.random()


{function}


def build(train=True):
    data = tf.data.Dataset.from_tensor_slices(tf.ones([8, 4]))
    return {data}


for element in build():
    print(element)
"""


def told(folder: Path, function: str, data: str, code: str = "HY203") -> list[str]:
    """The severities of a rule's findings in a program that reads a data set."""
    (folder / "main.py").write_text(_PROGRAM.format(function=function, data=data), "utf-8")
    return [f.severity.value for f in analyze([folder], Config()).findings if f.code == code]


def function(body: str) -> str:
    return f"def change(x):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "data"),
    [
        ("return x * random.random()", "data.map(change)"),
        ("return x + np.random.normal(size=4).astype(x.dtype.as_numpy_dtype)", "data.batch(2).map(change)"),
        ("return x * generator.uniform()", "data.map(change)"),
        ("return draw(x)", "data.map(lambda x: change(x))"),
        ("return x if random.random() > 0.5 else tf.reverse(x, [0])", "data.map(change)"),
        ("return tf.reduce_sum(x) > random.random()", "data.filter(change)"),
        ("return tf.data.Dataset.from_tensors(draw(x))", "data.flat_map(change)"),
        ("return draw(x)", "data.map(change) if train else data"),
    ],
)
def test_a_draw_in_what_a_data_set_traces_is_an_error(body: str, data: str, tmp_path: Path) -> None:
    assert told(tmp_path, function(body), data) == ["error"]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        ("return x * scale", "data.map(change)"),
        ("return x * tf.random.uniform([])", "data.map(change)"),
        ("random.random()\n    return x", "data.map(change)"),
        ("random.seed(3)\n    return draw(x)", "data.map(change)"),
        ("return x * random.Random(3).random()", "data.map(change)"),
        ("return tf.numpy_function(draw, [x], tf.float32)", "data.map(change)"),
        ("return tf.py_function(draw, [x], tf.float32)", "data.map(change)"),
        ("return draw(x)", "[change(x) for x in data]"),
        ("return draw(x)", "data.map(lambda x: x * 2)"),
        ("return draw(x)", "data if train else data.map(change)"),
        ("return tf.map_fn(draw, x)", "[change(x) for x in data]"),
    ],
)
def test_draws_that_no_data_set_freezes_are_none(body: str, data: str, tmp_path: Path) -> None:
    assert "error" not in told(tmp_path, function(body), data)


def test_where_data_sets_run_line_by_line_every_element_draws(tmp_path: Path) -> None:
    debug = "tf.data.experimental.enable_debug_mode()\n\n"
    assert told(tmp_path, debug + function("return draw(x)"), "data.map(change)") == []


def test_a_hybrid_function_that_a_data_set_is_given_is_called_again(tmp_path: Path) -> None:
    assert told(tmp_path, "@tf.function\n" + function("return draw(x)"), "data.map(change)") == ["error"]
