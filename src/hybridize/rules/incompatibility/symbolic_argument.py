"""HY304: functions that build functional models."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.rules.functional import holds_symbolic, may_build
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.rules.results import returns
from hybridize.rules.views import FunctionView

_NAMELESS = ("varargs", "kwargs")


def scan(function: FunctionView) -> Iterator[Hit]:
    """Keras symbolic tensors arrive, come back, or may do so."""
    arrives = next((hit for hit in (_arrives(function, frame) for frame in function.frames) if hit is not None), None)
    if arrives is not None:
        yield arrives
        return
    yield from _returned(function)
    possible = may_build(function)
    if possible is not None:
        view, position = possible
        said = "gives an argument of unknown kind to a layer: with a symbolic tensor of Keras it builds a model"
        yield Hit(position, said, evidence=(Evidence(said, view.code.path, position >> 16),))


def _arrives(function: FunctionView, frame: Frame) -> Hit | None:
    for param, value in zip(frame.code.params, frame.args, strict=True):
        if holds_symbolic(value):
            where = "" if param.kind in _NAMELESS else f" in `{param.name}`"
            return Hit(function.code.position, f"receives Keras symbolic tensors{where}")
    return None


def _returned(function: FunctionView) -> Iterator[Hit]:
    """A function that gives a layer what is symbolic already, or makes that, and returns what comes of it."""
    for view in function.views():
        for instr in returns(view.frame, view):
            if holds_symbolic(view.value(instr[2])):
                yield Hit(instr[-1], "returns Keras symbolic tensors, which a graph cannot")
                return


RULE = Rule(
    code="HY304",
    name="symbolic-argument",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Keras symbolic tensors reach the function, or come of it: it builds a functional model.",
    details="""A `keras.Input` is no tensor, and neither is what a layer makes of one. `tf.function` refuses it as an
argument, in a list, tuple or dictionary as well, and as a result, wherever it came from: a field, a global, an `Input`
that the function makes. Building the model once is Python's work; the model itself runs as a graph in `fit`, or inside
a hybrid training step. Functions that a library exports and that do nothing but give layers an argument of unknown kind
may be given symbolic tensors: say what the argument is by a type hint (`x: tf.Tensor`).""",
    level=Level.INFO,
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
        Example(
            """\
import tensorflow as tf
class Net:
    def __init__(self):
        self.heads = [tf.keras.layers.Dense(4), tf.keras.layers.Dense(4)]
        self.top = tf.keras.layers.Add()
    def __call__(self, xs):
        return self.top([head(x) for head, x in zip(self.heads, xs)])
    def tensors(self):
        inputs = [tf.keras.Input((3,)) for _ in self.heads]
        return inputs, self(inputs)
net = Net()
inputs, outputs = net.tensors()
r1 = tf.keras.Model(inputs, outputs)([tf.ones((1, 3)), tf.ones((1, 3))]).shape
""",
            target="Net.__call__",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Encoder:
    def __init__(self):
        self.x = tf.keras.Input((3,))
        self.dense = tf.keras.layers.Dense(2)
    def scaled(self, factor):
        return self.dense(self.x) * factor
encoder = Encoder()
model = tf.keras.Model(encoder.x, encoder.scaled(tf.constant(2.0)))
r1 = model(tf.ones((1, 3))).shape
""",
            target="Encoder.scaled",
            line=7,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Gate(tf.keras.layers.Layer):
    def call(self, inputs):
        x, y = inputs
        return tf.nn.sigmoid(x) * y
x = tf.keras.Input((3,))
model = tf.keras.Model(x, Gate()([x, x]))
r1 = model(tf.ones((1, 3)))
""",
            target="Gate.call",
        ),
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
