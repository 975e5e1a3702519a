"""HY371: Python values given to a function with a gradient of its own, of which a graph makes tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lib, Lit, Obj, Prim
from hybridize.facts.calls.callgraph import has_own_gradient
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.views import FrameView, FunctionView

#: What Python cannot use any more once it is a tensor; a float is computed with as before.
_USED: Final = frozenset({"int", "bool", "str"})


def frame(view: FrameView) -> Iterator[Hit]:
    """Each parameter that gets such a value."""
    if has_own_gradient(view.code):
        for param, value in zip(view.code.params, view.frame.args, strict=True):
            if any(map(_is_lost, value)):
                said = f"`{param.name}` gets a Python value, of which `tf.custom_gradient` makes a tensor in a graph"
                yield Hit(view.code.position, said)


def root(function: FunctionView) -> Iterator[Hit]:
    """Parameters that a graph of the function itself passes by keyword, or by their defaults, which no call need."""
    if not has_own_gradient(function.code):
        return
    if function.facts.kind.is_bound:  # eager code binds it first, a graph of the function itself passes it
        said = f"a graph passes `{function.code.params[0].name}` itself, of which `tf.custom_gradient` makes a tensor"
        yield Hit(function.code.position, said)
    for param in function.code.params:
        if param.by_name:
            said = f"a graph passes `{param.name}` by keyword, which `tf.custom_gradient` takes in eager code alone"
            yield Hit(function.code.position, said)
        elif param.has_default:
            said = f"a graph passes the default of `{param.name}`, of which `tf.custom_gradient` makes a tensor"
            yield Hit(function.code.position, said)


def _is_lost(obj: Obj) -> bool:
    return (isinstance(obj, (Lit, Prim)) and obj.kind in _USED) or (isinstance(obj, Lib) and obj.name.startswith("np."))


RULE = Rule(
    code="HY371",
    name="gradient-argument",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    level=Level.INFO,
    summary="A function under `tf.custom_gradient` gets Python values: in a graph it gets tensors in their place.",
    act="keep the value out of the arguments: define the function with the gradient inside of one that takes it",
    details="""Eagerly `tf.custom_gradient` hands all arguments on as they are. In a graph it makes a tensor of each, of
numbers, flags and names as well: `range(n)`, `if flag` and shapes then raise or decide otherwise, and what is no
tensor, as a class of NumPy, raises at once. Let a function that takes such values define the one with the gradient.

Where the function itself becomes a graph, its defaults are passed as well (`name=None` raises; for a number the
function that computes gradients would have to give one more), and parameters behind
`*` by keyword, which is refused. Of a method it passes the object, which is no tensor, either. A call of it within a
graph passes what the code passes.""",
    frame=frame,
    root=root,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def target(x, n):
    y = x
    for _ in range(n):
        y = y * 2.0
    def grad(g):
        return g * 2.0 ** n, None
    return y, grad
r1 = target(tf.constant([1.0, 2.0]), 3)
""",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def scaled(x, by):
    y = x * 2.0 if by == "two" else x * 3.0
    return y, lambda g: (g * 2.0, None)
def target(x):
    return scaled(x, "two")
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def target(x, factor, name=None):
    return tf.multiply(x, factor, name=name), lambda g: (g * factor, None)
r1 = target(tf.constant([1.0, 2.0]), 3.0)
""",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def target(x, slope=0.1):
    return tf.maximum(x, x * slope), lambda g: tf.where(x > 0.0, g, g * slope)
x = tf.Variable([1.0, -2.0])
with tf.GradientTape() as tape:
    y = target(x)
r1 = tape.gradient(y, x)
""",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def target(x, *, factor=2.0):
    return x * factor, lambda g: g * factor
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
class Blend:
    @tf.custom_gradient
    def mix(self, x, y):
        return x * y, lambda g: (g * y, g * x)
r1 = Blend().mix(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
""",
            line=4,
            target="Blend.mix",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Blend:
    @tf.custom_gradient
    def mix(self, x, y):
        return x * y, lambda g: (g * y, g * x)
blend = Blend()
def target(x, y):
    return blend.mix(x, y)
r1 = target(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Blend:
    @staticmethod
    @tf.custom_gradient
    def mix(x, y):
        return x * y, lambda g: (g * y, g * x)
r1 = Blend.mix(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
""",
            target="Blend.mix",
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def scaled(x, factor, name=None):
    return tf.multiply(x, factor, name=name), lambda g: (g * factor, None)
def target(x):
    return scaled(x, 3.0)
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def doubled(x, n):
    @tf.custom_gradient
    def inner(x):
        y = x
        for _ in range(n):
            y = y * 2.0
        return y, lambda g: g * 2.0 ** n
    return inner(x)
def target(x):
    return doubled(x, 3)
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def target(x, rate):
    def grad(g):
        return g * rate, None
    return x * rate, grad
r1 = target(tf.constant([1.0, 2.0]), 0.5)
"""
        ),
    ),
    known_problems="""Keywords in calls, which `tf.custom_gradient` refuses in graphs, are not looked at; a whole
number that only TensorFlow computes with does no harm, and is told of all the same.""",
    reference="TensorFlow's documentation of tf.custom_gradient; measured with 2.15 and 2.21",
)
