"""HY603: losses that a layer adds inside a graph of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.flow.frames import Frame
from hybridize.program.ir import Instr, Op
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.rules.values import argument
from hybridize.rules.views import FrameView

_ADDS: Final = ".add_loss"
#: What `layer(x)` runs: whoever calls the layer gets its losses in the same trace.
_BY_KERAS: Final = "call"


def _is_adding(name: str) -> bool:
    return name.endswith(_ADDS) and name.startswith("keras.")


def adds(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """A layer is given a loss that tracing makes symbolic."""
    if any(map(_is_adding, view.names(instr[2]))):
        needs = view.symbolic(argument(instr, 0, "losses") if instr[3] else argument(instr, 0, "loss"))
        if needs:
            message = "adds a loss to a layer inside the layer's own graph: nobody outside can read it"
            yield Hit(instr[-1], message, needs)


def stays_inside(view: FrameView, position: int, callee: Frame) -> bool:
    """Whether the caller is still part of the layer: a graph around the call of the layer reads its losses itself."""
    del view, position
    return callee.code.name != _BY_KERAS


RULE = Rule(
    code="HY603",
    name="leaked-loss",
    category=Category.STATE,
    outcome=Outcome.RAISES,
    summary="Adds a loss inside a `call` that is a graph of its own: it is a symbol that nobody outside can use.",
    details="""`self.add_loss(...)` keeps a tensor until `layer.losses` is read. In a `call` that is hybrid itself that
tensor is a symbol of its graph: a training step or `fit` that sums the losses fails with a tensor that is out of
scope. Leave `call` as it is and make the training step hybrid, which reads the losses in the same trace.""",
    level=Level.WARNING,
    triggers={Op.CALL: Where(adds, names=_is_adding)},
    passes=stays_inside,
    bad=(
        Example(
            """\
import tensorflow as tf
class Penalty(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x * x))
        return x * 2.0
layer = Penalty()
y = layer(tf.ones([2]))
r1 = y + tf.add_n(layer.losses)
""",
            target="Penalty.call",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Sparse(tf.keras.layers.Layer):
    def penalize(self, x):
        self.add_loss(0.1 * tf.reduce_sum(tf.abs(x)))
    def call(self, x):
        self.penalize(x)
        return x + 1.0
layer = Sparse()
def step(x):
    y = layer(x)
    return tf.reduce_sum(y) + tf.add_n(layer.losses)
r1 = step(tf.ones([2]))
""",
            target="Sparse.call",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Penalty(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x * x))
        return x * 2.0
layer = Penalty()
def target(x):
    y = layer(x)
    return tf.reduce_sum(y) + tf.add_n(layer.losses)
r1 = target(tf.ones([2]))
r2 = target(tf.zeros([2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Scaled(tf.keras.layers.Layer):
    def call(self, x):
        return x * 2.0
layer = Scaled()
r1 = layer(tf.ones([2]))
r2 = layer(tf.zeros([2]))
""",
            target="Scaled.call",
        ),
    ),
    reference="semantics.md R3",
)
