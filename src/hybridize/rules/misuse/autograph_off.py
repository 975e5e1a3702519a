"""HY230: `tf.function(autograph=False)` around control flow that needs AutoGraph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.facts.evidence import call_step
from hybridize.facts.model import Evidence
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.autograph.conversion import plain
from hybridize.tracing.values import argument, own
from hybridize.tracing.views import FrameView, FunctionView

_ASKING: Final = "builtins.bool"


def scan(function: FunctionView) -> Iterator[Hit]:
    """The decorator switches AutoGraph off, and the code has conditions or loops on symbolic tensors."""
    made = function.facts.hybridization
    if made is None or ("autograph", "False") not in made.arguments:
        return
    for frame in function.frames:
        for each in plain(function.project, frame):
            if function.holds(frame, each.needs):
                message = f"{each.message}, and the decorator says `autograph=False`"
                steps = tuple(call_step(name, path, pos) for path, pos, name in each.calls)
                place = Evidence(message, each.path, each.position >> 16)
                yield Hit(each.position, message, evidence=(*steps, place), path=each.path)
        view = FrameView(function.project, frame)
        for call in index_of(frame.code).of(ir.Call):
            needs = own(view, argument(call, 0)) if _ASKING in view.names(call.function) else 0
            if needs and function.holds(frame, needs):
                yield Hit(
                    call.position, "asks a symbolic tensor for its value, and the decorator says `autograph=False`"
                )


RULE = Rule(
    code="HY230",
    name="autograph-off",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="take `autograph=False` away, or use `tf.cond` and `tf.while_loop`",
    summary="AutoGraph is switched off for a function whose control flow depends on tensors.",
    details="""`tf.function(autograph=False)` traces the function as plain Python: a condition on a symbolic tensor
raises, and so does a loop over one. Drop the argument, or use `tf.cond`, `tf.while_loop` and `tf.where`.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function(autograph=False)
def target(x):
    if tf.reduce_sum(x) > 1:
        return x
    return -x
r1 = target(tf.constant([1, 2]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def total(x):
    result = 0
    for v in x:
        result += v
    return result
@tf.function(autograph=False)
def target(x):
    return total(x) * 2
r1 = target(tf.constant([1, 2]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function(autograph=False)
def target(x, training=True):
    y = tf.where(x > 1, x, -x)
    if training:
        y = y * 2
    return y
r1 = target(tf.constant([1, 2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    if tf.reduce_sum(x) > 1:
        return x
    return -x
r1 = target(tf.constant([1, 2]))
"""
        ),
    ),
    reference="semantics.md R12, R13",
)
