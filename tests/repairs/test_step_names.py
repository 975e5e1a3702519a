"""What a training step that moves out of its loop need not be passed."""

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


def test_a_module_that_is_imported_twice_is_not_passed(tmp_path: Path) -> None:
    text = fixed(HEAD + STEP + "import tensorflow as tf\nprint(tf.reduce_sum(w))\n", tmp_path).text
    assert CALLED in text


def test_a_name_for_two_modules_is_passed(tmp_path: Path) -> None:
    text = fixed(
        "import math as m\n" + HEAD + STEP.replace("0.1 *", "m.pi *") + "import cmath as m\nprint(m)\n", tmp_path
    ).text
    assert "train_step(m, x)\n" in text or "train_step(x, m)\n" in text or CALLED not in text


def test_steps_of_one_file_have_names_of_their_own(tmp_path: Path) -> None:
    told = STEP.replace("    gradient =", "    print(loss.numpy())\n    gradient =")
    text = fixed(HEAD + told + told, tmp_path).text
    assert text.count("def train_step(x):\n") == text.count("def train_step_2(x):\n") == 1
