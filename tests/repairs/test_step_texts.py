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


def test_blank_lines_are_those_of_the_file_or_of_style_guides(tmp_path: Path) -> None:
    text = fixed(HEAD + STEP, tmp_path).text
    assert ".batch(2)\n\n\n@tf.function\ndef train_step(x):\n" in text
    assert "1.0))\n\n\n" + CALLED in text
    spaced = "rate = 0.1\n\ndef half(x):\n    return x / 2\n\n" + STEP.replace("0.1", "half(rate)")
    assert "    return x / 2\n\n@tf.function\n" in fixed(HEAD + spaced, tmp_path).text


def test_a_text_that_is_a_comment_does_not_part_the_step(tmp_path: Path) -> None:
    note = '    """\n    one gradient for each weight\n    """\n'
    text = fixed(HEAD + STEP.replace("    gradient =", note + "    gradient ="), tmp_path).text
    assert note + "    gradient = tape.gradient(loss, w)\n" in text
    assert CALLED in text


def test_many_parameters_have_a_line_each(tmp_path: Path) -> None:
    names = [f"exponential_average_of_the_losses_{i}" for i in range(4)]
    head = HEAD + "".join(f"{name} = tf.constant(0.0)\n" for name in names)
    more = "".join(f"    {name} = 0.9 * {name} + 0.1 * loss\n" for name in names)
    text = fixed(head + STEP.replace("    gradient =", more + "    gradient ="), tmp_path).text
    assert "def train_step(\n    x,\n    exponential_average_of_the_losses_0,\n" in text
    assert "_3,\n):\n    with tf.GradientTape() as tape:\n" in text
