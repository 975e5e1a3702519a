"""Elements of datasets whose making nobody can follow: whatever their structure, they hold nothing but tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

TRAIN = """
import sys
import tensorflow as tf
import tensorflow_datasets as tfds
import mystery

model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.build([None, 4])
opt = tf.keras.optimizers.SGD()

def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

def step(x, y):
    return train(x, y)

def step_of_pair(batch):
    x, y = batch
    return train(x, y)

def step_of_dict(batch):
    return train(batch["x"], batch["y"])

"""
RECORDS = "tf.data.TFRecordDataset(sys.argv[1]).map(mystery.parse).batch(8)"


def function(folder: Path, loop: str, name: str) -> FunctionReport:
    (folder / "program.py").write_text(TRAIN + loop)
    report = analyze([folder], Config(tensorflow_version="2.15"))
    return next(f for f in report.functions if f.facts.qualname == name)


@pytest.mark.parametrize(
    ("loop", "name"),
    [
        (f"for x, y in {RECORDS}:\n    step(x, y)\n", "step"),
        (f"for i, (x, y) in enumerate({RECORDS}.prefetch(1)):\n    step(x, y)\n", "step"),
        (f"for batch in {RECORDS}:\n    step(batch['x'], batch['y'])\n", "step"),
        (f"for batch in {RECORDS}:\n    step_of_pair(batch)\n", "step_of_pair"),
        (f"for batch in {RECORDS}:\n    step_of_dict(batch)\n", "step_of_dict"),
        ("for d in tfds.load('mnist', split='train', batch_size=8):\n    step(d['image'], d['label'])\n", "step"),
        ("for x, y in tf.data.Dataset.load(sys.argv[1]):\n    step(x, y)\n", "step"),
    ],
)
def test_they_are_tensors(loop: str, name: str, tmp_path: Path) -> None:
    found = function(tmp_path, loop, name)
    assert found.decision.action is Action.CONVERT_TO_HYBRID
    assert found.decision.arguments in ((), (("reduce_retracing", "True"),))  # nobody knows their sizes


@pytest.mark.parametrize(
    "loop",
    [
        f"for x, y in {RECORDS}.as_numpy_iterator():\n    step(x, y)\n",
        "for x, y in mystery.batches():\n    step(x, y)\n",
    ],
)
def test_other_things_may_be_arrays_or_anything(loop: str, tmp_path: Path) -> None:
    assert function(tmp_path, loop, "step").decision.action is Action.KEEP
