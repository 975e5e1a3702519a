"""HY376: `tf.cond` on what is no boolean tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Prim, Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import NUMBERS
from hybridize.facts.symbolic import OPERATION
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.tracing.values import argument, number, own
from hybridize.tracing.views import FrameView

_COND: Final = frozenset({"tf.cond"})


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A predicate that is a Python value, or a tensor of numbers."""
    slot = argument(instr, 0, "pred")
    if slot < 0:
        return
    value = view.value(slot)
    numbers = [obj for obj in value if isinstance(obj, (Lit, Prim)) and obj.kind in NUMBERS]
    if numbers and not number(view, slot):
        said = f"`tf.cond` gets a Python {numbers[0].kind}, which a graph refuses"
        yield Hit(instr.position, said, OPERATION, sure=len(numbers) == len(value))
        return
    dtypes = sorted(o.dtype for o in value if isinstance(o, Tensor) and o.kind != NDARRAY and o.dtype)
    if dtypes and "bool" not in dtypes:
        needs = own(view, slot)
        if needs:
            yield Hit(instr.position, f"`tf.cond` gets a tensor of {dtypes[0]}: a graph asks for a boolean one", needs)


RULE = Rule(
    code="HY376",
    name="python-predicate",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="`tf.cond` decides by a Python value, or by a tensor of numbers.",
    act="use a Python `if` for what Python knows, and a comparison (`n > 0`) for a number",
    details="""Eager code asks for the truth of whatever `tf.cond` is given. A graph takes a boolean tensor alone: for
`True` it raises a `TypeError`, for numbers and tensors of numbers an error too. An `if` serves both: AutoGraph makes
a `tf.cond` of it where the condition is a tensor, and leaves it to Python where it is not.""",
    triggers={ir.Call: Where(call, names=_COND.__contains__)},
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x, training):
    return tf.cond(training, lambda: x * 2.0, lambda: x)
r1 = target(tf.constant([1.0, 2.0]), True)
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.cond(tf.reduce_sum(x), lambda: x * 2.0, lambda: x)
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
def target(x, training):
    y = x * 2.0 if training else x
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: y * 2.0, lambda: y)
r1 = target(tf.constant([1.0, 2.0]), True)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, flag):
    return tf.cond(flag, lambda: x * 2.0, lambda: x)
r1 = target(tf.constant([1.0, 2.0]), tf.constant(True))
"""
        ),
    ),
    reference="measured with 2.15 and 2.21",
)
