"""HY822: where a graph in front of the loop would meet several objects after all, or is not worth its trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.fixing.planner import Planner

from .support import fixed

STEP = """\
import tensorflow as tf
def train_step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - 1.0))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
def network():
    return tf.keras.Sequential([tf.keras.layers.Dense(1)])
def adam(rate=0.1):
    return tf.keras.optimizers.Adam(rate)
data = [tf.ones([4, 2]) for _ in range(500)]
"""

FIT = """\
def fit(model, optimizer):
    for x in data:
        loss = train_step(model, optimizer, x)
    return loss
"""


def codes(program: str, folder: Path) -> list[str]:
    return [each.code for each, _ in fixed(STEP + program, folder).repaired.done]


def test_what_is_taken(tmp_path: Path) -> None:
    found = fixed(f"{STEP}{FIT}for _ in range(2):\n    fit(network(), adam())\n", tmp_path)
    assert [each.code for each, _ in found.repaired.done] == ["HY822"]
    assert "    train_step_graph = tf.function(train_step)\n    for x in data:\n" in found.text


def test_no_name_says_twice_that_it_is_a_graph(tmp_path: Path) -> None:
    program = f"{STEP}{FIT}for _ in range(2):\n    fit(network(), adam())\n".replace("train_step", "step_graph")
    assert "    step_graph_2 = tf.function(step_graph)\n    for x in data:\n" in fixed(program, tmp_path).text


def test_who_else_calls_it_does_so_as_before(tmp_path: Path) -> None:
    program = """\
steps = {"train": train_step, "other": print}
for _ in range(2):
    fit(network(), adam())
for name in ("train", "other"):
    steps[name](network(), adam(), data[0])
"""
    found = fixed(STEP + FIT + program, tmp_path)
    assert [each.code for each, _ in found.repaired.done] == ["HY822"]
    assert "@tf.function" not in found.text
    assert "steps[name](network(), adam(), data[0])" in found.text


@pytest.mark.parametrize(
    "program",
    [
        # a new optimizer in each turn
        """\
def fit(model):
    for x in data:
        loss = train_step(model, adam(), x)
    return loss
for _ in range(2):
    fit(network())
""",
        """\
def fit(model, optimizer):
    for i, x in enumerate(data):
        if i == 20:
            optimizer = adam(0.01)
        loss = train_step(model, optimizer, x)
    return loss
for _ in range(2):
    fit(network(), adam())
""",
        # now one of several, now another
        """\
def fit(models, optimizers):
    for i, x in enumerate(data):
        loss = train_step(models[i % 2], optimizers[i % 2], x)
    return loss
for _ in range(2):
    fit([network(), network()], [adam(), adam()])
""",
        """\
def fit(models, optimizer):
    for x in data:
        for model in models:
            loss = train_step(model, optimizer, x)
    return loss
for _ in range(2):
    fit([network(), network()], adam())
""",
        # a field that others write
        """\
class Trainer:
    def __init__(self):
        self.model, self.optimizer = network(), adam()
    def restart(self):
        self.optimizer = adam()
    def fit(self):
        for i, x in enumerate(data):
            loss = train_step(self.model, self.optimizer, x)
            if i % 10 == 0:
                self.restart()
        return loss
for _ in range(2):
    Trainer().fit()
""",
        # a trace for three steps
        """\
def fit(model, optimizer):
    for i in range(3):
        loss = train_step(model, optimizer, data[i])
    for i in range(60):
        loss = train_step(model, optimizer, data[i])
    return loss
for _ in range(2):
    fit(network(), adam())
""",
        # no loop of its own
        """\
def fit(model, optimizer):
    return [train_step(model, optimizer, x) for x in data]
for _ in range(2):
    fit(network(), adam())
""",
    ],
)
def test_what_is_left(program: str, tmp_path: Path) -> None:
    assert "HY822" not in codes(program, tmp_path)


def test_a_loop_in_another_file_gets_the_import_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEP.partition("def network")[0], encoding="utf-8")
    loop = """\
import steps


def fit(model, optimizer, data):
    for x in data:
        loss = steps.train_step(model, optimizer, x)
    return loss
"""
    (tmp_path / "fitting.py").write_text(loop, encoding="utf-8")
    main = """\
import tensorflow as tf

from fitting import fit

data = tf.data.Dataset.from_tensor_slices(tf.ones([6400, 2])).batch(8)
for rate in (0.1, 0.2):
    fit(tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.Adam(rate), data)
"""
    (tmp_path / "main.py").write_text(main, encoding="utf-8")
    config = Config()
    analysis = analyze([tmp_path], config)
    plan = Planner(analysis, config, lambda c: analyze([tmp_path], config, contents=c), unsafe=True).plan()
    (file,) = [each for each in plan.files if each.result is not None and each.result.changed]
    assert file.path == "fitting.py"
    assert file.result is not None
    text = file.result.new.decode()
    assert text.startswith("import steps\nimport tensorflow as tf\n") or text.startswith(
        "import tensorflow as tf\n\nimport steps\n"
    )
    assert "    train_step_graph = tf.function(steps.train_step)\n    for x in data:\n" in text
    assert "loss = train_step_graph(model, optimizer, x)" in text
