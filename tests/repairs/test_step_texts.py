"""What a training step that moves out of its loop leaves around it as it was."""

from __future__ import annotations

from pathlib import Path

from tests.repairs.support import fixed

HEAD = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
data = tf.data.Dataset.from_tensor_slices(tf.ones([400, 2])).batch(2)
"""
STEP = """\
for x in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
    gradient = tape.gradient(loss, w)
    w.assign_sub(0.1 * tf.clip_by_norm(gradient, 1.0))
"""
CALLED = "for x in data:\n    train_step(x)\n"
MEASURED = """\
with tf.GradientTape(persistent=True) as tape:
    square = tf.reduce_sum(w * w)
print(tape.gradient(square, w))
del tape
"""


def test_a_tape_before_the_loop_is_forgotten_as_before(tmp_path: Path) -> None:
    text = fixed(HEAD + MEASURED + STEP, tmp_path).text
    assert CALLED in text
    assert MEASURED in text


def test_a_tape_made_behind_the_loop_is_forgotten_as_before(tmp_path: Path) -> None:
    text = fixed(HEAD + STEP + MEASURED, tmp_path).text
    assert CALLED in text
    assert MEASURED in text


def test_the_tape_of_the_step_is_forgotten_by_it(tmp_path: Path) -> None:
    text = fixed(HEAD + STEP + "    del tape\n    print('.')\n", tmp_path).text
    assert "def train_step(x):\n" in text
    assert "del tape" not in text.partition("for x in data:")[2]


def test_a_comment_stays_with_its_statement(tmp_path: Path) -> None:
    step = STEP.replace("tape:\n", "tape:  # records\n").replace(
        "    gradient", "        total += loss.numpy()\n    gradient"
    )
    text = fixed(HEAD + "total = 0.0\n" + step.rstrip() + "  # a small step\nprint(total)\n", tmp_path).text
    assert "tf.clip_by_norm(gradient, 1.0))  # a small step\n    return loss\n" in text
    assert "    loss = train_step(x)\n    total += loss.numpy()\nprint(total)\n" in text
