"""A step that something interrupts is divided only where nothing can tell, and is safe only where nobody sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.repairs.support import fixed

GUARDED = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
optimizer = tf.keras.optimizers.SGD(0.1)
seen, scale = [], 1.0
for i, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.ones([800, 2])).batch(2)):
    with tf.GradientTape({persistent}) as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
    {amid}
    {gradient}
    optimizer.apply_gradients(zip(gradients, [w]))
"""


def divided(
    folder: Path, amid: str, gradient: str = "gradients = tape.gradient(loss, [w])", persistent: str = ""
) -> str:
    """The program with something between its tape and its gradients, mended."""
    return fixed(GUARDED.format(amid=amid, gradient=gradient, persistent=persistent), folder).text


def test_what_interrupts_stands_between_the_parts(tmp_path: Path) -> None:
    text = divided(tmp_path, "if float(loss) > 1e6:\n        continue")
    assert "    loss, gradients = train_step(x)\n    if float(loss) > 1e6:\n        continue\n    " in text
    assert "\ndef train_step(x):\n" in text


@pytest.mark.parametrize(
    ("amid", "gradient"),
    [
        # The gradient is of what the host makes of the loss.
        ("if float(loss) > 1e6:\n        continue\n    loss = loss * scale", "gradients = tape.gradient(loss, [w])"),
        # Its sources are what a call says then.
        ("if float(loss) > 1e6:\n        continue", "gradients = tape.gradient(loss, list([w]))"),
        # It is computed only sometimes.
        ("if float(loss) > 1e6:\n        continue", "gradients = tape.gradient(loss, [w]) if i else [w * 0.0]"),
        # The tape is asked for something else.
        (
            "if float(loss) > 1e6:\n        continue\n    print(tape.watched_variables())",
            "gradients = tape.gradient(loss, [w])",
        ),
    ],
)
def test_gradients_stay_where_they_would_be_others(amid: str, gradient: str, tmp_path: Path) -> None:
    source = GUARDED.format(amid=amid, gradient=gradient, persistent="")
    assert divided(tmp_path, amid, gradient) == source


MAIN = """\
import tensorflow as tf
def train(data):
    w = tf.Variable([[1.0], [2.0]])
    loss = None
    {before}
    for x in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * tf.clip_by_norm(gradient, 1.0))
        {behind}
    return w.numpy()
train(tf.data.Dataset.from_tensor_slices(tf.ones([800, 2])).batch(2))
"""
CAUGHT = """\
import tensorflow as tf
def train(data):
    w = tf.Variable([[1.0], [2.0]])
    loss = None
    try:
        for x in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
            gradient = tape.gradient(loss, w)
            w.assign_sub(0.1 * tf.clip_by_norm(gradient, 1.0))
    except KeyboardInterrupt:
        pass
    return loss
train(tf.data.Dataset.from_tensor_slices(tf.ones([800, 2])).batch(2))
"""


def test_a_step_of_a_function_is_safe(tmp_path: Path) -> None:
    done = fixed(MAIN.format(before="pass", behind="print(float(loss))"), tmp_path, unsafe=False)
    assert "        loss = train_step(x)\n        print(float(loss))\n" in done.text
    assert [(each.code, each.doubt) for each, _ in done.repaired.done] == [("HY818", None)]


@pytest.mark.parametrize(
    "source",
    [
        MAIN.format(before="pass", behind="print(locals())"),
        MAIN.format(before="show = lambda: gradient", behind="print(float(show()[0, 0]))"),
        MAIN.format(before="shows = []", behind="shows.append(lambda: gradient)"),
        CAUGHT,
        GUARDED.format(amid="pass", gradient="gradients = tape.gradient(loss, [w])", persistent=""),
        MAIN.format(before="pass", behind="pass").replace("\ntrain(", "\ndef run():\n    train(")
        + "for _ in range(5):\n    run()\n",
        MAIN.format(before="pass", behind="pass").replace("\ntrain(", "\ndef run():\n    train("),
        MAIN.format(before="pass", behind="pass").replace(
            "        gradient =", "        if loss > 9:\n            break\n        gradient ="
        ),
    ],
    ids=["locals", "function-before", "function-behind", "handler", "module", "again-from-above", "by-nobody", "jump"],
)
def test_a_step_that_someone_may_see_is_not(source: str, tmp_path: Path) -> None:
    assert fixed(source, tmp_path, unsafe=False).text == source


DRAWS = """\
import numpy as np
import tensorflow as tf
tf.random.set_seed(1)
w = tf.Variable([[1.0], [2.0]])
for x in tf.data.Dataset.from_tensor_slices(tf.ones([800, 2])).batch(2):
    with tf.GradientTape() as tape:
        value = tf.tanh(tf.matmul(x, w))
        loss = tf.reduce_mean(tf.square(value - {draw}))
    gradient = tape.gradient(loss, w)
    w.assign_sub(0.1 * tf.clip_by_norm(gradient, 1.0))
"""


def test_a_draw_comes_in_front(tmp_path: Path) -> None:
    text = fixed(DRAWS.format(draw="tf.random.normal([2, 1])"), tmp_path).text
    assert "    drawn = tf.random.normal([2, 1])\n    train_step(x, drawn)\n" in text.replace(
        "(drawn, x)", "(x, drawn)"
    )


def test_a_draw_and_a_number_of_a_counter_come_in_front_together(tmp_path: Path) -> None:
    source = DRAWS.format(draw="tf.random.normal([2, 1]) * 0.9**i").replace("for x in ", "for i, x in enumerate(")
    text = fixed(source.replace(".batch(2):", ".batch(2)):").replace("(value -", "(0.99**i * value -"), tmp_path).text
    assert "    factor = 0.99**i\n    drawn = tf.random.normal([2, 1]) * 0.9**i\n    train_step(" in text


@pytest.mark.parametrize(
    "draw",
    [
        "tf.random.normal(tf.shape(value))",  # of what the step computes
        "(tf.random.normal([2, 1]) if tf.rank(value) > 1 else 0.0)",  # not always
        "tf.add_n([tf.random.normal([2, 1]) for _ in range(len(x))])",  # several times
        "tf.random.normal([2, 1]) - tf.random.normal(tf.shape(value))",  # one of two
    ],
)
def test_other_draws_stay(draw: str, tmp_path: Path) -> None:
    source = DRAWS.format(draw=draw)
    assert fixed(source, tmp_path).text == source
