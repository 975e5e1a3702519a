"""HY304: functions that build functional models."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.calls import How
from hybridize.domain.objects import Obj, Tensor
from hybridize.domain.tensors import SYMBOLIC
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.keras.functional import from_builder, holds_symbolic, may_build
from hybridize.tracing.returns.results import returns
from hybridize.tracing.running.certain import direct_calls, is_called
from hybridize.tracing.views import FunctionView

#: The first release in which what a `keras.Input` gives is no tensor of a graph.
_KERAS_TENSORS = (2, 4)
_COMPUTED = "assumed that nobody gives it a symbolic tensor of Keras: it calls operations of TensorFlow, too"


def scan(function: FunctionView) -> Iterator[Hit]:
    """Keras symbolic tensors arrive, come back, or may do so."""
    arrives = _surely_arrives(function) or next(
        (hit for hit in (_arrives(function, frame) for frame in function.frames) if hit is not None), None
    )
    if arrives is not None:
        yield arrives
        return
    yield from _returned(function)
    possible = may_build(function)
    if possible is not None:
        said = "gives an argument of unknown kind to a layer: with a symbolic tensor of Keras it builds a model"
        here = Evidence(said, possible.view.code.path, possible.position >> 16)
        yield Hit(possible.position, said, evidence=(here,), unless=_COMPUTED if possible.computes else "")
    building = None if function.is_hybrid else from_builder(function)
    if building is not None:
        caller, called = building
        said = "receives what a function goes on with that makes layers and calls them at once: it builds a model"
        yield Hit(function.code.position, said, evidence=(Evidence("called here", caller.code.path, called >> 16),))


def _surely_arrives(function: FunctionView) -> Hit | None:
    """A hit that is an error: a program itself calls the function with nothing but a symbolic tensor."""
    if not function.is_hybrid or function.project.versions.newest < _KERAS_TENSORS or not is_called(function):
        return None
    for caller, pos, frame in direct_calls(function):
        given = frame.incoming.get((caller, pos), ())
        for param, value in zip(frame.code.params, given, strict=False):
            if not param.is_starred and value and all(_is_symbolic(o) for o in value):
                said = f"receives Keras symbolic tensors in `{param.name}`"
                called = (Evidence(said, function.code.path, function.code.line),)
                here = Evidence("called here", caller.code.path, pos >> 16)
                return Hit(function.code.position, said, evidence=(*called, here), level=Level.ERROR)
    return None


def _is_symbolic(obj: Obj) -> bool:
    return isinstance(obj, Tensor) and obj.kind == SYMBOLIC


def _arrives(function: FunctionView, frame: Frame) -> Hit | None:
    for param, value in zip(frame.code.params, frame.args, strict=True):
        if holds_symbolic(value):
            where = "" if param.is_starred else f" in `{param.name}`"
            return Hit(function.code.position, f"receives Keras symbolic tensors{where}")
    return None


def _returned(function: FunctionView) -> Iterator[Hit]:
    """A function that gives a layer what is symbolic already, or makes that, and returns what comes of it."""
    for view in function.views():
        for instr in returns(view.frame, view):
            if holds_symbolic(view.value(instr.value)) and _has_symbolic(view.frame):
                yield Hit(instr.position, "returns Keras symbolic tensors, which a graph cannot")
                return


def _has_symbolic(frame: Frame) -> bool:
    """Whether a function itself has or makes something symbolic: an argument, a variable, a field, an `Input`.

    Where a layer is called with symbolic tensors by some and with plain ones by others, what it gives is told as both.
    """
    made = index_of(frame.code).definitions
    return any(
        value and holds_symbolic(value) and _is_source(frame, made.get(slot)) for slot, value in enumerate(frame.vals)
    )


def _is_source(frame: Frame, made: Instr | None) -> bool:
    """Whether an instruction brings what it gives, rather than to derive it from what the function has."""
    if made is None or isinstance(made, ir.Load):
        return True
    if not isinstance(made, ir.Call) or called_at(frame, made.position, (How.KERAS,)):
        return False
    return not any(holds_symbolic(frame.vals[slot] or frozenset()) for slot in arguments(made))


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
may be given symbolic tensors: say what the argument is by a type hint (`x: tf.Tensor`). Where the layers are kept ones,
and the function calls operations of TensorFlow as well, `--all-safe` assumes that they are not. A function that makes
layers with weights and calls them at once builds a model, whatever its hints say: so does what it calls with what comes
of that.""",
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
    known_problems="""Who is seen to pass what decides: it is an error only where a program of the project calls the
function and nothing but a symbolic input can come. Elsewhere it is mistaken too often.""",
    reference="semantics.md R17",
)
