"""Derivatives of derivatives in eager code: graphs compute again what they derive (`library.costs.derived_again`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

#: A network of eight layers over rows of two numbers; `{loss}` derives what it gives.
PROGRAM = """\
import numpy as np
import tensorflow as tf
class Net:
    def __init__(self):
        sizes = [2, 20, 20, 20, 20, 20, 20, 20, 1]
        self.ws = [tf.Variable(np.random.randn(a, b).astype(np.float32)) for a, b in zip(sizes[:-1], sizes[1:])]
        self.bs = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]
    def evaluate(self, z):
        h = 2.0 * z - 1.0
        for i in range(7):
            h = tf.nn.tanh(tf.add(tf.matmul(h, self.ws[i]), self.bs[i]))
        return tf.add(tf.matmul(h, self.ws[-1]), self.bs[-1])
def residual(net, x, t):
{loss}
net = Net()
x, t = tf.random.normal([{rows}, 1]), tf.random.normal([{rows}, 1])
for i in range(1000):
    with tf.GradientTape() as outer:
        loss = residual(net, x, t)
    print(float(loss), [g.numpy() for g in outer.gradient(loss, net.ws)])
"""
PLAIN = """\
    u = net.evaluate(tf.concat([x, t], 1))
    print(u.numpy())
    return tf.reduce_mean(u ** 2)
"""
WITHIN = """\
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        u = net.evaluate(tf.concat([x, t], 1))
        u_x = tape.gradient(u, x)
    print(u.numpy())
    return tf.reduce_mean((u + tape.gradient(u_x, x)) ** 2)
"""
NESTED = """\
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            u = net.evaluate(tf.concat([x, t], 1))
        u_x = first.gradient(u, x)
    print(u.numpy())
    return tf.reduce_mean((u + second.gradient(u_x, x)) ** 2)
"""


def _decided(folder: Path, loss: str, rows: int) -> tuple[Action, str]:
    (folder / "main.py").write_text(PROGRAM.format(loss=loss, rows=rows), "utf-8")
    (found,) = [f for f in analyze([folder], Config()).functions if f.facts.qualname == "Net.evaluate"]
    return found.decision.action, " ".join(s.message for s in found.statuses)


@pytest.mark.parametrize("loss", [WITHIN, NESTED])
def test_second_derivatives_of_many_rows_cost_more_as_a_graph(tmp_path: Path, loss: str) -> None:
    action, said = _decided(tmp_path, loss, 10_000)
    assert action is Action.KEEP
    assert "eager code takes 3 derivatives of it, one of another" in said


def test_one_tape_speaks_against_nothing(tmp_path: Path) -> None:
    action, said = _decided(tmp_path, PLAIN, 100)
    assert action is Action.CONVERT_TO_HYBRID, said


def test_a_tape_that_is_asked_in_its_own_body_alone_takes_one_derivative(tmp_path: Path) -> None:
    head = PROGRAM.format(loss="    pass", rows=1).partition("net = Net()")[0]
    body = """\
net = Net()
optimizer = tf.keras.optimizers.SGD()
for i in range(1000):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net.evaluate(tf.random.normal([10_000, 2])) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, net.ws), net.ws))
"""
    (tmp_path / "main.py").write_text(head + body, "utf-8")
    (found,) = [f for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "Net.evaluate"]
    assert "derivatives" not in " ".join(s.message for s in found.statuses)
