"""HY257 where one program of a project needs Keras 2: another one beside it may run on Keras 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

STEP = """\
import tensorflow as tf
{}
def target(optimizer, gradients, variables):
    optimizer.apply_gradients(zip(gradients, variables))
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
model.build((None, 3))
optimizer = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(tf.ones([2, 3])))
target(optimizer, tape.gradient(loss, model.trainable_variables), model.trainable_variables)
"""
OLD = "import tensorflow as tf\noptimizer = tf.keras.optimizers.Adam(lr=0.1)\n"
PRIVATE = "import tensorflow as tf\nfrom tensorflow.python.keras.preprocessing import text\n"


@pytest.mark.parametrize(
    ("here", "beside", "told"),
    [
        ("", "", True),
        ("", OLD, True),
        ("", PRIVATE, True),
        ("import beside", OLD, False),
        ("schedule = tf.keras.optimizers.Adam(lr=0.1)", "", False),
        ("import beside", "", True),
    ],
)
def test_each_program_may_have_its_keras(here: str, beside: str, told: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP.format(here))
    (tmp_path / "beside.py").write_text(beside)
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    assert ("HY257" in {s.code for f in report.functions for s in f.statuses}) == told
