"""The masks of Keras get neither into a graph nor out of it: who makes them and who reads them must be on one side."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

LAYERS = """\
import tensorflow as tf
from tensorflow.keras import layers
embed = layers.Embedding(10, 4, mask_zero={zero})
embed.build([None])
read = layers.GlobalAveragePooling1D()
ids = tf.constant([[1, 2, 0]])
def work(x):
    for _ in range(10):
        x = tf.abs(x) + tf.exp(x)
    return x
"""
#: What is called for, and whether the mask of `embed` is lost.
PROGRAMS = {
    "handed on by a layer and a function": (
        "dense = layers.Dense(4)\ndense.build([None, None, 4])\ndef hand(x): return dense(x)\n"
        "def run(x): return work(read(x))\nfor _ in range(20): run(hand(embed(ids)))\n",
        True,
    ),
    "an operation hands none on": (
        "def run(x): return work(read(x))\nfor _ in range(20): run(embed(ids) * 2.0)\n",
        False,
    ),
    "in one graph": ("def run(i): return work(read(embed(i)))\nfor _ in range(20): run(ids)\n", False),
    "read by a helper": (
        "def pool(x): return read(x)\ndef run(x): return work(pool(x))\nfor _ in range(20): run(embed(ids))\n",
        True,
    ),
    "read of the result": (
        "def run(i):\n    work(tf.cast(i, tf.float32))\n    return embed(i)\nfor _ in range(20): read(run(ids))\n",
        True,
    ),
    "nobody reads it of the result": (
        "def run(i):\n    print_of = work(tf.cast(i, tf.float32))\n    return embed(i), print_of\n"
        "for _ in range(20): tf.reduce_sum(run(ids)[0])\n",
        False,
    ),
    "passed as an argument": (
        "def run(x, m): return work(read(x, mask=m))\nfor _ in range(20): run(embed(ids), tf.not_equal(ids, 0))\n",
        False,
    ),
}


def codes(source: str, function: str, folder: Path) -> set[str]:
    (folder / "program.py").write_text(source, "utf-8")
    report = analyze([folder], Config(all_safe=True))
    return {s.code for f in report.functions if f.facts.qualname == function for s in f.statuses}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mask_is_lost_where_its_maker_and_its_reader_are_on_two_sides(name: str, tmp_path: Path) -> None:
    source, lost = PROGRAMS[name]
    assert ("HY375" in codes(LAYERS.format(zero=True) + source, "run", tmp_path)) is lost


def test_without_a_setting_there_is_no_mask(tmp_path: Path) -> None:
    source = "def run(x): return work(read(x))\nfor _ in range(20): run(embed(ids))\n"
    assert "HY375" not in codes(LAYERS.format(zero=False) + source, "run", tmp_path)


MODEL = """\
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(10, 4, mask_zero=True)
        self.out = layers.Dense(1)
    def call(self, ids):
        return self.out(self.embed(ids)){op}
net = Net()
net.compile(loss="mse")
net.fit(ids, tf.ones([1, 3, 1]))
"""


@pytest.mark.parametrize(("op", "lost"), [("", True), (" * 2.0", False)])
def test_losses_read_the_mask_of_what_a_model_gives(op: str, lost: bool, tmp_path: Path) -> None:
    source = LAYERS.format(zero=False) + MODEL.format(op=op)
    assert ("HY375" in codes(source, "Net.call", tmp_path)) is lost


BLOCK = """\
import tensorflow as tf
class Block(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.supports_masking = {supports}
        self.pool = tf.keras.layers.GlobalAveragePooling1D()
    def call(self, x):
        x = self.pool(x)
        for _ in range(10):
            x = tf.abs(x) + tf.exp(x)
        return x
"""


@pytest.mark.parametrize("supports", [True, False])
def test_a_layer_of_a_library_that_takes_masks_gets_them_from_others(supports: bool, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "pack"\nversion = "1"\ndependencies = ["tensorflow"]\n')
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(BLOCK.format(supports=supports))
    report = analyze([tmp_path], Config(all_safe=True))
    found = {s.code for f in report.functions if f.facts.qualname == "Block.call" for s in f.statuses}
    assert ("HY375" in found) is supports


def test_the_value_of_a_variable_is_the_graphs(tmp_path: Path) -> None:
    source = """\
class Box:
    def __init__(self):
        self.extent = tf.Variable([3, 4], shape=tf.TensorShape([None]))
    def put(self, x):
        if len(x.shape) != len(self.extent.value()):
            raise ValueError("another rank")
        return work(x)
box = Box()
for _ in range(20): box.put(tf.ones([3, 4]))
"""
    assert "HY313" in codes(LAYERS.format(zero=False) + source, "Box.put", tmp_path)
