"""A function that would stay eager without what keeps it so: nothing is offered that leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

#: Trains for as many epochs as the user says; `{}` is where `report` is called once, and at each batch.
PROGRAM = """\
import sys
import tensorflow as tf

w = tf.Variable(tf.ones([64, 64]))


def report(x):
    y = tf.nn.relu(tf.matmul(x, w) + 1.0)
    y = tf.nn.softmax(tf.matmul(tf.tanh(y), w) * 2.0)
    y = tf.reduce_sum(tf.nn.softmax(tf.matmul(tf.tanh(y), w) * 2.0), axis=1)
    print("sums", y)
    return y


def step(x):
    with tf.GradientTape() as tape:
        y = tf.nn.relu(tf.matmul(tf.tanh(tf.matmul(x, w)), w) + 1.0)
        loss = tf.reduce_mean(tf.square(y - x))
    w.assign_sub(0.01 * tape.gradient(loss, w))


for epoch in range(int(sys.argv[1])):
    for batch in tf.data.Dataset.from_tensor_slices(tf.ones([5000, 64])).batch(8, drop_remainder=True):
        step(batch)
        {}
{}
"""


@pytest.mark.parametrize(
    ("each", "once", "offered"),
    [
        ("report(batch)", "", True),
        ("", "report(tf.ones([4, 64]))", False),  # tracing takes longer than the call
        ("pass", "@tf.function\ndef ask(x):\n    return report(x)\nfor i in range(9):\n    ask(w)", False),  # its graph
    ],
)
def test_only_what_would_become_a_graph_is_offered(each: str, once: str, offered: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(each or "pass", once))
    for all_safe in (False, True):
        found = analyze([tmp_path], Config(all_safe=all_safe)).repairs
        names = {bundle.qualname for bundle in found if not bundle.hybrid}
        assert ("report" in names) == (offered or all_safe)


#: A model without `build`, whose layers Keras 3 builds where `call` first calls them.
UNBUILT = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self, norm=True):
        super().__init__()
        self.one = tf.keras.layers.Conv2D(8, 3)
        self.two = tf.keras.layers.BatchNormalization()
        self.norm = norm

    def call(self, x):
        x = self.one(x)
        if self.norm:
            x = self.two(x)
            x = tf.sqrt(tf.nn.softmax(x) * 2.0) + tf.nn.relu(x)
        return x


net = Net()
for _ in range(500):
    net(tf.ones([4, 8, 8, 3]))
"""


def test_no_part_is_offered_with_another_layer_that_is_to_be_built(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(UNBUILT, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.16\n", encoding="utf-8")
    assert analyze([tmp_path], Config()).repairs == ()
