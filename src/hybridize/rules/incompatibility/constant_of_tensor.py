"""HY346: `tf.constant` of a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Obj, Stream, Tup
from hybridize.facts.symbolic import OPERATION
from hybridize.library.convert import SHAPE_KIND
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.tracing.values import argument, inside, own
from hybridize.tracing.views import FrameView

_CONSTANT: Final = frozenset({"tf.constant", "tf.compat.v1.constant", "keras.backend.constant"})


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A constant of what tracing makes symbolic."""
    if not _CONSTANT.isdisjoint(view.names(instr.function)):
        slot = argument(instr, 0, "value")
        needs = own(view, slot) or inside(view, slot)
        if needs:
            yield Hit(
                instr.position, "makes a constant of a tensor: use `tf.convert_to_tensor` or `tf.identity`", needs
            )
        elif slot >= 0 and any(_is_shape(o) for o in view.value(slot)):
            message = "makes a constant of a `TensorShape`, which only eager code can: use `tf.convert_to_tensor`"
            yield Hit(instr.position, message, OPERATION)


def _is_shape(obj: Obj) -> bool:
    return isinstance(obj, (Tup, Stream)) and obj.kind == SHAPE_KIND


RULE = Rule(
    code="HY346",
    name="constant-of-tensor",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Makes a constant of a tensor.",
    details="""`tf.constant` writes a value into the graph, and a symbolic tensor has none: it raises. So it does
for a `TensorShape` (its `as_list()` is fine), for a NumPy array that arrives as an argument, of which
`tf.function` makes a tensor, and for `float(t)`. Use `tf.convert_to_tensor`, `tf.identity` or `tf.cast`, which
take both.""",
    triggers={ir.Call: Where(call, names=_CONSTANT.__contains__)},
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(batch):
    x = tf.constant(batch)
    return x * 2
r1 = target(np.ones(3, np.float32))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    scale = tf.constant(float(x))
    return x * scale
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * tf.cast(tf.reduce_prod(tf.constant(x.shape)), x.dtype)
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * tf.cast(tf.constant(x.shape.rank), x.dtype) + tf.reduce_sum(tf.constant(x.shape.as_list(), tf.float32))
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def as_tensor(v):
    if tf.is_tensor(v):
        return v
    return tf.constant(v, tf.float32)
def target(x, k):
    return as_tensor(x) * as_tensor(k)
r1 = target(tf.constant(1.0), 2.0)
r2 = target(tf.constant(1.0), tf.constant(4.0))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(batch, k):
    x = tf.convert_to_tensor(batch)
    return x * tf.constant(k) * tf.constant([1.0, 2.0])
r1 = target(np.ones(2, np.float32), 2.0)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.reshape(x, x.shape)
r1 = target(tf.constant([2.0]))
"""
        ),
    ),
    reference="TensorFlow 2.21, measured",
)
