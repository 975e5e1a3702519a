"""What stands amid a training step of a loop: it comes behind the step where it does the same there, else all stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.repairs.support import fixed

HEAD = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
rate = tf.Variable(0.1)
manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=w), "kept", max_to_keep=2)
best, seen = 1e9, []
for i, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.ones([40, 2])).batch(2)):
"""
STEP = """\
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
{amid}
    gradient = tape.gradient(loss, w)
    w.assign_sub(rate * tf.clip_by_norm(gradient, 1.0))
"""


def mended(amid: str, folder: Path) -> tuple[str, str, list[str | None]]:
    """The program with some lines in the tape of its step, what becomes of it, and the doubts."""
    lines = "\n".join(f"        {line}" for line in amid.splitlines())
    source = HEAD + STEP.format(amid=lines)
    found = fixed(source, folder)
    return source, found.text, [each.doubt for each, _ in found.repaired.done]


@pytest.mark.parametrize(
    "amid",
    [
        "if float(loss) < 0.01:\n    break",  # the update is left out
        "best = min(best, float(loss))\nloss = loss * best",  # the step goes on with the number
        "seen.append(loss)\nloss = loss + 0.1 * len(seen)",  # and with the count
    ],
)
def test_what_the_step_asks_for_stays(amid: str, tmp_path: Path) -> None:
    source, text, _ = mended(amid, tmp_path)
    assert text == source


def test_a_checkpoint_comes_after_the_update_and_that_is_said(tmp_path: Path) -> None:
    _, text, doubts = mended("if i % 5 == 0:\n    manager.save(checkpoint_number=i)", tmp_path)
    assert text.endswith("    train_step(x)\n    if i % 5 == 0:\n        manager.save(checkpoint_number=i)\n")
    assert any(doubt is not None and "`manager` is asked after the update" in doubt for doubt in doubts)


def test_what_only_shows_numbers_is_in_no_doubt(tmp_path: Path) -> None:
    _, text, doubts = mended("if i % 5 == 0:\n    print(i, float(loss))", tmp_path)
    assert "    loss = train_step(x)\n    if i % 5 == 0:\n        print(i, float(loss))\n" in text
    assert not any(doubt is not None and "after the update" in doubt for doubt in doubts)
