"""A dim of a tensor that a loop makes longer is another Python int at each call: one trace each."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.model import Ternary

PROGRAM = """\
import tensorflow as tf
def mask(size, x):
    return tf.ones([size]) * tf.cast(x, tf.float32)
def same(size, x):
    return tf.ones([size]) * tf.cast(x, tf.float32)
def generate(prior, length):
    decoded = tf.constant([prior])
    other = tf.constant([prior])
    for i in range(min(2048, length)):
        m = mask(decoded.shape[1], decoded)
        same(other.shape[1], other)
        other = other + 1
        if i > 5:
            decoded = tf.concat([decoded, decoded[:, -1:]], -1)
        else:
            decoded = tf.concat([decoded, tf.cast(m[:, -1:], tf.int32)], -1)
    return decoded
generate([1, 2, 3], 20)
"""


def test_a_growing_dim_retraces(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    found = {f.facts.qualname: f.facts.retraces.value for f in analyze([tmp_path], Config()).functions}
    assert found["mask"] is Ternary.YES
    assert found["same"] is Ternary.NO
