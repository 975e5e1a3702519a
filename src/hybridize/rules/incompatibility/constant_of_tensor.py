"""HY346: `tf.constant` of a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Obj, Stream, Tensor, Tup, Unknown
from hybridize.facts.symbolic import OPERATION
from hybridize.library.convert import SHAPE_KIND
from hybridize.library.dialect import CONSTANTS
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.values import argument, inside, own
from hybridize.tracing.views import FrameView

#: What comes where a list or what is in it does, if calls were merged.
_TAKEN: Final = (Tensor, Unknown, Container, Tup)


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A constant of what tracing makes symbolic."""
    if not CONSTANTS.isdisjoint(view.names(instr.function)):
        level: Level | None = None
        slot = argument(instr, 0, "value")
        needs = own(view, slot) or inside(view, slot)
        if not needs and all(isinstance(o, _TAKEN) for o in view.value(slot)):
            needs, level = own(view, slot, certain=False), Level.INFO  # a list of tensors is no constant either
        if needs:
            said = "makes a constant of a tensor: use `tf.convert_to_tensor` or `tf.identity`"
            yield Hit(instr.position, said, needs, level=level)
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
    triggers={ir.Call: Where(call, names=CONSTANTS.__contains__)},
    bad=(
        Example(
            """\
import os
import tensorflow as tf
def target(x, state):
    rank = int(os.environ.get("HYBRIDIZE_NO_SUCH_RANK", "1"))
    if rank == 1:
        state = [state]
    for i in range(rank):
        x += tf.constant(state[i], dtype=tf.float32)
    return x
def given(rank):
    return tf.ones([3]) if rank == 1 else [tf.ones([3]), tf.ones([3])]
r1 = target(tf.ones([3]), given(int(os.environ.get("HYBRIDIZE_NO_SUCH_RANK", "1"))))
""",
            line=8,
            outcome=Outcome.RAISES,
        ),
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
