"""What a step in a loop leaves to Python, and what keeps a plain `fix` from taking it out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.repairs.support import fixed

SCRIPT = """\
import sys
import numpy as np
import tensorflow as tf
WIDTH, SCALE = 2, 1.0
{before}
w = tf.Variable([[1.0], [2.0]])
optimizer = tf.keras.optimizers.SGD(0.1)
seen, total, count, size = [], 0.0, 0, 4
for step, batch in enumerate(tf.data.Dataset.from_tensor_slices(tf.ones([3200, 2])).batch(4)):
    count += 1
    with tf.GradientTape() as tape:
        {x}
        y = tf.tanh(tf.matmul(x, w))
        loss = tf.reduce_mean(tf.square(y - 1.0))
        {amid}
    gradients = tape.gradient(loss, [w])
    {update}
    print(float(loss))
{behind}
"""
NOISE = """\
def noise(number):
    return np.random.uniform(-SCALE, SCALE, size=[number, WIDTH]).astype("float32")
"""


def safely(
    folder: Path,
    *,
    before: str = "",
    x: str = "x = batch",
    amid: str = "pass",
    update: str = "optimizer.apply_gradients(zip(gradients, [w]))",
    behind: str = "",
) -> str:
    """What a plain `fix` makes of a script."""
    source = SCRIPT.format(before=before, x=x, amid=amid, update=update, behind=behind)
    return fixed(source, folder, unsafe=False).text


def is_taken_out(text: str) -> bool:
    return "\n@tf.function\ndef train_step(" in text


def test_a_comment_goes_along(tmp_path: Path) -> None:
    text = safely(tmp_path, amid="total += loss.numpy()  # of all steps")
    assert "    total += loss.numpy()  # of all steps\n    print(float(loss))\n" in text
    assert is_taken_out(text)


def test_a_comment_behind_the_step_stays_in_it(tmp_path: Path) -> None:
    update = "optimizer.apply_gradients(zip(gradients, [w]))  # once"
    text = safely(tmp_path, amid="total += loss.numpy()  # of all steps", update=update)
    assert "    optimizer.apply_gradients(zip(gradients, [w]))  # once\n    return loss\n" in text


def test_what_a_function_draws_is_drawn_in_front(tmp_path: Path) -> None:
    text = safely(tmp_path, before=NOISE, x="x = noise(4)")
    assert "    x = noise(4)\n    loss = train_step(x)\n" in text
    assert is_taken_out(text)


@pytest.mark.parametrize(
    ("before", "x"),
    [
        # What it draws rests on what changes: a variable of the module, bound twice.
        (NOISE + "SCALE = 2.0", "x = noise(4)"),
        (
            "bounds = [1.0]\ndef noise(n):\n    return np.random.uniform(size=[n, 2]).astype('f') * bounds[0]",
            "x = noise(4)",
        ),
        # It does something else.
        (
            "drawn = []\ndef noise(n):\n    drawn.append(n)\n    return np.random.uniform(size=[n, 2]).astype('f')",
            "x = noise(4)",
        ),
        ("def noise(n):\n    print(n)\n    return np.random.uniform(size=[n, 2]).astype('f')", "x = noise(4)"),
        (
            "def noise(n):\n    global WIDTH\n    WIDTH = 2\n    return np.random.uniform(size=[n, 2]).astype('f')",
            "x = noise(4)",
        ),
        # What it is given is computed in the step, or is a variable of the model.
        (NOISE, "n = int(tf.reduce_sum(tf.ones([4])))\n        x = noise(n)"),
        ("def noise(v):\n    return np.random.uniform(size=[4, 2]).astype('f') * v.numpy().T", "x = noise(w)"),
        # It is drawn in some rounds only, or of a generator that others may use.
        (NOISE, "x = tf.ones([4, 2])\n        if step % 2:\n            x = noise(4)"),
        (
            "rng = np.random.default_rng(1)\ndef noise(n):\n    return rng.uniform(size=[n, 2]).astype('f')",
            "x = noise(4)",
        ),
        # It changes what it is given.
        ("a = np.ones([4, 2], 'f')\ndef noise(b):\n    np.random.shuffle(b)\n    return b", "x = noise(a)"),
        # Nobody knows which function it is.
        (NOISE + "def other(n):\n    print(n)\n    return noise(n)\n", "x = (noise if step % 2 else other)(4)"),
    ],
)
def test_what_may_be_drawn_otherwise_stays(before: str, x: str, tmp_path: Path) -> None:
    assert not is_taken_out(safely(tmp_path, before=before, x=x))


def test_a_number_of_the_counter_that_tensorflow_computes_comes_in_front(tmp_path: Path) -> None:
    update = "w.assign_sub(0.1 * gradients[0] / (1.0 - tf.pow(0.9, int(count))))"
    text = safely(tmp_path, update=update)
    assert "    factor = 1.0 - tf.pow(0.9, int(count))\n    loss = train_step(batch, factor)\n" in text


def test_a_truth_value_that_is_a_tensor_is_no_number(tmp_path: Path) -> None:
    update = "if tf.constant(count) < 5:\n        w.assign_sub(0.1 * gradients[0])"
    assert "factor" not in safely(tmp_path, update=update)
    assert "flag" not in safely(tmp_path, update=update)


RATE = """\
import numpy as np
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
v = np.ones([2, 1], "float32")
for step, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.ones([3200, 2])).batch(4)):
    rate = 0.1 * 0.99 ** step
    with tf.GradientTape() as tape:
        y = tf.tanh(tf.matmul(x, w))
        loss = tf.reduce_mean(tf.square(y - 1.0))
    gradient = tape.gradient(loss, w)
    {update}
    print(float(loss))
