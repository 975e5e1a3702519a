"""Steps of Keras' models that a method of the program goes on from (`super().predict_step(data)`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

_MODEL = """\
import tensorflow as tf


class Pool(tf.keras.Model):
    def __init__(self, models):
        super().__init__()
        self.models = models

    def call(self, inputs):
        return {given}

    @tf.function
    def after(self, outputs):
        return [output[0] for output in outputs]

    def predict_step(self, data):
        return self.after(super().predict_step(data))


pool = Pool([tf.keras.layers.Dense(1), tf.keras.layers.Dense(1)])
pool.compile(loss="mse")
print(pool.predict({data}))
"""


@pytest.mark.parametrize(
    ("given", "data", "raises"),
    [
        ("tf.nest.map_structure(lambda i: self.models[i](inputs), [0, 1])", "tf.ones([4, 2])", False),
        ("[model(inputs) for model in self.models]", "tf.data.Dataset.from_tensors((tf.ones([4, 2]), 1.0))", False),
        ("self.models[0](inputs)", "tf.ones([4, 2])", True),
    ],
)
def test_a_prediction_has_the_structure_that_the_model_gives(
    given: str, data: str, raises: bool, tmp_path: Path
) -> None:
    (tmp_path / "main.py").write_text(_MODEL.format(given=given, data=data))
    found = [f.severity.value for f in analyze([tmp_path], Config()).findings if f.code == "HY310"]
    assert bool(found) is raises


_OWN_STEP = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.top = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.top(inputs)

    def {step}(self, data):
        images, labels = data
        return super().{step}((images["left"], labels))


net = Net()
net.compile(loss="mse")
net.{run}({{"left": tf.ones([4, 2]), "right": tf.ones([4, 3])}}, tf.ones([4, 1]))
"""


@pytest.mark.parametrize(("step", "run"), [("train_step", "fit"), ("test_step", "evaluate")])
def test_a_step_of_the_library_calls_the_model(step: str, run: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(_OWN_STEP.format(step=step, run=run))
    call = next(f.facts for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "Net.call")
    assert call.reached
    assert 2 in (call.parameters[1].tensor_types[0].shape or ())
