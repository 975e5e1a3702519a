"""Callbacks of Keras: what they are made with runs where somebody hands them to training, or calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

_PROGRAM = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse")
x, y = np.ones([8, 2], "float32"), np.ones([8, 1], "float32")


@tf.function
def look(epoch, value=None):
    return model.predict(x)[0, 0]


def main():
    {run}


main()
"""
_KERAS = "tf.keras.callbacks."


def told(run: str, folder: Path) -> list[str]:
    (folder / "main.py").write_text(_PROGRAM.format(run=run.replace("K.", _KERAS).replace("\n", "\n    ")), "utf-8")
    return [f.severity.value for f in analyze([folder], Config()).findings if f.code == "HY301"]


@pytest.mark.parametrize(
    "run",
    [
        "model.fit(x, y, callbacks=[K.LambdaCallback(on_epoch_end=look)])",
        "model.fit(x, y, callbacks=K.LambdaCallback(on_epoch_end=look))",
        "model.fit(x, y, callbacks=[K.LearningRateScheduler(look)])",
        "model.evaluate(x, y, callbacks=[K.LambdaCallback(on_test_end=look)])",
        "K.LambdaCallback(on_epoch_end=look).on_epoch_end(1, {})",
        "K.LearningRateScheduler(look).on_epoch_begin(1)",
        "K.CallbackList([K.LambdaCallback(on_epoch_end=look)]).on_epoch_end(1)",
        "group = K.CallbackList([K.LambdaCallback(on_epoch_end=look)])\nmodel.fit(x, y, callbacks=group)",
    ],
)
def test_what_training_is_handed_runs(run: str, tmp_path: Path) -> None:
    assert told(run, tmp_path) == ["error"]


@pytest.mark.parametrize(
    "run",
    [
        "kept = K.LambdaCallback(on_epoch_end=look)\nmodel.fit(x, y)",
        "kept = K.LearningRateScheduler(look)\nmodel.fit(x, y, callbacks=[])",
        "kept = [K.LambdaCallback(on_epoch_end=look)]\nmodel.fit(x, y, callbacks=kept[1:])",
        "K.LambdaCallback(on_epoch_end=look).on_epoch_begin(1, {})",
        "K.CallbackList([K.LambdaCallback(on_epoch_end=look)])\nmodel.fit(x, y)",
    ],
)
def test_what_nobody_hands_over_runs_never(run: str, tmp_path: Path) -> None:
    assert "error" not in told(run, tmp_path)
