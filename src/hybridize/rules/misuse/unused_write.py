"""HY252: what `TensorArray.write` returns is dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.source.syntax import walk
from hybridize.tracing.views import FrameView, position_of

_WRITES: Final = frozenset({"tf.TensorArray.write", "tf.TensorArray.unstack", "tf.TensorArray.scatter"})


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call of `write` that is a statement of its own."""
    if _WRITES.isdisjoint(view.names(instr.function)) or view.node is None:
        return
    for node in walk(view.node):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and position_of(node.value) == instr.position
        ):
            yield Hit(instr.position, "drops the array that `write` returns: in a graph nothing is written")


RULE = Rule(
    code="HY252",
    name="unused-write",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="keep it, as in `array = array.write(i, x)`",
    summary="The result of `TensorArray.write` is dropped.",
    details="""Eagerly `ta.write(i, x)` changes the array. In a graph it gives a new one, and the old one stays as it
was: what is read later are zeros. Write `ta = ta.write(i, x)`, also for `unstack` and `scatter`.""",
    triggers={ir.Call: Where(scan, names=_WRITES.__contains__)},
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    ta = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        ta.write(i, x * i)
    return ta.stack()
r1 = target(tf.constant(1.0))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    ta = tf.TensorArray(tf.float32, size=2)
    ta.unstack(x)
    return ta.stack()
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    ta = tf.TensorArray(tf.float32, size=3)
    for i in range(3):
        ta = ta.write(i, x * i)
    return ta.stack()
r1 = target(tf.constant(1.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.TensorArray(tf.float32, size=2).unstack(x).stack()
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
    ),
    reference="semantics.md R21",
)
