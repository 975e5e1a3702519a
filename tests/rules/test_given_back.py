"""A number that a graph gives back is a tensor: passed again, it is no Python value that differs (HY101)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
import collections
import tensorflow as tf
data = [tf.ones([3]) for _ in range(50)]
State = collections.namedtuple("State", ["loss", "n"])
@tf.function
def step(x, n, grow=True):
    if grow:
        n += 1
    return tf.reduce_sum(x), n
@tf.function
def bump(x, n):
    return n + 1
@tf.function
def named(x, n):
    return State(tf.reduce_sum(x), n + 1)
"""
TURNS = "for i, x in enumerate(data):\n    "

#: A program, the function that counts in it, and how loudly it is told that this is traced again and again.
PROGRAMS = {
    "given back in a tuple": ("n = 0\n" + TURNS + "loss, n = step(x, n=n, grow=i % 2 == 0)\n", "step", ""),
    "given back alone": ("n = 0\n" + TURNS + "n = bump(x, n)\n", "bump", ""),
    "given back in a named tuple": ("n = 0\n" + TURNS + "n = named(x, n).n\n", "named", ""),
    "in turns of turns": ("n = 0\nfor _ in range(3):\n    for x in data:\n        _, n = step(x, n)\n", "step", ""),
    "begun with what is read": (
        "n = int(open(__file__).readline().count('x'))\nfor _ in range(3):\n    for x in data:\n"
        "        _, n = step(x, n)\n",
        "step",
        "",
    ),
    "Python adds to what is given back": ("n = 0\n" + TURNS + "n = bump(x, n) + 1\n", "bump", ""),
    "through a function": (
        "def turn(x, n):\n    loss, n = step(x, n)\n    return n\nn = 0\n" + TURNS + "n = turn(x, n)\n",
        "step",
        "",
    ),
    "Python counts": ("n = 0\n" + TURNS + "step(x, n)\n    n += 1\n", "step", "warning"),
    "Python counts beside what is given back": (
        "n = 0\n" + TURNS + "loss, m = step(x, n)\n    n += 1\n",
        "step",
        "warning",
    ),
    "made a Python number again": ("n = 0\n" + TURNS + "n = int(bump(x, n))\n", "bump", "warning"),
    "made a Python number for the call": ("n = 0\n" + TURNS + "n = bump(x, int(n))\n", "bump", "warning"),
    "Python adds to it now and then": (
        "n = m = 0\n" + TURNS + "m += 1\n    n = bump(x, m if i % 2 else n)\n",
        "bump",
        "info",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_told(name: str, tmp_path: Path) -> None:
    source, function, level = PROGRAMS[name]
    (tmp_path / "program.py").write_text(HEAD + source)
    found = [f for f in analyze([tmp_path], Config()).findings if f.code == "HY101"]
    assert [(f.function, f.severity.value) for f in found] == [(f"program:{function}", level)] * bool(level)


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_tensorflow_does(name: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    source, function, level = PROGRAMS[name]
    (tmp_path / "program.py").write_text(HEAD + source)
    scope: dict[str, Any] = {"__file__": str(tmp_path / "program.py")}
    exec(HEAD + source, scope)
    assert (scope[function].experimental_get_tracing_count() > 4) is bool(level)
