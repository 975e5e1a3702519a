"""Models that a name chooses when the program runs: those that it may be are followed, and trained as any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

MODELS = """
import tensorflow as tf

class Small(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.a = tf.keras.layers.Dense(units)
        self.b = tf.keras.layers.Dense(1)
    def call(self, x):
        return self.b(tf.nn.relu(self.a(x)))

class Large(Small):
    def __init__(self, units):
        super().__init__(units * 4)

BY_NAME = {"small": Small, "large": Large}
REGISTERED = {}
def register(name):
    def wrap(cls):
        REGISTERED[name] = cls
        return cls
    return wrap

@register("tiny")
class Tiny(Small):
    pass
"""
NOISY = """
import tensorflow as tf

class Counting(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.a = tf.keras.layers.Dense(units)
        self.seen = []
    def call(self, x):
        self.seen.append(1)
        return self.a(x)
"""
FACTORIES = """
from models import Small
def small(units):
    return Small(units)
"""
TRAIN = """
import sys
import importlib
import tensorflow as tf
import factories
import models
import noisy
from models import Small

class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = tf.keras.optimizers.Adam()
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x) - y))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

trainer = Trainer(%s)
data = tf.data.Dataset.from_tensor_slices((tf.ones([100, 4]), tf.ones([100, 1]))).batch(10)
for epoch in range(100):
    for x, y in data:
        trainer.step(x, y)
"""


def step(folder: Path, maker: str) -> FunctionReport:
    files = {"models": MODELS, "noisy": NOISY, "factories": FACTORIES, "train": TRAIN % maker}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    report = analyze([folder], Config(tensorflow_version="2.15"))
    return next(f for f in report.functions if f.facts.qualname == "Trainer.step")


@pytest.mark.parametrize(
    "maker",
    [
        "getattr(models, sys.argv[1])(8)",
        "globals()[sys.argv[1]](8)",
        "models.BY_NAME[sys.argv[1]](8)",
        "models.REGISTERED[sys.argv[1]](8)",
        "getattr(importlib.import_module('models'), 'Small')(8)",
        "getattr(factories, sys.argv[1])(8)",
        "getattr(tf.keras.applications, sys.argv[1])()",
    ],
)
def test_a_model_by_name_is_a_model(maker: str, tmp_path: Path) -> None:
    assert step(tmp_path, maker).decision.action is Action.CONVERT_TO_HYBRID


def test_what_such_a_model_does_counts(tmp_path: Path) -> None:
    found = step(tmp_path, "getattr(noisy, sys.argv[1])(8)")
    assert found.decision.action is Action.KEEP
    assert "HY003" in {s.code for s in found.statuses}
