"""Stands in for what the scripts of TensorFlow-Examples get from elsewhere: data, a helper module, displays.

Images are synthetic: each class has a pattern of its own, in noise, so that there is something to learn. `STEPS` in the
environment is how many batches `take` gives at most.
"""

# mypy: ignore-errors
import os
import sys
import types

import numpy as np
import tensorflow as tf

_STEPS = int(os.environ.get("STEPS", "0"))


def _images(count, shape, seed):
    random = np.random.RandomState(seed)
    patterns = np.random.RandomState(0).randint(0, 256, (10, *shape))
    labels = random.randint(0, 10, count).astype(np.uint8)
    noise = random.randint(0, 256, (count, *shape))
    return ((patterns[labels] + noise) // 2).astype(np.uint8), labels


def _mnist(path="mnist.npz"):
    return _images(6000, (28, 28), 1), _images(1000, (28, 28), 2)


def _cifar():
    (x, y), (u, v) = _images(6000, (32, 32, 3), 1), _images(1000, (32, 32, 3), 2)
    return (x, y.reshape(-1, 1)), (u, v.reshape(-1, 1))


def _write_csv(file, epochs=None, accuracy=None, loss=None, time=None):
    for name, value in (("average accuracy", accuracy), ("average loss", loss)):
        if value is not None:
            print(f"{name}: {float(value):.6f}")


tf.__version__ = "2.9.3"  # one of the scripts refuses all others
tf.keras.datasets.mnist.load_data = _mnist
tf.keras.datasets.cifar10.load_data = _cifar
for _name in (
    "keras.datasets.mnist",
    "keras.src.datasets.mnist",
    "keras.datasets.cifar10",
    "keras.src.datasets.cifar10",
):
    if _name in sys.modules:
        sys.modules[_name].load_data = _mnist if _name.endswith("mnist") else _cifar

_scripts, _utils = types.ModuleType("scripts"), types.ModuleType("scripts.utils")
_utils.write_csv = _write_csv
_scripts.utils = _utils
sys.modules["scripts"], sys.modules["scripts.utils"] = _scripts, _utils

if _STEPS:
    _take = tf.data.Dataset.take
    tf.data.Dataset.take = lambda self, count, name=None: _take(self, min(count, _STEPS))

if tf.keras.Model.__module__.startswith("keras.src.models"):  # Keras 3 writes no checkpoint of a model by this method
    tf.keras.Model.save_weights = lambda self, filepath: tf.train.Checkpoint(model=self).write(filepath)
    tf.keras.Model.load_weights = lambda self, filepath: tf.train.Checkpoint(model=self).read(filepath)

# Pictures and profiles are not what is measured, and the newest TensorFlow wants to be asked elsewhere for a profile.
_trace_on, _trace_export = tf.summary.trace_on, tf.summary.trace_export
tf.summary.trace_on = lambda graph=True, profiler=False: _trace_on(graph=graph)
tf.summary.trace_export = lambda name, step=None, profiler_outdir=None: _trace_export(name, step)
_matplotlib, _pyplot = types.ModuleType("matplotlib"), types.ModuleType("matplotlib.pyplot")
_pyplot.__getattr__ = lambda name: lambda *args, **keywords: None
_matplotlib.pyplot = _pyplot
sys.modules["matplotlib"], sys.modules["matplotlib.pyplot"] = _matplotlib, _pyplot
