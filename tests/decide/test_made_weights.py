"""Weights that a graph is the first to make: under Keras 2 it takes the scopes around it out of their names.

Measured with TensorFlow 2.15: what is below a layer's `call`, or a scope that a caller opens, loses its name; a model's
own methods that are called from outside, and functions that are given the model, do not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

LIBRARY = """\
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(8)
        self.out = tf.keras.layers.Dense(1)
    def call(self, x):
        return self._mix(self.out(self.hidden(x)))
    def _mix(self, x):
        return tf.tanh(x) * tf.exp(-tf.abs(x)) + x

class Outer(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def call(self, x):
        return self.helped(x)
    def helped(self, x):
        return tf.exp(self.net(x)) + tf.tanh(x)
    def scored(self, x):
        return tf.exp(self.net(x)) + tf.tanh(x)
    def scoped(self, x):
        return tf.exp(self.net(x)) * tf.tanh(x)
"""
TESTS = """\
import tensorflow as tf
from lib import Outer

def test_call():
    outer = Outer()
    for _ in range(3):
        assert outer(tf.ones([2, 3])).shape == (2, 3)

def test_scored():
    outer = Outer()
    for _ in range(3):
        assert outer.scored(tf.ones([2, 3])).shape == (2, 3)

def test_scoped():
    outer = Outer()
    for _ in range(3):
        with tf.name_scope("around"):
            assert outer.scoped(tf.ones([2, 3])).shape == (2, 3)
"""


NAMES = """
def test_names():
    outer = Outer()
    outer(tf.ones([2, 3]))
    {asks}
"""


def kept(folder: Path, asks: str = "assert outer.weights[0].name", **options: bool) -> dict[str, list[str]]:
    """The methods that stay eager, and the codes of what keeps them."""
    (folder / "lib").mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "lib"\nversion = "1"\n', "utf-8")
    (folder / "lib" / "__init__.py").write_text(LIBRARY, "utf-8")
    (folder / "test_lib.py").write_text(TESTS + NAMES.format(asks=asks), "utf-8")
    functions = analyze([folder], Config(tensorflow_version="2.15", **options)).functions
    found = [f for f in functions if f.decision.action is Action.KEEP]
    return {f.facts.qualname: [status.code for status in f.statuses] for f in found}


def test_where_no_scope_stands_around_the_names_are_the_same(tmp_path: Path) -> None:
    found = kept(tmp_path, all_safe=True)
    assert "Outer.scored" not in found
    assert [found[f"Outer.{name}"] for name in ("call", "helped", "scoped")] == [["HY010"]] * 3


def test_by_default_callers_that_nobody_sees_may_stand_below_one(tmp_path: Path) -> None:
    assert "Outer.scored" in kept(tmp_path)


@pytest.mark.parametrize(
    ("asks", "counts"),
    [
        ("assert [w.name for w in outer.trainable_variables]", True),
        ("assert sorted(outer.weights, key=lambda w: w.name)", True),
        ("outer.save_weights('outer.h5')", True),
        ("outer.load_weights('outer', by_name=True)", True),
        ("assert outer.name", False),
        ("outer.save_weights('outer')", False),
    ],
)
def test_nobody_counts_on_names_that_the_project_never_asks_for(asks: str, counts: bool, tmp_path: Path) -> None:
    found = kept(tmp_path, asks, all_safe=True)
    assert [name in found for name in ("Outer.call", "Outer.helped", "Outer.scoped")] == [counts] * 3
