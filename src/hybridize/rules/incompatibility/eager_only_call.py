"""HY301: calls that work only on concrete tensors."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.origins import call_at
from hybridize.facts.symbolic import OPERATION
from hybridize.flow.frames import Effect
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.views import FrameView


def scan(view: FrameView) -> Iterator[Hit]:
    """The effects that library models note as eager-only, on tensors that tracing makes symbolic."""
    for effect in view.frame.effects.values():
        if effect.kind == "eager_only":
            needs = _needs(view, effect)
            if needs:
                yield Hit(effect.position, f"uses `{effect.detail}`, which works only eagerly", needs)


def _needs(view: FrameView, effect: Effect) -> int:
    if not isinstance(effect.target, Tensor):
        return OPERATION  # `fit`, `get_weights`: eager whatever they are given
    call = call_at(view.code, effect.position)
    if call is None:
        return OPERATION if effect.target.kind != NDARRAY else 0
    slots = [view.receiver(call[2]), *(slot for slot, _ in call[3]), *(slot for _, slot in call[4])]
    needs = 0
    for slot in slots:
        needs |= view.symbolic(slot) if slot >= 0 else 0
    return needs


RULE = Rule(
    code="HY301",
    name="eager-only-call",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Uses something that works only eagerly.",
    details="""A traced function computes on symbolic tensors: they have no value yet, so `.numpy()`, NumPy functions,
`list(t)` and the like raise, and so do Keras' own loops (`fit`, `predict`) and `get_weights`. Tensors that existed
before the trace stay concrete and are no problem. Compute with TensorFlow's functions inside, and convert outside.""",
    frame=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.constant(float(x.numpy().sum()))
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def total(values):
    return values.numpy()
def target(x):
    doubled = x * 2
    return x + total(doubled)
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
    return tf.reduce_sum(x)
r1 = target(tf.constant([1.0, 2.0])).numpy()
"""
        ),
        Example(
            """\
import tensorflow as tf
SIZES = tf.constant([2, 3])
def target(x):
    return x * SIZES.numpy()[0]  # a constant that existed before the trace
r1 = target(tf.constant([1, 2]))
"""
        ),
    ),
    reference="semantics.md R8",
)
