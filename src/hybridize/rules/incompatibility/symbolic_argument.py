"""HY304: functions that build functional models."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import SYMBOLIC
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Keras symbolic tensors arrive at a parameter."""
    for frame in function.frames:
        if any(isinstance(o, Tensor) and o.kind == SYMBOLIC for value in frame.args for o in value):
            yield Hit(function.code.position, "receives Keras symbolic tensors")
            return


RULE = Rule(
    code="HY304",
    name="symbolic-argument",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Keras symbolic tensors reach the function: it builds a functional model.",
    details="""A `keras.Input` is no tensor, and `tf.function` refuses it as an argument. Building the model once
is Python's work; the model itself runs as a graph in `fit`, or inside a hybrid training step.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.keras.layers.Dense(2)(x)
inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, target(inputs))
r1 = model(tf.ones((1, 3))).shape
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, layers):
    for layer in layers:
        x = layer(x)
    return x
inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, target(inputs, (tf.keras.layers.Dense(2), tf.keras.layers.ReLU())))
r1 = model(tf.ones((1, 3))).shape
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 2.0 + 1.0
inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, tf.keras.layers.Lambda(lambda x: target(x))(inputs))
r1 = model(tf.ones((1, 3)))
"""
        ),
        Example(
            """\
import tensorflow as tf
inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))
def target(x):
    return model(x)
r1 = target(tf.ones((1, 3))).shape
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.nn.relu(x) + 1.0
r1 = target(tf.ones((1, 3)))
"""
        ),
    ),
    reference="semantics.md R17",
)
