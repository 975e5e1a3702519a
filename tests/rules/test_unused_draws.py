"""Host random numbers that nothing uses: no call computes with them, and HY203 does not tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybridize.api import analyze
from hybridize.config import Config

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
import random
import numpy as np
import tensorflow as tf
rng = np.random.default_rng(0)
v = tf.Variable(0.0)
rows = [1, 2, 3]
class Box:
    pass
box = Box()
def noise():
    return np.random.normal(size=[4]).astype("float32")
def dropped():
    z = noise()
@tf.function
def target(x):
    {}
    return x * 2.0
for _ in range(9):
    target(tf.ones([4]))
"""

UNUSED = {
    "never read": "z = np.random.uniform(-1, 1, [4]).astype(np.float32)",
    "not even kept": "random.random()",
    "read by what is never read": "z = np.random.rand(4)\n    y = z * 2.0 + 1.0\n    a, b = y[0], -y",
    "bound anew before it is read": "x = x * np.random.rand()\n    x = tf.ones([4])",
    "a tensor of it": "z = tf.constant(random.random()) + x",
    "by an object": "w = rng.normal(size=3)\n    n = float(w[random.choice([0, 1])])",
    "by a function": "z = noise()",
    "in a function": "dropped()",
    # With TensorFlow 2.15 and 2.21 each call draws anew, whatever the seed of the operation.
    "but as a seed": "x = tf.nn.dropout(x, 0.5, seed=rng.integers(9)) + tf.random.normal([4], seed=rng.integers(9))",
    "but as a name": "x = tf.identity(x, name='x' + str(random.random()))",
}
USED = {
    "by what is returned": "x = x + np.random.uniform(-1, 1, [4]).astype(np.float32)",
    "by what is returned, in the end": "z = np.random.rand()\n    y = z * 2.0\n    x = x + y",
    "by one of two ways": "z = np.random.rand()\n    if x[0] > 2.0:\n        x = x * z",
    "by a condition": "if random.random() > 0.5:\n        x = x + 1.0",
    "by a loop": "for _ in range(random.randint(1, 5)):\n        x = x + 1.0",
    "by a variable": "v.assign(random.random())",
    "by a field": "box.z = np.random.rand()",
    "by a list": "rows.append(random.random())",
    "by a message": "print(random.random())",
    "by a function": "x = x + noise()",
    "by a function inside": "z = np.random.rand()\n    x = (lambda y: y * z)(x)",
    "by what has no state": "x = x + tf.random.stateless_normal([4], seed=[random.getrandbits(9), 1])",
    "to put something in order": "random.shuffle(rows)",
    "put elsewhere": "rng.random(out=np.zeros(3))",
    "to seed": "np.random.seed(random.random())",
}


def lines(body: str, folder: Path) -> list[str]:
    (folder / "program.py").write_text(HEAD.format(body))
    return [f.severity.value for f in analyze([folder], Config()).findings if f.code == "HY203"]


@pytest.mark.parametrize("name", UNUSED)
def test_what_nothing_uses_is_not_told(name: str, tmp_path: Path) -> None:
    assert lines(UNUSED[name], tmp_path) == []


@pytest.mark.parametrize("name", USED)
def test_what_is_used_is_told(name: str, tmp_path: Path) -> None:
    assert "error" in lines(USED[name], tmp_path)


def test_a_function_s_other_caller_uses_it(tmp_path: Path) -> None:
    other = "@tf.function\ndef other(x):\n    return x + noise()\nother(tf.ones([4]))\n"
    (tmp_path / "program.py").write_text(HEAD.format("z = noise()") + other)
    found = [f.function for f in analyze([tmp_path], Config()).findings if f.code == "HY203"]
    assert "program:other" in found
