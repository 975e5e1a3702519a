"""A program for each precondition and status of which `check` says its code: the examples of the documentation.

They stand apart from the table of the codes, which every decision imports. HY029 has none: it is a mistake of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Options that an example needs, by their names in `pyproject.toml`.
OPTIONS: Final[Mapping[str, Mapping[str, bool | str]]] = {
    "HY006": {"speculate": False},
    "HY022": {"infer-input-signatures": True},
    "HY023": {"tensorflow-version": "2.16"},
}

EXAMPLES: Final[Mapping[str, str]] = {
    "P1": """\
import tensorflow as tf

w = tf.Variable(tf.zeros([3, 1]))


def train_step(x, y):
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


for _ in range(1000):
    train_step(tf.ones([8, 3]), tf.ones([8, 1]))
""",
    "P2": """\
import tensorflow as tf


@tf.function
def scale():
    return tf.constant(2.0)


scale()
""",
    "P3": """\
import tensorflow as tf


@tf.function
def shifted(x, epoch):
    return x + epoch


for epoch in range(100):
    shifted(tf.ones([3]), epoch)
""",
    "P4": """\
import tensorflow as tf


@tf.function
def smooth(x):
    for _ in range(20):
        x = tf.sin(x) * 2.0 + tf.cos(x)
    return x


x = tf.ones([1])
while tf.size(x) < 1000:
    x = tf.concat([x, smooth(x)[:1]], axis=0)
""",
    "P5": """\
import tensorflow as tf


@tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
def norm(x):
    return tf.sqrt(tf.reduce_sum(tf.square(x)))


norm(tf.ones([3]))
norm(tf.ones([4]))
""",
    "P6": """\
import tensorflow as tf


@tf.function
def first(x, y):
    return x


first(tf.ones([2]), tf.ones([2]))
""",
    "P7": """\
import tensorflow as tf

average = [tf.Variable(tf.zeros([10])) for _ in range(20)]
weights = [tf.Variable(tf.ones([10])) for _ in range(20)]


def update():
    for old, new in zip(average, weights):
        old.assign(0.99 * old + 0.01 * new)


for _ in range(1000):
    update()
""",
    "HY001": """\
import tensorflow as tf


def report(names):
    return len(names)


@tf.function
def step(x):
    return tf.exp(x) * 2.0


print(report(["a", "b"]), step(tf.ones([3])))
""",
    "HY002": """\
import tensorflow as tf


def power(x, n):
    return tf.exp(x) * n


for n in range(100):
    power(tf.ones([3]), n)
""",
    "HY003": """\
import tensorflow as tf

losses = []


def step(x):
    loss = tf.reduce_sum(tf.exp(x))
    losses.append(loss)
    return loss


for _ in range(100):
    step(tf.ones([3]))
""",
    "HY004": """\
import tensorflow as tf


def halve(x, depth):
    return x if depth == 0 else halve(tf.exp(x) / 2.0, depth - 1)


halve(tf.ones([3]), 4)
""",
    "HY005": """\
import tensorflow as tf


def pair(x, y):
    return x, y


for _ in range(100):
    pair(tf.ones([3]), tf.zeros([3]))
""",
    "HY006": """\
import tensorflow as tf

import mystery


@tf.function
def step(x):
    for _ in range(20):
        x = tf.sin(x) * 2.0
    return x


for x in mystery.values():
    step(x)
""",
    "HY007": """\
import tensorflow as tf


@tf.function
def step(x):
    return tf.exp(x) * 2.0 + tf.sqrt(x)


for _ in range(100):
    step(tf.ones([3]))
""",
    "HY008": """\
import tensorflow as tf

average = [tf.Variable(tf.zeros([10])) for _ in range(20)]
weights = [tf.Variable(tf.ones([10])) for _ in range(20)]


@tf.function
def update():
    for old, new in zip(average, weights):
        old.assign(0.99 * old + 0.01 * new)


for _ in range(1000):
    update()
""",
    "HY010": """\
import tensorflow as tf


def scaled(x):
    return tf.exp(x) * 2.0 + tf.sqrt(x)


@tf.function
def step(x):
    return scaled(scaled(x))


for _ in range(100):
    step(tf.ones([3]))
""",
    "HY014": """\
import tensorflow as tf


class Layer:
    def call(self, x):
        raise NotImplementedError


class Twice(Layer):
    def call(self, x):
        return 2.0 * tf.exp(x)


for layer in (Layer(), Twice()):
    layer.call(tf.ones([3]))
""",
    "HY016": """\
import tensorflow as tf


@tf.function
def shifted(x, n):
    return tf.exp(x) + n


graph = shifted.get_concrete_function(tf.ones([3]), 1)
for n in range(100):
    shifted(tf.ones([3]), n)
""",
    "HY017": """\
import tensorflow as tf


def scale(n):
    return tf.constant(2.0) * n


graph = tf.function(scale)
for n in range(100):
    graph(n)
""",
    "HY018": """\
import tensorflow as tf


class Box:
    def __init__(self, x):
        self.x = tf.exp(x) * 2.0

    def __bool__(self):
        return bool(tf.reduce_any(self.x > 1.0))


for _ in range(100):
    if Box(tf.ones([3])):
        pass
""",
    "HY020": """\
import tensorflow as tf


def step(x):
    return tf.exp(x)  # hybridize: ignore[HY301]


step(tf.ones([3]))
""",
    "HY021": """\
import tensorflow as tf


def double(x):
    return 2.0 * x


for _ in range(100):
    double(tf.ones([3]))
""",
    "HY022": """\
import tensorflow as tf


def smooth(*xs):
    for _ in range(20):
        x = tf.sin(xs[0]) + xs[1]
    return x


for _ in range(1000):
    smooth(tf.ones([3]), tf.ones([3]))
""",
    "HY023": """\
import tensorflow as tf


def wave(x):
    for _ in range(40):
        x = tf.sin(x) * 0.5 + x
    return x


for _ in range(100):
    wave(tf.ones([10]))
""",
    "HY024": """\
import tensorflow as tf


@tf.function
def simulate(steps):
    x = tf.constant(0.0)
    for _ in tf.range(steps):
        x = tf.sin(x) + 1.0
    return x


for steps in range(1000, 1010):
    simulate(steps)
""",
    "HY025": """\
import tensorflow as tf


def rotated(x):
    for _ in range(20):
        x = tf.sin(x) * 2.0 + tf.cos(x)
    return x


def test_rotated():
    for _ in range(100):
        assert rotated(tf.zeros([3])).shape == [3]
""",
    "HY026": """\
import tensorflow as tf


def rotated(x: tf.Tensor):
    for _ in range(20):
        x = tf.sin(x) * 2.0 + tf.cos(x)
    return x
""",
    "HY027": """\
import tensorflow as tf


def energy(x: tf.Tensor):
    for _ in range(10):
        x = tf.sin(x) * 2.0 + tf.cos(x)
    return x


def main(batches: list[tf.Tensor]):
    for batch in batches:
        energy(batch)
""",
    "HY028": """\
import tensorflow as tf

tf.compat.v1.disable_eager_execution()


def energy(x):
    return tf.reduce_sum(tf.square(tf.exp(x)))


with tf.compat.v1.Session() as session:
    session.run(energy(tf.ones([3])))
""",
}
