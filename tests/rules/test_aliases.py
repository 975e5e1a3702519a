"""Calls that pass the same tensor in two ways to a function that derives by one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

DERIVES = """\
import tensorflow as tf
def target(xs, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = xs[0] * xs[1]
    return tape.gradient(y, x)
a, b = tf.constant(1.0), tf.constant(2.0)
"""
SAME = {
    "an element": "xs = [a, b]\ntarget(xs, xs[0])\n",
    "an element of a dictionary": "d = {'k': [a, b]}\ntarget(d['k'], d['k'][1])\n",
    "what is shown in a list": "target([a, b], b)\n",
    "what was appended": "xs = []\nxs.append(a)\nxs.append(b)\ntarget(xs, a)\n",
    "each element in turn": "xs = [a, b]\nfor i, x in enumerate(xs):\n    target(xs, x)\n",
    "unpacked": "xs = [a, b]\nfirst, second = xs\ntarget(xs, second)\n",
    "given by a caller": "def outer(xs, x):\n    return target(xs, x)\nxs = (a, b)\nouter(xs, xs[0])\n",
    "taken apart by a caller": "def outer(xs):\n    p, q = xs\n    return target([p, q], q)\nouter((a, b))\n",
}
OTHERS = {
    "other tensors": "target([a, b], tf.constant(3.0))\n",
    "another element": "xs = [[a, b], a + b]\ntarget(xs[0], xs[1])\n",
    "a part of a tensor, which is a new one": "c = tf.ones(2)\ntarget(c, c[0])\n",
    "elements of two lists": "for xs, x in zip([[a, b]], [a * b]):\n    target(xs, x)\n",
    "a result": "target([a, b], tf.identity(a) * 2.0)\n",
}


def derives_twice(source: str, tmp_path: Path) -> bool:
    (tmp_path / "module.py").write_text(DERIVES + source)
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    target = next(f for f in report.functions if f.facts.qualname == "target")
    return any(status.code == "HY361" for status in target.statuses)


@pytest.mark.parametrize("source", SAME.values(), ids=SAME.keys())
def test_the_same_tensor_in_two_ways(source: str, tmp_path: Path) -> None:
    assert derives_twice(source, tmp_path)


@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS.keys())
def test_tensors_of_their_own(source: str, tmp_path: Path) -> None:
    assert not derives_twice(source, tmp_path)
