"""Which calls count as eager ones, by which a graph may win back what tracing it costs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

NET = """
import sys
import tensorflow as tf

class Block(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.a = tf.keras.layers.Dense(units, activation="relu")
        self.b = tf.keras.layers.Dense(units)
    def call(self, x):
        y = self.b(self.a(x))
        for _ in range(4):
            y = tf.nn.relu(y) * 0.5 + tf.tanh(y) * 0.5
        return y

class Net(tf.keras.Model):
    def __init__(self, depth):
        super().__init__()
        self.blocks = [Block(16) for _ in range(depth)]
        self.out = tf.keras.layers.Dense(1)
    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x)

def error(truth, made):
    e = tf.square(truth - made) + tf.abs(truth - made)
    for _ in range(8):
        e = tf.tanh(e) * 0.5 + tf.sin(e)
    return tf.reduce_mean(e, axis=-1)

x, y = tf.random.normal([512, 16]), tf.random.normal([512, 1])
net = Net(int(sys.argv[1]))
"""
FUNCTIONAL = """
def make():
    inputs = tf.keras.Input([16])
    z = inputs
    for units in (8, 8, 8):
        z = Block(units)(z)
    return tf.keras.Model(inputs, z)
model = make()
"""


def functions(tmp_path: Path, source: str) -> dict[str, FunctionReport]:
    (tmp_path / "program.py").write_text(NET + textwrap.dedent(source))
    (tmp_path / "other.py").write_text("import program\n")
    report = analyze([tmp_path], Config(tensorflow_version="2.15"))
    return {f.facts.qualname: f for f in report.functions}


def chosen(found: dict[str, FunctionReport]) -> set[str]:
    return {name for name, f in found.items() if f.decision.action is Action.CONVERT_TO_HYBRID}


COMPILE = "net.compile('adam', loss=error, metrics=[error])\n"


@pytest.mark.parametrize(
    "calls",
    [
        "net.fit(x, y, epochs=10)\nnet.evaluate(x, y)\nprint(net.predict(x))\n",
        "for i in range(99):\n    net.train_on_batch(x, y)\n    net.test_on_batch(x, y)\n    net.predict_on_batch(x)\n",
        "net.build([None, 16])\nnet(x[:1])\nnet.summary()\nnet.fit(x, y)\n",
        "for fold in range(10):\n    net = Net(3)\n    net.compile('adam', loss=error)\n    net.fit(x, y)\n",
    ],
)
def test_the_loops_of_keras_run_graphs(calls: str, tmp_path: Path) -> None:
    found = functions(tmp_path, COMPILE + calls)
    assert chosen(found) == set()
    assert {found[name].statuses[-1].code for name in ("Net.call", "Block.call", "error")} <= {"HY010", "HY026"}


def test_who_asks_keras_to_run_eagerly_has_its_steps_run_eagerly(tmp_path: Path) -> None:
    compiled = (
        "net.compile('adam', loss=error, run_eagerly=True)\nfor i in range(1000):\n    net.train_on_batch(x, y)\n"
    )
    assert "Net.call" in chosen(functions(tmp_path, compiled))


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("model.compile('adam', 'mse')\nmodel.fit(x, y)\n", set()),
        ("for i in range(1000):\n    print(model(x))\n", {"Block.call"}),
        ("print(model(x))\n", set()),
    ],
)
def test_a_functional_model_calls_the_layers_that_it_keeps(calls: str, expected: set[str], tmp_path: Path) -> None:
    assert chosen(functions(tmp_path, FUNCTIONAL + calls)) == expected


@pytest.mark.parametrize(
    "calls", ["net(x)\n", "for i in range(3):\n    net(x)\n", "for n in [1, 2, 3]:\n    net(x[:n])\n"]
)
def test_each_layer_of_a_list_has_graphs_of_its_own(calls: str, tmp_path: Path) -> None:
    assert chosen(functions(tmp_path, calls)) == set()


def test_often_is_worth_it(tmp_path: Path) -> None:
    assert chosen(functions(tmp_path, "for i in range(5000):\n    print(net(x))\n")) == {"Net.call"}
