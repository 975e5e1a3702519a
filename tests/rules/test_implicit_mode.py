"""HY606: which functions may run in more than one mode of Keras, where nobody tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report

BASE = """\
import tensorflow as tf
keras = tf.keras
K = keras.backend
class Block(keras.layers.Layer):
    def __init__(self, inner=None):
        super().__init__()
        self.inner = inner or keras.layers.Dropout(0.5)
    def build(self, shape):
        self.built = True
    def call(self, x):
        return tf.nn.relu(self.inner(x)) * 2.0
class Plain(keras.layers.Layer):
    def build(self, shape):
        self.built = True
    def call(self, x):
        return tf.nn.relu(x) * 2.0
x = tf.ones([4, 3])
"""
NET = """\
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.block = Block()
    def build(self, shape):
        self.built = True
    def call(self, x, training=None):
        return self.block(x)
net = Net()
"""


def reported(program: str, folder: Path, keras: str = "2.15") -> Report:
    (folder / "program.py").write_text(BASE + program)
    return analyze([folder], Config(all_safe=True, tensorflow_version=keras), repairs=False)


def modal(program: str, folder: Path, keras: str = "2.15") -> set[str]:
    """The functions of which the rule speaks."""
    report = reported(program, folder, keras)
    return {f.facts.qualname for f in report.functions if "HY606" in {s.code for s in f.statuses}}


@pytest.mark.parametrize(
    ("calls", "differs"),
    [
        ("net(x, training=True)\nnet(x, training=False)", True),
        ("net(x, training=True)\nnet(x)", True),
        ("net(x, training=False)\nnet(x)", False),
        ("net(x, training=True)\nnet(x, training=True)", False),
        ("net(x, True)\nnet(x, False)", True),
        ("net.compile('sgd', 'mse')\nnet.fit(x, x)", False),
        ("net.compile('sgd', 'mse')\nnet.fit(x, x)\nnet.evaluate(x, x)", True),
        ("net.compile('sgd', 'mse')\nnet.fit(x, x, validation_data=(x, x))", True),
        ("net.compile('sgd', 'mse')\nnet.predict(x)\nnet(x)", False),
        ("net(keras.Input([3]))\nnet(x)", True),
        ("keras.Sequential([Block()])(x, training=True)\nnet(x)", True),
    ],
)
def test_the_mode_is_that_of_the_layers_around(calls: str, differs: bool, tmp_path: Path) -> None:
    assert modal(f"{NET}{calls}\n", tmp_path) == ({"Block.call"} if differs else set())


@pytest.mark.parametrize(
    ("inner", "reads"),
    [
        ("keras.layers.GaussianNoise(0.1)", True),
        ("keras.layers.BatchNormalization()", True),
        ("keras.layers.Dense(3)", False),
        ("keras.layers.LSTM(3)", False),
        ("keras.layers.LSTM(3, dropout=0.2)", True),
        ("keras.layers.TimeDistributed(keras.layers.Dropout(0.2))", True),
        ("keras.layers.TimeDistributed(keras.layers.Dense(2))", False),
        ("keras.Sequential([keras.layers.Dense(3), keras.layers.Dropout(0.2)])", True),
        ("keras.Sequential([keras.layers.Dense(3)])", False),
        ("keras.applications.ResNet50()", True),
        ("Plain()", False),
    ],
)
def test_what_depends_on_the_mode(inner: str, reads: bool, tmp_path: Path) -> None:
    program = f"block = Block({inner})\nblock(x, training=True)\nblock(x, training=False)\n"
    assert ("Block.call" in modal(program, tmp_path)) is reads


@pytest.mark.parametrize("given", ["a", "[a, a]", "{'a': a, 'b': (a, a)}"])
def test_a_functional_model_runs_in_both_modes_whatever_structure_its_inputs_come_in(
    given: str, tmp_path: Path
) -> None:
    program = f"""\
class Outer(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(), Block()]
    def call(self, inputs):
        return self.blocks[1](self.blocks[0](x))
a = keras.Input([3])
model = keras.Model(a, Outer()({given}))
model(x)
"""
    assert modal(program, tmp_path) >= {"Outer.call", "Block.call"}


def test_a_step_outside_of_layers_runs_in_one_mode(tmp_path: Path) -> None:
    steps = """\
def step(v):
    return tf.reduce_sum(net(v)) + tf.reduce_sum(net(v, training=True))
def one(v, training):
    return tf.reduce_sum(net(v, training=training))
for i in range(9):
    step(x)
one(x, True)
one(x, False)
"""
    report = reported(NET + steps, tmp_path)
    actions = {f.facts.qualname: f.decision.precondition for f in report.functions}
    assert (actions["step"], actions["one"]) == ("P1", "P1")


@pytest.mark.parametrize(
    ("between", "stale"),
    [
        ("K.set_learning_phase(1)", True),
        ("with K.learning_phase_scope(1):\n    step(x)", True),
        ("x = x + 1.0", False),
    ],
)
def test_the_learning_phase_counts_outside_of_layers(between: str, stale: bool, tmp_path: Path) -> None:
    step = "def step(v):\n    return tf.reduce_sum(net(v)) * 2.0\nstep(x)\n"
    assert ("step" in modal(f"{NET}{step}{between}\nstep(x)\n", tmp_path)) is stale


def test_a_learning_phase_that_is_set_first_is_none_that_changes(tmp_path: Path) -> None:
    step = "def step(v):\n    return tf.reduce_sum(net(v)) * 2.0\n"
    assert modal(f"{NET}{step}K.set_learning_phase(1)\nstep(x)\nstep(x)\n", tmp_path) == set()


def test_keras_3_builds_in_inference_mode(tmp_path: Path) -> None:
    lazy = NET.replace("    def build(self, shape):\n        self.built = True\n", "")
    assert modal(f"{lazy}net(x, training=True)\n", tmp_path, "2.21") == {"Block.call"}
    assert modal(f"{lazy}net(x, training=True)\n", tmp_path, "2.15") == set()


def test_what_a_library_exports_is_called_in_any_mode(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'package'\nversion = '1'\n")
    (package / "__init__.py").write_text("")
    (package / "layers.py").write_text(BASE)
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    found = {f.facts.qualname: {s.code for s in f.statuses} for f in report.functions}
    assert "HY606" in found["Block.call"]
    assert "HY606" not in found["Plain.call"]


def test_a_hybrid_function_is_told_where_modes_are_seen_to_differ(tmp_path: Path) -> None:
    hybrid = BASE.replace(
        "    def call(self, x):\n        return tf.nn.relu(self",
        "    @tf.function\n    def call(self, x):\n        return tf.nn.relu(self",
    )
    for calls, told in (("net(x, training=True)\nnet(x)", True), ("net(keras.Input([3]))", False)):
        (tmp_path / "program.py").write_text(f"{hybrid}{NET}{calls}\n")
        report = analyze([tmp_path], Config(tensorflow_version="2.15"), repairs=False)
        assert ("HY606" in {f.code for f in report.findings}) is told
