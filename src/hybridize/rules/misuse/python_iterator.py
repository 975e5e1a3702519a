"""HY231: Python iterators that a traced function uses up."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.arguments import argument_name
from hybridize.rules.effects import hit, reasons
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.rules.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Iterators and generators from outside that are advanced."""
    for frame, reason in reasons(function):
        if reason.effect.kind == "iterator":
            # An argument that is new at each call traces again, and is then used up as in Python.
            level = Level.WARNING if argument_name(frame, reason) is not None else Level.ERROR
            what = reason.effect.detail
            what = f"iterator with `{what}`" if what.endswith("()") else what
            yield hit(reason, level, f"advances a Python {what} while it is traced only")


RULE = Rule(
    code="HY231",
    name="python-iterator",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Advances a Python iterator or generator that existed before.",
    details="""Python advances an iterator, a generator or a `zip` only while the function is traced: what it
gave then is part of the graph, and every later call computes with the same elements. Iterate over a
`tf.data.Dataset` or call `next` on its iterator, which are operations, or pass the element as an argument.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
numbers = iter([1, 2, 3])
@tf.function
def target(x):
    return x + next(numbers)
r1 = target(tf.constant(3))
r2 = target(tf.constant(3))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def count():
    yield 1
    yield 2
class Model:
    def __init__(self):
        self.steps = count()
    @tf.function
    def add(self, x):
        for step in self.steps:
            x = x + step
        return x
model = Model()
r1 = model.add(tf.constant(3))
r2 = model.add(tf.constant(3))
""",
            target="Model.add",
            line=10,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
numbers = iter(tf.data.Dataset.range(3))
@tf.function
def target(x):
    return x + next(numbers)
r1 = target(tf.constant(3, tf.int64))
r2 = target(tf.constant(3, tf.int64))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    for i, scale in enumerate(iter([2, 3])):  # made here
        x = x * scale + i
    return x
r1 = target(tf.constant(3))
r2 = target(tf.constant(3))
"""
        ),
    ),
    reference="semantics.md R6",
)
