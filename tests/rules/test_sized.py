"""HY354: sizes that arguments say. TensorFlow is asked which of them its graphs know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config

#: What makes a tensor of x (floats of shape [3]) and n (a whole number), and the axis that is read.
MADE = {
    "tf.linspace(0.0, 1.0, n)": 0,
    "tf.linspace(x, x + 1.0, n)": 0,
    "tf.linspace(x, x + 1.0, n, axis=1)": 1,
    "tf.linspace(0.0, 1.0, 7)": 0,
    "tf.eye(n)": 1,
    "tf.one_hot([0, 1], n)": 1,
    "tf.one_hot([0, 1], n, axis=0)": 0,
    "tf.zeros([2, n])": 1,
    "tf.zeros([2, n]) + 1.0": 1,
    "tf.zeros([tf.shape(x)[0], 2])": 0,
    "tf.zeros([tf.shape(x)[0] * 2, 2])": 0,
    "tf.broadcast_to(x, [n, 3])": 0,
    "tf.broadcast_to(x, [n, 3])[:, 1:]": 1,
    "tf.scatter_nd([[0]], [1.0], [n])": 0,
    "tf.slice(x, [0], [n])": 0,
    "tf.math.unsorted_segment_sum(x, [0, 1, 1], n)": 0,
    "tf.math.segment_sum(x, [0, 1, 1])": 0,
    "tf.math.bincount(tf.cast(x, tf.int32))": 0,
    "tf.expand_dims(tf.range(n), 0) * tf.ones([4, 1], tf.int32)": 1,
    "tf.expand_dims(tf.range(n), 0) * tf.ones([4, 1], tf.int32) + 1": 0,
    "tf.zeros([n, 1]) * tf.ones([3, 4])": 0,
}


def source(made: str, axis: int) -> str:
    return f"""\
import tensorflow as tf
def target(x, n):
    y = {made}
    return tf.ones([2]) * float(y.shape[{axis}])
for i in range(5):
    target(tf.constant([1.0, 2.0, 3.0]), tf.constant(3))
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize("made", MADE)
def test_a_size_that_an_argument_says_is_unknown_where_tensorflow_has_none(made: str, tmp_path: Path) -> None:
    tf: Any = pytest.importorskip("tensorflow")
    seen: list[int | None] = []
    space: dict[str, Any] = {"tf": tf}
    exec(f"def target(x, n):\n    return {made}", space)
    tf.function(lambda x, n: seen.append(space["target"](x, n).shape[MADE[made]]))(tf.ones([3]), tf.constant(3))
    (tmp_path / "program.py").write_text(source(made, MADE[made]))
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    told = {status.code for status in report.functions[0].statuses}
    assert ("HY354" in told) == (seen == [None])
