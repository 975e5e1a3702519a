"""What one program of a project runs as part of a graph another may run eagerly, at every batch."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

_COMMON = """\
import tensorflow as tf
class Trainer:
    def __init__(self, model, strategy=None):
        self.model = model
        self.strategy = strategy
        self.optimizer = tf.keras.optimizers.Adam()
    @tf.function
    def distributed(self, x, y):
        return self.strategy.reduce("MEAN", self.strategy.run(self.train_step, args=(x, y)), axis=None)
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x, training=True) - y))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss
def make():
    model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
    data = tf.data.Dataset.from_tensor_slices((tf.ones([1024, 8]), tf.ones([1024, 1]))).batch(16)
    return model, data
"""
_DISTRIBUTED = """\
import tensorflow as tf
from common import Trainer, make
strategy = tf.distribute.MirroredStrategy()
model, data = make()
trainer = Trainer(model, strategy)
for epoch in range(100):
    for again in range(100):
        for x, y in strategy.experimental_distribute_dataset(data):
            trainer.distributed(x, y)
"""
_ALONE = """\
from common import Trainer, make
model, data = make()
trainer = Trainer(model)
for epoch in range(100):
    for x, y in data:
        trainer.train_step(x, y)
"""
_SHOWN = """\
from common import Trainer, make
model, data = make()
print(Trainer(model).train_step(*next(iter(data))))
"""


def _action(folder: Path, **files: str) -> Action:
    for name, text in {"common": _COMMON, "distributed": _DISTRIBUTED, **files}.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    report = analyze([folder], Config(all_safe=True))
    return next(f.decision.action for f in report.functions if f.facts.qualname == "Trainer.train_step")


def test_a_program_that_calls_a_step_eagerly_at_every_batch_is_sped_up(tmp_path: Path) -> None:
    assert _action(tmp_path, alone=_ALONE) is Action.CONVERT_TO_HYBRID


def test_a_script_that_calls_it_once_leaves_it_to_the_graph_around_it(tmp_path: Path) -> None:
    assert _action(tmp_path, shown=_SHOWN) is Action.KEEP
