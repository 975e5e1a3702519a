"""HY312: `assert` on a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Lit, Prim, Unknown
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.control import control
from hybridize.tracing.views import FrameView


def scan(view: FrameView, instr: ir.Assert) -> Iterator[Hit]:
    """The condition is a symbolic tensor."""
    flow = control(view)
    mask = flow.tensor(instr.condition)
    if mask and all(flow.runs(s) for s in flow.structure.of(ir.Assert) if s.instr is instr):
        merged = any(isinstance(o, (Lit, Prim, Unknown)) for o in view.value(instr.condition))
        yield Hit(instr.position, "asserts a symbolic tensor", mask, sure=not merged)


RULE = Rule(
    code="HY312",
    name="tensor-assert",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Asserts a condition that is a symbolic tensor.",
    act="use `tf.debugging.assert_equal` and its like, which run with the graph",
    details="""AutoGraph leaves `assert` alone, and Python asks the tensor for its truth while tracing, which raises
even where the condition would hold. Use `tf.debugging.assert_equal` and its like, or assert on static shapes.""",
    triggers={ir.Assert: scan},
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    assert tf.reduce_all(x > 0), "positive numbers only"
    return tf.sqrt(x)
r1 = target(tf.constant([4.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def check(x):
    assert not tf.shape(x)[0] == 3
def target(x):
    check(x)
    return x * 2
r1 = target(tf.constant([4.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, mask=None):
    assert x.shape[0] == 1 and len(x.shape) == 1
    assert mask is None
    return tf.sqrt(x)
r1 = target(tf.constant([4.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    tf.debugging.assert_positive(x)
    return tf.sqrt(x)
r1 = target(tf.constant([4.0]))
"""
        ),
    ),
    reference="semantics.md R12",
)
