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


SCRIPT = """\
import contextlib
import time
import tensorflow as tf
from tensorflow import keras
{before}
w = tf.Variable([[1.0], [2.0]])
optimizer = keras.optimizers.SGD(0.1)
seen = []
for step, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.ones([800, 2])).batch(2)):
    with tf.GradientTape() as tape:
        y = tf.tanh(tf.matmul(x, w))
        {early}
        loss = tf.reduce_mean(tf.square(y - 1.0))
        {amid}
    gradients = tape.gradient(loss, [w])
    optimizer.apply_gradients(zip(gradients, [w]))
    {behind}
"""


def script(before: str = "", early: str = "", amid: str = "", behind: str = "print(float(loss))") -> str:
    """A script that trains in a loop at its top."""
    return SCRIPT.format(before=before, early=early, amid=amid, behind=behind)


def safely(source: str, folder: Path) -> str:
    """What a plain `fix` makes of a program."""
    return fixed(source, folder, unsafe=False).text


def test_a_step_of_a_function_is_safe(tmp_path: Path) -> None:
    done = fixed(MAIN.format(before="pass", behind="print(float(loss))"), tmp_path, unsafe=False)
    assert "        loss = train_step(x)\n        print(float(loss))\n" in done.text
    assert [(each.code, each.doubt) for each, _ in done.repaired.done] == [("HY818", None)]


def test_a_step_of_a_script_is_safe(tmp_path: Path) -> None:
    assert "    loss = train_step(x)\n    print(float(loss))\n" in safely(script(), tmp_path).replace("    \n", "")


@pytest.mark.parametrize(
    "amid", ["seen.append(float(loss))", "if step % 100 == 0:\n            print(step, float(loss))"]
)
def test_what_asks_for_nothing_that_changes_comes_behind(amid: str, tmp_path: Path) -> None:
    text = safely(script(amid=amid), tmp_path)
    assert f"    loss = train_step(x)\n    {amid.replace('            ', '        ')}\n" in text


@pytest.mark.parametrize(
    "amid", ["print(float(loss), w.numpy())", "show(float(loss))", "seen.append(optimizer.iterations.numpy())"]
)
def test_what_asks_for_what_changes_comes_between_gradients_and_update(amid: str, tmp_path: Path) -> None:
    text = safely(script("def show(loss):\n    print(loss, w.numpy())", amid=amid), tmp_path)
    assert f"    loss, gradients = train_step(x)\n    {amid}\n    update_step(gradients)\n" in text


@pytest.mark.parametrize("context", ["tf.device('CPU:0')", "tf.summary.create_file_writer('logs').as_default()"])
def test_blocks_that_let_exceptions_through_are_no_handlers(context: str, tmp_path: Path) -> None:
    source = script().replace("for step,", f"with {context}:\n  for step,").replace("\n    ", "\n      ")
    assert "def train_step(x):" in safely(source, tmp_path)


@pytest.mark.parametrize(
    "source",
    [
        MAIN.format(before="pass", behind="print(locals())"),
        MAIN.format(before="show = lambda: gradient", behind="print(float(show()[0, 0]))"),
        MAIN.format(before="shows = []", behind="shows.append(lambda: gradient)"),
        CAUGHT,
        MAIN.format(before="pass", behind="pass").replace("\ntrain(", "\ndef run():\n    train("),
        script("def show():\n    return gradients", behind="show()"),
        script(behind="print(globals()['gradients'])"),
        script(early="start = time.time()", amid="print(time.time() - start)"),
        script(early="tf.random.set_seed(step)", amid="x = x + tf.random.normal([2, 2])"),
        script(early="print(float(y[0, 0]), w.numpy())", amid="w.assign(w * 0.5)"),
        script()
        .replace("for step,", "with contextlib.suppress(ValueError):\n  for step,")
        .replace("\n    ", "\n      "),
    ],
    ids=[
        "locals",
        "function-before",
        "function-behind",
        "handler",
        "by-nobody",
        "function-of-the-script",
        "globals",
        "clock",
        "seed",
        "variable-that-changes-twice",
        "suppressed",
    ],
)
def test_a_step_that_someone_may_see_is_not(source: str, tmp_path: Path) -> None:
    assert safely(source, tmp_path) == source


def test_a_step_of_a_library_is_not(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(name='program', py_modules=['program'])\n")
    (tmp_path / "__init__.py").touch()
    (tmp_path / "user.py").write_text("import program\nprogram.train(program.data)\n")
    source = MAIN.format(before="pass", behind="pass").replace("train(tf", "data = (tf")
    assert safely(source, tmp_path) == source


MODELS = """\
import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices((tf.ones([80, 2]), tf.ones([80, 1]))).batch(2)
for rate in [0.1, 0.01]:
    w = tf.Variable([[1.0], [2.0]])
    optimizer = tf.keras.optimizers.Adam(rate)
    for epoch in range({epochs}):
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - y))
            optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
"""


def test_each_model_has_a_step_of_its_own(tmp_path: Path) -> None:
    text = safely(MODELS.format(epochs=30), tmp_path)
    assert "    @tf.function\n    def train_step(x, y):\n" in text
    assert text.index("def train_step") > text.index("optimizer = ")
    assert text.index("def train_step") < text.index("for epoch")


def test_a_step_is_not_made_for_a_few_rounds_of_each_model(tmp_path: Path) -> None:
    source = MODELS.format(epochs=1).replace("in data:", "in [(tf.ones([2, 2]), tf.ones([2, 1]))] * 3:")
    assert safely(source, tmp_path) == source


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


BASES = """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable([[1.0], [2.0]])
        self.losses = []
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, self.w)) - 1.0))
        gradient = tape.gradient(loss, self.w)
        self.w.assign_sub(0.1 * tf.clip_by_norm(gradient, 1.0))
        self.losses.append(float(loss))
class Twice(Trainer):
    def step(self, x):
        super().step(x)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.tanh(tf.matmul(x, self.w)) - 2.0))
        gradient = tape.gradient(loss, self.w)
        self.w.assign_sub(0.01 * tf.clip_by_norm(gradient, 1.0))
        self.losses.append(float(loss))
trainer = Twice()
for x in tf.data.Dataset.from_tensor_slices(tf.ones([800, 2])).batch(2):
    trainer.step(x)
{more}
"""


def test_the_steps_of_a_class_and_its_base_have_names_of_their_own(tmp_path: Path) -> None:
    done = fixed(BASES.format(more=""), tmp_path, unsafe=False)
    assert {each.code for each, _ in done.repaired.done} == {"HY817"}
    assert "self._step_graph(x)" in done.text
    assert "self._step_graph_2(x)" in done.text


def test_a_step_whose_variables_are_shown_is_not_taken_out_of_its_function(tmp_path: Path) -> None:
    source = BASES.format(more="").replace("        self.losses.append(float(loss))\n", "        print(locals())\n")
    assert safely(source, tmp_path) == source
