"""HY280: methods that a library calls back, and for which a graph cannot stand in."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.library.contracts.model import Answer
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The method overrides one that its library cannot call as a graph."""
    found = function.project.contracts.broken(function.code)
    if found is not None:
        outcome = Outcome.RAISES if found.answer is Answer.RAISES else Outcome.DIFFERS
        yield Hit(function.code.position, found.message, outcome=outcome)


RULE = Rule(
    code="HY280",
    name="broken-contract",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="decorate a function that this method calls",
    summary="A library or Python calls this method back, and takes no graph in its place.",
    details="""A method that overrides one of a library's class is called by that library: while it builds an object,
on symbolic tensors, or for a number, a shape, a setting or an operation that it goes on with. A graph makes its
variables at the first trace only, gives tensors in place of Python's values, and keeps the tensors that are stored
while it is traced. So `build`, `get_config`, `compute_output_shape`, the `_resource_apply_dense` of an optimizer,
`__bool__`, `__hash__` and the like raise as graphs, or give other types. Leave them as they are, and decorate what
they are part of: the training step, or the function that calls the layer.""",
    level=Level.WARNING,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def weight(layer, **kwargs):
    return getattr(layer, "add_weight")(**kwargs)
class Scale(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.builds = tf.Variable(0.0, trainable=False)
    def build(self, shape):
        self.builds.assign_add(1.0)
        self.w = weight(self, name="w", shape=(2,), initializer="ones")
    def call(self, x):
        return x * self.w
r1 = Scale()(tf.ones((1, 2)))
""",
            target="Scale.build",
            line=8,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Descent(tf.keras.optimizers.legacy.Optimizer):
    def _resource_apply_dense(self, grad, var, apply_state=None):
        return tf.group(var.assign_sub(0.1 * grad))
    def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
        return tf.group(var.scatter_sub(tf.IndexedSlices(0.1 * grad, indices)))
    def get_config(self):
        return super().get_config()
v = tf.Variable(1.0)
Descent("descent").apply_gradients([(tf.constant(2.0), v)])
r1 = v.numpy()
""",
            target="Descent._resource_apply_dense",
            line=3,
            outcome=Outcome.RAISES,
            needs="keras<3",
        ),
        Example(
            """\
import tensorflow as tf
class Ball(tf.keras.constraints.Constraint):
    def __call__(self, w):
        return w / tf.maximum(tf.norm(w), 1.0)
layer = tf.keras.layers.Dense(1, kernel_initializer="ones", kernel_constraint=Ball())
model = tf.keras.Sequential([layer])
model.compile("sgd", "mse")
model.fit(tf.ones((2, 2)), tf.ones((2, 1)), verbose=0)
r1 = model.get_weights()
""",
            target="Ball.__call__",
            line=3,
            outcome=Outcome.RAISES,
            needs="keras>=3",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Scale(tf.keras.layers.Layer):
    def call(self, x):
        return tf.nn.relu(x) * 2.0 + tf.reduce_sum(x)
layer = Scale()
r1 = layer(tf.ones((1, 2)))
r2 = layer(tf.zeros((1, 2)))
""",
            target="Scale.call",
        ),
        Example(
            """\
import tensorflow as tf
class Diagonal(tf.linalg.LinearOperator):
    def __init__(self, values):
        self.values = tf.convert_to_tensor(values)
        super().__init__(dtype=self.values.dtype, is_square=True)
    def _shape(self):
        size = self.values.shape[-1]
        return tf.TensorShape([size, size])
    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self.values[:, None] * x
r1 = Diagonal([1.0, 2.0]).matmul(tf.ones((2, 3)))
""",
            target="Diagonal._matmul",
        ),
        Example(
            """\
import tensorflow as tf
class Builder:
    def build(self, x):
        return tf.nn.relu(x) * 2.0
r1 = Builder().build(tf.ones((1, 2)))
""",
            target="Builder.build",
        ),
    ),
)
