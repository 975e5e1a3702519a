"""What HY110 says that a training step takes from the loop around it."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config

PROGRAM = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
data = tf.data.Dataset.from_tensor_slices(tf.ones([400, 2])).batch(2)
for epoch in range(9):
    total = tf.constant(0.0)
    for x in data:
        with tf.GradientTape() as tape:
            y = tf.tanh(tf.matmul(x, w))
            loss = tf.reduce_mean(tf.square(y - 1.0))
        total += loss
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * gradient)
    print(total)
"""


def test_what_is_added_to_is_taken_and_what_the_step_makes_is_not(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    found = [f.message for f in analyze([tmp_path], Config()).findings if f.code == "HY110"]
    assert len(found) == 1
    assert "`train_step(x, total)`" in found[0]
