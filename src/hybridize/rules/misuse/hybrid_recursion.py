"""HY232: hybrid functions that call themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hybridize.facts.calls.callgraph import call_chain
from hybridize.facts.calls.dispatch import is_either
from hybridize.facts.model import Ternary
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The function is hybrid and recursive."""
    fact = function.facts.recursive
    if function.is_hybrid and fact.value is Ternary.YES and _is_sure(function):
        yield Hit(function.code.position, "is hybrid and recursive: each depth is traced anew", evidence=fact.evidence)


def _is_sure(function: FunctionView) -> bool:
    """Whether it is the function itself that is reached, and not one of several that a call may run."""
    if function.project.solution.world.is_small:
        return True
    for frame, again in product(function.frames, repeat=2):
        chain = call_chain(frame, again)
        if chain and not any(is_either(caller, position) for caller, position, _ in chain):
            return True
    return False


RULE = Rule(
    code="HY232",
    name="hybrid-recursion",
    category=Category.MISUSE,
    outcome=Outcome.RETRACES,
    level=Level.INFO,
    summary="A hybrid function calls itself.",
    details="""Every depth of the recursion is a call of a hybrid function with other arguments: a trace of its
own, within that of the caller. With Python numbers as depth it is traced again for each new one; with tensors
tracing never ends. Write a loop, or hybridize a function around a plain recursive one.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, n):
    if n == 0:
        return x
    return target(x * 2, n - 1)
r1 = target(tf.constant(1), 1)
r2 = target(tf.constant(1), 3)
r3 = target(tf.constant(1), 5)
""",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, n):
    return x if n == 0 else other(x, n)
def other(x, n):
    return target(x + n, n - 1)
r1 = target(tf.constant(1), 1)
r2 = target(tf.constant(1), 3)
r3 = target(tf.constant(1), 5)
""",
            line=3,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, n):
    for _ in tf.range(n):
        x = x * 2
    return x
r1 = target(tf.constant(1), tf.constant(3))
"""
        ),
        Example(
            """\
import tensorflow as tf
def total(tree):
    if isinstance(tree, list):
        return tf.add_n([total(part) for part in tree])
    return tree
@tf.function
def target(x):
    return total([x, [x, x]])
r1 = target(tf.constant(1))
"""
        ),
    ),
    reference="semantics.md R12",
)
