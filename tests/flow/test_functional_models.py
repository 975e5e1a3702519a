"""A functional model runs the project's layers in it again, at each call."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report

LAYERS = """\
import tensorflow as tf
keras = tf.keras
class Wrap(keras.layers.Layer):
    def call(self, x):
        return keras.layers.Dense(2)(x)
class Count(keras.layers.Layer):
    n = 0
    def call(self, x):
        Count.n += 1
        return x * float(Count.n)
class Drop(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.drop = keras.layers.Dropout(0.5)
    def build(self, shape):
        self.built = True
    def call(self, x):
        return tf.nn.relu(self.drop(x)) * 2.0
class Fine(keras.layers.Layer):
    def call(self, x):
        return tf.exp(x) * 2.0
"""
MADE = {
    "here": "inp = keras.Input([3])\nmodel = keras.Model(inp, {layer}()(inp))\n",
    "in a function": "def make():\n    inp = keras.Input([3])\n    return keras.Model(inp, {layer}()(inp))\n"
    "model = make()\n",
    "through a function": "def block(x):\n    return {layer}()(x)\ndef make():\n    inp = keras.Input([3])\n"
    "    return keras.Model(inp, block(inp))\nmodel = make()\n",
    "by a subclass": "class M(keras.Model):\n    def __init__(self):\n        inp = keras.Input([3])\n"
    "        super().__init__(inputs=inp, outputs={layer}()(inp))\nmodel = M()\n",
    "as a part of another": "i = keras.Input([3])\ninner = keras.Model(i, {layer}()(i))\n"
    "def outer():\n    inp = keras.Input([3])\n    return keras.Model(inp, inner(inp))\nmodel = outer()\n",
}
MADE["a model of a model in one place"] = (
    MADE["here"] + "again = keras.Input([3])\nmodel = keras.Model(again, model(model(again)))\n"
)
STEP = """\
def step(x):
    return tf.reduce_sum(model(x)) + 1.0
for i in range(9):
    step(tf.ones([2, 3]))
"""


def reported(program: str, folder: Path) -> Report:
    (folder / "program.py").write_text(LAYERS + program)
    return analyze([folder], Config(all_safe=True), repairs=False)


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(("layer", "code"), [("Wrap", "HY250"), ("Count", "HY003"), ("Fine", "")])
def test_what_the_layers_do_the_step_does(layer: str, code: str, made: str, tmp_path: Path) -> None:
    report = reported(MADE[made].format(layer=layer) + STEP, tmp_path)
    step = next(f for f in report.functions if f.facts.qualname == "step")
    if code:
        assert step.decision.action.value == "keep"
        assert code in {s.code for s in step.statuses}
    else:
        assert step.decision.precondition == "P1"


def test_the_mode_of_a_functional_model_reaches_its_layers(tmp_path: Path) -> None:
    calls = "model(tf.ones([2, 3]), training=True)\nmodel(tf.ones([2, 3]))\n"
    report = reported(MADE["here"].format(layer="Drop") + STEP + calls, tmp_path)
    codes = {f.facts.qualname: {s.code for s in f.statuses} for f in report.functions}
    assert "HY606" in codes["Drop.call"]
    assert "HY606" not in codes["step"]


def test_fit_runs_the_layers_as_a_graph(tmp_path: Path) -> None:
    """What only `fit` and `evaluate` call needs no graph of its own."""
    calls = "x = tf.ones([8, 3])\nmodel.compile('sgd', 'mse')\nmodel.fit(x, x)\nmodel.evaluate(x, x)\n"
    (tmp_path / "program.py").write_text(LAYERS + MADE["here"].format(layer="Fine") + calls)
    report = analyze([tmp_path], Config(), repairs=False)
    fine = next(f for f in report.functions if f.facts.qualname == "Fine.call")
    assert fine.decision.action.value == "keep"
