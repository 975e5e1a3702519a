"""Objects and lists of a trace, which functions of the project fill with its tensors, hold symbolic ones."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """\
import numpy as np
import tensorflow as tf
weights = tf.Variable(tf.ones([4, 4]))
class Record:
    def __init__(self):
        self.rows, self.named, self.last, self.size = [], {"kept": []}, None, 0
    def note(self, x):
        self.rows.append(x)
        self.named["kept"].append(x)
        self.last = tf.nn.relu(x)
        return self
    def count(self, x):
        self.size += x.shape[0]
    def shown(self):
        return self.last.numpy()
    def mean(self):
        return {name: np.concatenate(rows) for name, rows in self.named.items()}["kept"].mean()
class Owner:
    def __init__(self):
        self.record = Record()
def made():
    return Record()
def pushed(rows, x):
    rows.append(tf.nn.relu(x))
def put(box, x):
    box.last = x * 2.0
def through(box, x):
    put(box, x + 1.0)
def target(x):
    for _ in range(20):
        x = tf.matmul(x, weights) / 4.0
"""
TAIL = """
for _ in range(50):
    target(tf.ones([4, 4]))
"""
#: Bodies of `target`, and the rule that keeps it eager; none where it may be a graph.
PROGRAMS = {
    "a method stores it, another one reads it": ("r = Record()\nr.note(x)\nreturn x + r.shown()", "HY301"),
    "what a function makes": ("r = made()\nr.note(x)\nreturn x + r.shown()", "HY301"),
    "in a list of a dictionary": ("r = Record()\nr.note(x)\nreturn x + r.mean()", "HY340"),
    "in a loop": ("r = Record()\nfor _ in range(3):\n    r.note(x)\nreturn x + r.rows[0].numpy()", "HY301"),
    "by a function": ("r = Record()\nput(r, x)\nreturn x + r.last.numpy()", "HY301"),
    "by a function that a function calls": ("r = Record()\nthrough(r, x)\nreturn x + r.last.numpy()", "HY301"),
    "by name": ("r = Record()\nput(x=x, box=r)\nreturn x + r.last.numpy()", "HY301"),
    "in a part of an object": ("o = Owner()\no.record.note(x)\nreturn x + o.record.shown()", "HY301"),
    "in a list": ("rows = []\npushed(rows, x)\nreturn x + rows[0].numpy()", "HY301"),
    "as it comes back": ("return x + Record().note(x).shown()", "HY301"),
    "a number": ("r = Record()\nr.count(x)\nreturn x + float(np.sqrt(r.size))", ""),
    "computed on as tensors": ("r = Record()\nput(r, x)\nreturn x + r.last", ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_trace_fills_is_symbolic(name: str, tmp_path: Path) -> None:
    body, rule = PROGRAMS[name]
    (tmp_path / "main.py").write_text(HEAD + indent(body, "    ") + TAIL, "utf-8")
    (found,) = [f for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "target"]
    said = {status.code for status in found.statuses}
    assert (rule in said) if rule else found.decision.action.value == "convert_to_hybrid", (said, found.decision)


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", PROGRAMS)
def test_tensorflow_says_so(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    body, rule = PROGRAMS[name]
    space: dict[str, object] = {}
    exec(HEAD + indent(body, "    "), space)  # the program is one of this file's
    target = tf.function(space["target"])
    eager = space["target"](tf.ones([4, 4]))  # type: ignore[operator]
    if rule:
        with pytest.raises((AttributeError, NotImplementedError)):
            target(tf.ones([4, 4]))
    else:
        assert bool(tf.reduce_all(target(tf.ones([4, 4])) == eager))
