"""HY821 and what it must not touch: arrays with which more is done than to meet tensors, and calls that nobody sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.repairing import Wanted, repair

from .support import fixed

PROGRAM = """\
import json
import numpy as np
import tensorflow as tf
w = tf.Variable([0.5, 0.25, 1.0])
d = tf.Variable(np.ones(3))
optimizer = tf.keras.optimizers.SGD(0.125)
def keep(array):
    KEPT.append(array)
KEPT = []
def step(x, y=None):
    with tf.GradientTape() as tape:
        {body}
        loss = tf.reduce_mean(tf.square(p))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
x = tf.constant([1.0, 2.0, 3.0])
y = np.array([0.1, 0.2, 0.3])
for i in range(100):
    {call}
"""
MEETING, CALL = "p = w * x - y", "step(x, y)"


def repaired(tmp_path: Path, body: str = MEETING, call: str = CALL) -> bool:
    done = fixed(PROGRAM.format(body=body, call=call), tmp_path).repaired.done
    return "HY821" in {each.code for each, _ in done}


def test_an_array_that_only_meets_tensors_is_converted(tmp_path: Path) -> None:
    assert repaired(tmp_path)


@pytest.mark.parametrize(
    "body",
    [
        "p = w * x - y * 2.0",  # is computed in double precision first
        "p = w * x - y - y.mean()",
        "p = w * x - y[[0, 1, 2]]",  # tensors take no lists of places
        "p = w * x - y[y > 0.1]",
        "p = w * x - y; q = d - y",  # of two dtypes
        "p = w * x - y; q = tf.square(y)",  # stays double
        "p = w * x - y; keep(y)",
        "p = w * x - y; w.data = y",
        "p = w * x - y; f = lambda: y",
        "p = w * x - y; print(y.shape)",
        "p = w * x + tf.add(y, x)",  # eager code refuses it, too
        "p = w * x - tf.cast(y, tf.float32) - y",
        "p = w * x - y; p = [each * p for each in y][0]",
    ],
)
def test_whatever_else_is_done_with_it_is_in_the_way(tmp_path: Path, body: str) -> None:
    assert not repaired(tmp_path, body)


@pytest.mark.parametrize(
    "call",
    [
        "step(*[x, y])",
        "step(x, y) if i else step(x)",
        "step(x, y if i > 3 else 1.0)",
        "step(x, y if i > 3 else x)",
        "list(map(step, [x], [y]))",
        "step(x, y); step(x, json.loads('1'))",
    ],
)
def test_every_call_must_be_seen_to_pass_arrays(tmp_path: Path, call: str) -> None:
    assert not repaired(tmp_path, call=call)


def test_tensors_of_that_dtype_may_come_instead(tmp_path: Path) -> None:
    assert repaired(tmp_path, call="step(x, y); step(x, x)")


def test_who_calls_from_another_file_gets_tensorflow_by_its_name(tmp_path: Path) -> None:
    body = PROGRAM.format(body=MEETING, call=CALL).replace("    step(x, y)\n", "    pass\n")
    (tmp_path / "steps.py").write_text(body)
    caller = "import numpy\nimport steps\nfor i in range(10_000):\n    steps.step(steps.x, numpy.ones(3))\n"
    (tmp_path / "program.py").write_text(caller)
    done = repair(
        lambda contents: analyze([tmp_path], Config(), contents=contents),
        analyze([tmp_path], Config()),
        lambda path: (tmp_path / path).read_bytes(),
        Wanted(),
    )
    text = done.contents["program.py"].decode()
    assert "import tensorflow as tf\n" in text
    assert "steps.step(steps.x, tf.convert_to_tensor(numpy.ones(3), tf.float32))" in text
