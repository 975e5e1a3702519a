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


def test_what_python_does_within_the_step_stays_in_the_loop(tmp_path: Path) -> None:
    told = """        losses.append(loss.numpy())
        if epoch % 3 == 0:
            print(epoch, float(loss))
        gradient"""
    (tmp_path / "program.py").write_text("losses = []\n" + PROGRAM.replace("        gradient", told, 1))
    (found,) = [f for f in analyze([tmp_path], Config()).findings if f.code == "HY110"]
    assert "move lines 8 to 16 without lines 12 to 14 into a hybrid function `train_step(x, total)`" in found.message
    assert "returns `loss, total`" in found.evidence[0].message
