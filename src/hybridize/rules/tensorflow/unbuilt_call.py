"""HY401: under Keras 3, a graph inside the call of a model that is not built yet trains nothing."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.keras.building import all_built, builder_around, own_weights_of
from hybridize.tracing.running.processes import may_have_keras_3, some_may_have_keras_3
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The function is (part of) the `call` of a layer without `build`, and uses weights that are built there."""
    if not some_may_have_keras_3(function.project):
        return
    for frame in function.frames:
        builder = builder_around(function.project, frame)
        if builder is None:
            continue
        built = all_built(function.project, frame)
        lazy = next(built, None)
        own = own_weights_of(function.project, frame) if builder.code is not frame.code else None
        if lazy is None and own is None:
            continue
        if not may_have_keras_3(function):
            return
        pos, layer = lazy or (function.code.position, f"`{own}`")
        message = f"traced while Keras 3 builds `{builder.code.qualname.rpartition('.')[0]}`: {layer} gets no gradients"
        also = tuple(position for position, _ in built)
        yield Hit(pos if pos >> 16 else function.code.position, message, also=also)
        return


RULE = Rule(
    code="HY401",
    name="unbuilt-call",
    category=Category.TENSORFLOW,
    outcome=Outcome.DIFFERS,
    summary="Traced while Keras 3 builds the model around it: its weights get no gradients, silently.",
    act="build the layers in `build`, or call the model once before it is trained",
    details="""A Keras 3 model without a `build` of its own is built at its first call, by tracing `call` on
placeholders in a graph that is thrown away. A hybrid function in there is traced against the variables of that
throw-away graph, and keeps them: every gradient through it is None, at the first call and ever after. With
Keras 2 the same code trains. Hybridize the training step instead, which calls the model, or build every
sublayer in `build`. It is information: of the models that were read most were built by an eager call before, or were
not trained through that graph.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)
    def call(self, x):
        return self.dense(x)
net = Net()
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(net(tf.ones((4, 3))))
grads = tape.gradient(loss, net.trainable_variables)
trained = [g is not None for g in grads]
""",
            target="Net.call",
            line=7,
            outcome=Outcome.DIFFERS,
            needs="keras>=3",
        ),
        Example(
            """\
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)
    def hidden(self, x):
        return tf.nn.relu(self.dense(x))
    def call(self, x):
        return self.hidden(x) + 1.0
net = Net()
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(net(tf.ones((4, 3))))
grads = tape.gradient(loss, net.trainable_variables)
trained = [g is not None for g in grads]
""",
            target="Net.hidden",
            line=7,
            outcome=Outcome.DIFFERS,
            needs="keras>=3",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
    def call(self, x):
        return self.dense(x)
net = Net()
def target(x):  # the step that calls the model
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net(x))
    return tape.gradient(loss, net.trainable_variables)
grads = target(tf.ones((4, 3)))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
    def build(self, shape):
        self.dense.build(shape)
        self.built = True
    def call(self, x):
        return self.dense(x)
net = Net()
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(net(tf.ones((4, 3))))
grads = tape.gradient(loss, net.trainable_variables)
""",
            target="Net.call",
        ),
    ),
    known_problems="""Whether an eager call has built the model before is not always seen: most of the models that
were read had been built so, or were not trained through the graph.""",
    reference="semantics.md R22",
)
