"""Dims that something inside of a function leaves open, whoever computes it: another graph, a layer, a property."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

OPEN = {
    "a graph": "@tf.function\ndef inner(x):\n    return tf.boolean_mask(x, x > 0)\n",
    "a graph made by a call": "def _inner(x):\n    return tf.unique(x)[0]\ninner = tf.function(_inner)\n",
    "a layer": "class Mask(tf.keras.layers.Layer):\n    def call(self, x):\n        return x[x > 0]\ninner = Mask()\n",
    "an array of computed length": (
        "def inner(x):\n    n = tf.shape(x)[0]\n    rows = tf.TensorArray(tf.float32, size=n)\n"
        "    for i in tf.range(n):\n        rows = rows.write(i, x[i])\n    return rows.stack()\n"
    ),
    "a concatenated array": "def inner(x):\n    return tf.TensorArray(tf.float32, size=1).write(0, x).concat()\n",
    "the values of a sparse tensor": "def inner(x):\n    return tf.sparse.from_dense(x).values\n",
    "two functions": "def inner(x):\n    return tf.cond(x[0] > 0, lambda: x, lambda: tf.concat([x, x], 0))\n",
    "a loop that says so": (
        "def inner(x):\n    i = tf.constant(0)\n    while i < 3:\n"
        "        tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])\n"
        "        x = tf.concat([x, x], 0)\n        i += 1\n    return x\n"
    ),
}
KNOWN = {
    "a graph that keeps them": "@tf.function\ndef inner(x):\n    return x * 2.0\n",
    "a signature": "@tf.function(input_signature=[tf.TensorSpec([None])])\ndef inner(x):\n    return x * 2.0\n",
    "what is said": "@tf.function\ndef inner(x):\n    return tf.ensure_shape(tf.boolean_mask(x, x > 0), [2])\n",
    "an array of fixed length": "def inner(x):\n    return tf.TensorArray(tf.float32, size=2).unstack(x).stack()\n",
}
READS = """\
def target(x):
    y = inner(x)
    return tf.reduce_sum(y) * float(y.shape[0])
target(tf.constant([1.0, 2.0]))
"""


def reads_none(source: str, tmp_path: Path) -> bool:
    (tmp_path / "module.py").write_text(f"import tensorflow as tf\n{source}{READS}")
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    target = next(f for f in report.functions if f.facts.qualname == "target")
    return any(status.code == "HY354" for status in target.statuses)


@pytest.mark.parametrize("source", OPEN.values(), ids=OPEN.keys())
def test_a_dim_is_left_open(source: str, tmp_path: Path) -> None:
    assert reads_none(source, tmp_path)


@pytest.mark.parametrize("source", KNOWN.values(), ids=KNOWN.keys())
def test_a_dim_is_known(source: str, tmp_path: Path) -> None:
    assert not reads_none(source, tmp_path)
