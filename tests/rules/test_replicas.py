"""What `strategy.run` runs is part of the trace of who calls it: a strategy runs eagerly what eager code gives it."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """\
import numpy as np
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
weights = tf.Variable(tf.ones([4, 4]))
class Trainer:
    def __init__(self):
        self.scale = np.ones([4, 4], np.float32)
    def read(self, x):
        return x * float(x.numpy().sum())
    def scaled(self, x, step):
        return x * self.scale.T.sum() * float(f"{step:.1f}")
trainer = Trainer()
def target(x):
    for _ in range(20):
        x = tf.matmul(x, weights) / 4.0
"""
TAIL = "for _ in range(50):\n    target(tf.ones([4, 4]))\n"
#: Bodies of `target`, and the rule that keeps it eager; none where nothing in it raises.
PROGRAMS = {
    "a method": ("return strategy.run(trainer.read, args=(x,))", "HY301"),
    "a function in it": (
        "def inner(y):\n    return y + float(y.numpy().sum())\nreturn strategy.run(inner, (x,))",
        "HY301",
    ),
    "what it captures": ("def inner():\n    return x.numpy().sum()\nreturn x + strategy.run(inner)", "HY301"),
    "arrays and numbers of its own": ("return strategy.run(trainer.scaled, args=(x, 2))", ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_replica_runs_counts(name: str, tmp_path: Path) -> None:
    body, rule = PROGRAMS[name]
    (tmp_path / "main.py").write_text(HEAD + indent(body, "    ") + "\n" + TAIL, "utf-8")
    (found,) = [f for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "target"]
    said = {status.code for status in found.statuses} & {"HY301", "HY344", "HY347"}
    assert said == ({rule} if rule else set())


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", PROGRAMS)
def test_tensorflow_says_so(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    body, rule = PROGRAMS[name]
    space: dict[str, object] = {}
    exec(HEAD + indent(body, "    "), space)  # the program is one of this file's
    eager = space["target"](tf.ones([4, 4]))  # type: ignore[operator]
    target = tf.function(space["target"])
    if rule:
        with pytest.raises(AttributeError):
            target(tf.ones([4, 4]))
    else:
        assert bool(tf.reduce_all(target(tf.ones([4, 4])) == eager))