"""


@pytest.mark.parametrize(
    "update",
    [
        "w.assign_sub(rate * gradient)",
        "w.assign_sub(gradient * rate + w * rate)",
        "w.assign(w - tf.clip_by_norm(gradient, 1.0) * rate)",
        "w.assign_sub(gradient / tf.sqrt(tf.square(gradient) + rate))",
    ],
)
def test_a_rate_that_changes_is_passed_as_the_tensor_that_tensorflow_makes(update: str, tmp_path: Path) -> None:
    text = fixed(RATE.format(update=update), tmp_path, unsafe=False).text
    assert "train_step(x, tf.constant(rate, dtype=tf.float32))" in text


@pytest.mark.parametrize(
    "update",
    [
        # Python computes with it first, or decides by it, or shows it.
        "w.assign_sub(rate * 0.5 * gradient)",
        "w.assign_sub((rate + 1e-9) * gradient)",
        "w.assign_sub(gradient * (0.1 if rate > 0.05 else 0.01))",
        "w.assign_sub(gradient if rate > 0.05 else gradient * rate)",
        "tf.print(rate)\n    w.assign_sub(rate * gradient)",
        # It meets an array, or tensors of two dtypes, or what has none that is known.
        "w.assign_sub(gradient + rate * v)",
        "w.assign_sub(rate * gradient + tf.cast(rate * tf.cast(gradient, tf.float64), tf.float32))",
    ],
)
def test_a_rate_of_which_python_makes_more_is_not(update: str, tmp_path: Path) -> None:
    text = fixed(RATE.format(update=update), tmp_path, unsafe=False).text
    assert "tf.constant(rate" not in text
    assert "@tf.function" not in text


def test_what_forgets_another_variable_of_the_name_stays(tmp_path: Path) -> None:
    before = "with tf.GradientTape(persistent=True) as tape:\n    first = tf.constant(1.0)\ndel tape"
    behind = "with tf.GradientTape() as tape:\n    last = w * 2.0\ndel tape"
    text = safely(tmp_path, before=before, behind=behind)
    assert text.count("del tape\n") == 2
    assert is_taken_out(text)


def test_what_forgets_the_variable_of_the_step_goes(tmp_path: Path) -> None:
    text = safely(tmp_path, behind="del tape\nprint(total)")
    assert "del tape" not in text
    assert is_taken_out(text)


@pytest.mark.parametrize("behind", ["print(tf.stack(seen).shape)", "optimizer.dir = 1", "optimizer.vars = 2"])
def test_what_is_only_called_like_a_question_for_names_is_none(behind: str, tmp_path: Path) -> None:
    assert is_taken_out(safely(tmp_path, amid="seen.append(loss)", behind=behind))


@pytest.mark.parametrize(
    "behind",
    [
        "print(sys._getframe().f_locals['gradients'])",
        "import inspect\nprint(inspect.stack()[0].frame.f_locals['tape'])",
        "import inspect as i\nprint(i.currentframe().f_locals['tape'])",
        "import pandas\nprint(pandas.eval('gradients'))",
        "print(sorted(vars()))",
        "import builtins\nprint(builtins.dir())",
    ],
)
def test_who_asks_for_variables_by_name_keeps_them(behind: str, tmp_path: Path) -> None:
    assert not is_taken_out(safely(tmp_path, behind=behind))


def test_what_interrupts_a_step_at_its_end_stays_there(tmp_path: Path) -> None:
    scaled = "gradients = [g / (g.numpy().std() + 1.0) for g in gradients]"
    update = f"loss = loss * 1.0\n    {scaled}\n    w.assign_sub(gradients[0])"
    text = fixed(SCRIPT.format(before="", x="x = batch", amid="pass", update=update, behind=""), tmp_path).text
    compile(text, "program.py", "exec")
    assert f"    {scaled}\n" in text
