"""HY302: generators."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.model import Evidence
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The function itself yields."""
    if function.code.is_generator and not function.code.is_async:
        code = function.code
        here = Evidence("is a generator", code.path, code.line)
        yields = index_of(code).of(ir.Yield)[:1]
        shown = tuple(Evidence("yields here", code.path, instr.position >> 16) for instr in yields)
        yield Hit(code.position, "is a generator", evidence=(here, *shown))


RULE = Rule(
    code="HY302",
    name="generator",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Generators cannot be traced.",
    act="return tensors, or give the generator to `tf.data.Dataset.from_generator`",
    details="""Calling a traced generator gives a generator object to TensorFlow, which cannot turn it into
tensors. Make a `tf.data.Dataset` of it, or hybridize what is done with each element.""",
    root=scan,
    bare=True,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    for i in range(2):
        yield x * i
r1 = list(target(tf.constant(3)))
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    yield from [x + 1, x + 2]
r1 = list(target(tf.constant(3)))
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return [x * i for i in range(2)]
r1 = target(tf.constant(3))
"""
        ),
        Example(
            """\
import tensorflow as tf
def numbers():
    yield 1
    yield 2
def target(x):
    for n in numbers():  # consumed while tracing
        x = x + n
    return x
r1 = target(tf.constant(3))
"""
        ),
    ),
    reference="semantics.md R6",
)
