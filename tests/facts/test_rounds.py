"""State that a call gives back longer, and the next call gets, needs a graph for all lengths, or none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

HEAD = """\
import numpy as np
import tensorflow as tf
class Model:
    def __init__(self):
        self.w = tf.Variable(tf.random.normal([8, 8]))
        self.memory = np.zeros([0, 8], np.float32)
    def work(self, h):
        for _ in range(8):
            h = tf.nn.relu(tf.matmul(h, self.w)) + 0.1 * tf.nn.softmax(h)
        return h
"""
#: Static: the length is a number while the function is traced, so that no graph serves two lengths.
NUMBERED = "n = {0}.shape[0]; h = {0} + np.arange(n * 8, dtype=np.float32).reshape(n, 8)"
RUN = """\
m = Model()
state = {start}
for i in range(40):
    y, state = m.step(tf.random.normal([4, 8]), state)
print(y)
"""
FIELD = """\
m = Model()
def serve(x):
    m.memory = np.concatenate([m.memory, x])
    return m.step(x, tf.constant(m.memory))
for i in range(40):
    print(serve(np.random.randn(4, 8).astype(np.float32)))
"""
TENSOR, PAIR = "tf.zeros([0, 8])", "(tf.zeros([0, 8]), tf.zeros([0, 8]))"
#: The body of `step(self, x, s)`, how it is called. TensorFlow 2.15 and 2.21 counted a trace for each of the calls.
ANEW = {
    "given back": (
        f"s = tf.concat([s, x], 0); {NUMBERED.format('s')}; return self.work(h), s",
        RUN.format(start=TENSOR),
    ),
    "in a tuple": (
        f"k, v = s; k = tf.concat([k, x], 0); {NUMBERED.format('k')}; return self.work(h), (k, v)",
        RUN.format(start=PAIR),
    ),
    "in a dictionary": (
        f"k = tf.concat([s['k'], x], 0); {NUMBERED.format('k')}; return self.work(h), {{'k': k}}",
        RUN.format(start="{'k': tf.zeros([0, 8])}"),
    ),
    "a list with one more": ("h = self.work(x + sum(s)); return h, s + [h]", RUN.format(start="[tf.zeros([4, 8])]")),
    "through a callee": (
        f"s = self.more(x, s); {NUMBERED.format('s')}; return self.work(h), s\n"
        "    def more(self, x, s): return tf.concat([s, x], axis=0)",
        RUN.format(start=TENSOR),
    ),
    "in a field": (f"{NUMBERED.format('s')}; return self.work(h)", FIELD),
}
#: The same, where one graph or two serve all lengths: they are let in.
LET_IN = {
    "given back": ("s = tf.concat([s, x], 0); return self.work(s), s", RUN.format(start=TENSOR)),
    "in a list": (
        "h = x; new = []\n        for each in s:\n            each = tf.concat([each, h], 0); new.append(each)\n"
        "            h = self.work(h + tf.reduce_mean(each, 0))\n        return h, new",
        RUN.format(start="[tf.zeros([0, 8])] * 2"),
    ),
    "in a field": ("return self.work(tf.matmul(tf.matmul(x, s, transpose_b=True), s))", FIELD),
}
#: What comes round in one size: nothing speaks against a graph for that size.
SAME = {
    "a window": (
        f"s = tf.concat([s[4:], x], 0); {NUMBERED.format('s')}; return self.work(h), s",
        RUN.format(start="tf.zeros([16, 8])"),
    ),
    "a state of a cell": (
        f"h = tf.concat([s, x], 1); s = tf.matmul(h, tf.ones([16, 8])); {NUMBERED.format('s')}; return self.work(h), s",
        RUN.format(start="tf.zeros([4, 8])"),
    ),
}


def _decided(folder: Path, body: str, run: str) -> tuple[Action, tuple[str, ...]]:
    (folder / "main.py").write_text(f"{HEAD}    def step(self, x, s):\n        {body}\n{run}", "utf-8")
    (found,) = [f for f in analyze([folder], Config()).functions if f.facts.qualname == "Model.step"]
    return found.decision.action, tuple(name for name, _ in found.decision.arguments)


@pytest.mark.parametrize("case", ANEW)
def test_what_is_traced_for_each_length_stays_eager(tmp_path: Path, case: str) -> None:
    assert _decided(tmp_path, *ANEW[case])[0] is Action.KEEP


@pytest.mark.parametrize("case", LET_IN)
def test_other_lengths_are_let_in(tmp_path: Path, case: str) -> None:
    action, arguments = _decided(tmp_path, *LET_IN[case])
    assert action is Action.CONVERT_TO_HYBRID
    assert set(arguments) & {"input_signature", "experimental_relax_shapes"}


@pytest.mark.parametrize("case", SAME)
def test_what_keeps_its_size_may_be_a_graph(tmp_path: Path, case: str) -> None:
    assert _decided(tmp_path, *SAME[case])[0] is Action.CONVERT_TO_HYBRID
