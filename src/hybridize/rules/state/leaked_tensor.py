"""HY601: tensors of the graph that are stored where they outlive the call."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.effects import argument_name, hit, is_change, leaked, reasons
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Tensors that go into a field, a global, a captured variable or an outer container."""
    for frame, reason in reasons(function):
        if is_change(reason) and argument_name(frame, reason) is None and leaked(function, reason):
            yield hit(reason, said=f"stores a tensor that outlives the call: {hit(reason).message}")


RULE = Rule(
    code="HY601",
    name="leaked-tensor",
    category=Category.STATE,
    outcome=Outcome.DIFFERS,
    summary="Stores a tensor outside of the function: what stays there is a symbol of the graph.",
    details="""While a function is traced its tensors are symbols without a value. Stored in a field, a global or an
outer list they outlive the trace: later calls do not update them, and whoever uses one gets an error or an
old value. Return the tensor, or keep it in a `tf.Variable`.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Cell:
    def __init__(self):
        self.h = tf.constant(0.0)
    def target(self, x):
        self.h = self.h + x
        return self.h
c = Cell()
r1 = c.target(tf.constant(1.0))
r2 = c.target(tf.constant(2.0))
""",
            target="Cell.target",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
losses = []
def keep(loss):
    losses.append(loss)
def target(x):
    keep(x * x)
    return x
target(tf.constant(1.0))
target(tf.constant(2.0))
r = losses[0] + 1
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
losses = []
def target(x):
    return x * x
losses.append(target(tf.constant(1.0)))
r = losses[0] + 1
"""
        ),
        Example(
            """\
import tensorflow as tf
class Cell:
    def __init__(self):
        self.h = tf.Variable(0.0)
    def target(self, x):
        return self.h.assign_add(x) + 0.0
c = Cell()
r1 = c.target(tf.constant(1.0))
r2 = c.target(tf.constant(2.0))
""",
            target="Cell.target",
        ),
    ),
    reference="semantics.md R3",
)
