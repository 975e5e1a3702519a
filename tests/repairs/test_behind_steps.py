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


LAYERS = """\
import tensorflow as tf
from tqdm import tqdm

x, y = tf.random.normal([600, 8]), tf.random.normal([600, 1])


class Net:
    def __init__(self):
        self.weights = [tf.Variable(tf.random.normal([8, 16])), tf.Variable(tf.random.normal([16, 1]))]
        self.biases = [tf.Variable(tf.zeros([16])), tf.Variable(tf.zeros([1]))]

    def __call__(self, x):
        for w, b in zip(self.weights, self.biases):
            x = tf.nn.tanh(tf.matmul(x, w) + b)
        return x


net, bar = Net(), tqdm()
for i in range(0, 600, 32):
    xs, ys = x[i : i + 32], y[i : i + 32]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(xs) - ys) ** 2)
    bar.set_description(f"{loss.numpy().item():2f}")
    for_weights, for_biases = tape.gradient(loss, [net.weights, net.biases])
    for w, dw, b, db in zip(net.weights, for_weights, net.biases, for_biases):
        w.assign_sub(0.1 * dw)
        b.assign_sub(0.1 * db)
print(b)
"""


def test_what_a_loop_of_the_update_leaves_is_given_back_and_not_asked_for_before_it_is_there(tmp_path: Path) -> None:
    # Functions above bind such a name, too, but for themselves.
    assert "    b = update_step(gradients)\n" in fixed(LAYERS, tmp_path).text
