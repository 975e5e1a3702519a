"""Functions that are given symbolic tensors of Keras, or could be: they build parts of functional models."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Confidence, FunctionReport

LAYERS = """\
import tensorflow as tf
class Heads:
    def __init__(self):
        self.layers = [tf.keras.layers.Dense(4), tf.keras.layers.Dense(4)]
"""


def report(source: str, name: str, tmp_path: Path, *, world: str = "open") -> FunctionReport:
    (tmp_path / "module.py").write_text(source)
    found = analyze([tmp_path], Config(all_safe=True, world=world), repairs=False)
    return next(f for f in found.functions if f.facts.qualname == name)


def codes(found: FunctionReport) -> set[str]:
    return {status.code for status in found.statuses}


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ("[tf.keras.Input((3,)) for _ in range(2)]", "made"),
        ("{k: tf.keras.Input((3,)) for k in 'ab'}", "list(made.values())"),
        ("tf.keras.Model(x, tf.keras.layers.Dense(2)(x))", "made.outputs"),
        ("(x[:, :2], x + 1.0)", "made"),
        ("tf.keras.layers.LSTM(3, return_state=True)(tf.keras.Input((2, 3)))", "made[1:]"),
    ],
)
def test_symbolic_tensors_arrive_in_structures(made: str, given: str, tmp_path: Path) -> None:
    source = f"""{LAYERS}
    def apply(self, xs):
        return [layer(x) for layer, x in zip(self.layers, xs)]
x = tf.keras.Input((3,))
made = {made}
outputs = Heads().apply({given})
"""
    assert "HY304" in codes(report(source, "Heads.apply", tmp_path))


OPEN = f"""{LAYERS}
    def apply(self, xs):
        return self.layers[0](xs)
"""


def test_a_way_into_a_library_may_be_given_them(tmp_path: Path) -> None:
    assert "HY304" in codes(report(OPEN, "Heads.apply", tmp_path))


OPERATIONS = OPEN.replace("return self.layers[0](xs)", "return tf.reduce_sum({made}, 1)")


@pytest.mark.parametrize(
    ("made", "asked"),
    [("self.layers[0](xs)", False), ("tf.keras.activations.relu(xs)", True), ("tf.keras.layers.ReLU()(xs)", True)],
)
def test_of_a_kept_layer_beside_operations_it_is_assumed_that_none_is(made: str, asked: bool, tmp_path: Path) -> None:
    found = report(OPERATIONS.format(made=made), "Heads.apply", tmp_path)
    assert ("HY304" in codes(found)) is asked
    assert any("symbolic tensor" in each.message for each in found.facts.assumptions) is not asked


def test_in_a_program_nobody_else_gives_them(tmp_path: Path) -> None:
    assert "HY304" not in codes(report(OPEN, "Heads.apply", tmp_path, world="closed"))


def test_a_hint_says_that_it_is_a_tensor(tmp_path: Path) -> None:
    source = OPEN.replace("self, xs", "self, xs: tf.Tensor")
    assert "HY304" not in codes(report(source, "Heads.apply", tmp_path))


STEP = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.SGD(0.1)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.minimize(loss, model.trainable_variables, tape=tape)
    return loss
def forward(x):
    return helper([x])
def helper(xs):
    return [model(x) for x in xs]
def main():
    for _ in range(1000):
        step(tf.ones((4, 3)))
        forward(tf.ones((4, 3)))
main()
"""


def test_what_trains_builds_no_model(tmp_path: Path) -> None:
    assert report(STEP, "step", tmp_path).decision.confidence is Confidence.SEEN


def test_what_only_gives_layers_its_argument_may(tmp_path: Path) -> None:
    decision = report(STEP, "forward", tmp_path).decision
    assert decision.confidence is Confidence.DECLARED
    assert decision.grounds[0].message == "gives its argument to a layer: with a symbolic tensor it builds a model"


BUILDER = """\
import tensorflow as tf
from tensorflow.keras import layers
def gate({x}):
    return x * tf.sigmoid(x) + tf.exp(x)
def deep(x):
    return gate(x) + tf.exp(x)
{builder}
"""

BUILDERS = {
    "before": "def block(x, n):\n    return layers.Dense(n)(gate(x))",
    "after": "def block(x, n):\n    return gate(layers.Dense(n)(x))",
    "declared": "def block(x: tf.Tensor, n: int) -> tf.Tensor:\n    x = layers.Dense(n)(x)\n    return gate(x)",
    "in a helper": "def part(x, n):\n    return layers.Dense(n)(x)\ndef block(x, n):\n    return gate(part(x, n))",
    "through a helper": "def block(x, n):\n    return deep(layers.Dense(n)(x))",
    "in a method": "class Block:\n    def __call__(self, x):\n        return gate(layers.Conv1D(3, 3)(x))",
}


@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS)
@pytest.mark.parametrize("x", ["x", "x: tf.Tensor"])
def test_who_makes_layers_and_calls_them_at_once_goes_on_with_symbolic_tensors(
    builder: str, x: str, tmp_path: Path
) -> None:
    source = BUILDER.format(x=x, builder=builder)
    assert "HY304" in codes(report(source, "gate", tmp_path))


NO_BUILDERS = {
    "kept layers": "class Net(tf.keras.Model):\n    def __init__(self):\n        super().__init__()\n"
    "        self.dense = layers.Dense(3)\n    def call(self, x):\n        return gate(self.dense(x))",
    "made under a guard": "class Net(tf.Module):\n    dense = None\n    def __call__(self, x: tf.Tensor):\n"
    "        if self.dense is None:\n            self.dense = layers.Dense(3)\n        return gate(self.dense(x))",
    "without weights": "def block(x: tf.Tensor):\n    return gate(layers.Flatten()(x))",
    "another argument": "def block(x, y: tf.Tensor):\n    return layers.Dense(3)(x), gate(y)",
    "a field": "class Net:\n    def build(self):\n        y = layers.Dense(3)(self.x)\n        return gate(self.z), y",
    "what trains": "def block(x: tf.Tensor):\n    with tf.GradientTape() as tape:\n"
    "        y = gate(layers.Dense(3)(x))\n    return y",
}


@pytest.mark.parametrize("builder", NO_BUILDERS.values(), ids=NO_BUILDERS)
def test_what_no_builder_goes_on_with_is_a_tensor(builder: str, tmp_path: Path) -> None:
    source = BUILDER.format(x="x", builder=builder)
    assert "HY304" not in codes(report(source, "gate", tmp_path))
