"""Where the part of a function stands that becomes a graph, and what it is called."""

from __future__ import annotations

from pathlib import Path

from tests.repairs.support import fixed

HEAD = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
losses = []


"""
STEP = """\
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
    gradient = tape.gradient(loss, w)
    w.assign_sub(0.1 * tf.clip_by_norm(gradient, 1.0))
    losses.append(loss.numpy())  # for the plot
    # TODO: a moving average
"""
CALLS = """\


for _ in range(500):
    train_step(tf.ones([4, 2]))
"""
METHODS = """\
class {0}({1}):
    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - {2}))
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * tf.clip_by_norm(gradient, 1.0))
        losses.append(loss.numpy())


"""
TRAINED = "{0} = {1}()\nfor _ in range(500):\n    {0}.train_step(tf.ones([4, 2]))\n"


def test_it_stands_behind_the_function_and_its_last_comment(tmp_path: Path) -> None:
    text = fixed(HEAD + STEP + CALLS, tmp_path).text
    assert HEAD + "def train_step(x):\n    loss = _train_step_graph(x)\n" in text
    assert "    # TODO: a moving average\n\n\n@tf.function\ndef _train_step_graph(x):\n" in text
    assert "    return loss\n" + CALLS in text


def test_it_may_be_the_last_of_a_file_without_a_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import tensorflow as tf\nfrom program import train_step\n" + CALLS)
    text = fixed(HEAD + STEP.rstrip("\n"), tmp_path).text
    assert text.endswith("    return loss")


def test_a_function_whose_decorator_may_call_it_has_its_part_in_front(tmp_path: Path) -> None:
    register = "def register(f):\n    f(tf.ones([4, 2]))\n    return f\n\n\n"
    text = fixed(HEAD + register + "@register\n" + STEP + CALLS, tmp_path).text
    assert "    return loss\n\n\n@register\ndef train_step(x):\n" in text


def test_classes_that_share_no_methods_may_have_parts_of_one_name(tmp_path: Path) -> None:
    classes = METHODS.format("Painter", "", 1.0) + METHODS.format("Critic", "", 2.0)
    text = fixed(HEAD + classes + TRAINED.format("one", "Painter") + TRAINED.format("two", "Critic"), tmp_path).text
    assert text.count("    def _train_step_graph(self, x):\n") == 2


def test_a_class_and_what_derives_from_it_have_parts_of_different_names(tmp_path: Path) -> None:
    classes = METHODS.format("Painter", "", 1.0) + METHODS.format("Late", "Painter", 2.0)
    text = fixed(HEAD + classes + TRAINED.format("one", "Painter") + TRAINED.format("two", "Late"), tmp_path).text
    assert "    def _train_step_graph(self, x):\n" in text
    assert "    def _train_step_graph_2(self, x):\n" in text
