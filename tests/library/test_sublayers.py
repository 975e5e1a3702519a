"""`model.layers` of a class of the project: the layers that its attributes hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize import api

MODEL = """\
import tensorflow as tf


class Noisy(tf.keras.layers.Layer):
    def call(self, x):
        print("called")
        return tf.sin(x)


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(3)
        self.units = 7
        self.stack = [tf.keras.layers.Dense(4), (tf.keras.layers.Dense(5), Noisy())]
        self.again = self.first
        self.named = {"a": tf.keras.layers.Dense(6)}

    def call(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = Model()
"""


def test_what_is_called_in_a_loop_over_them_is_followed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MODEL + "model(tf.ones([2, 3]))\n", encoding="utf-8")
    found = {f.facts.qualname: f for f in api.check([tmp_path]).functions}
    assert found["Noisy.call"].facts.reached
    assert found["Model.call"].facts.python_side_effects.value.name == "YES"


@pytest.mark.tensorflow
def test_they_come_in_the_order_in_which_keras_has_them(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    space: dict[str, object] = {}
    exec(compile(MODEL, "program", "exec"), space)
    layers = space["model"].layers  # type: ignore[attr-defined]
    takers = "".join(
        f"def take_{i}(x):\n    return x\ntake_{i}(model.layers[{i}](tf.ones([2, 3])))\n" for i in range(len(layers))
    )
    (tmp_path / "program.py").write_text(MODEL + takers, encoding="utf-8")
    found = {f.facts.qualname: f for f in api.check([tmp_path]).functions}
    for i, layer in enumerate(layers):
        (given,) = found[f"take_{i}"].facts.parameters[0].tensor_types
        assert given.shape == (2, getattr(layer, "units", 3))
