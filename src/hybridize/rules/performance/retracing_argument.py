"""HY101: Python values that differ from call to call, given to a hybrid function."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.model import Ternary
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.rules.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The fact that decides P3, seen from the caller's side."""
    facts = function.facts
    if function.is_hybrid and facts.retraces.value is Ternary.YES:
        cause = facts.retraces.evidence[-1] if facts.retraces.evidence else None
        path, line = (cause.path, cause.line) if cause is not None else (facts.path, facts.line)
        what = cause.message if cause is not None else "a literal differs from call to call"
        yield Hit(line << 16, f"every new value makes a new graph: {what}", path=path, evidence=facts.retraces.evidence)


RULE = Rule(
    code="HY101",
    name="retracing-argument",
    category=Category.PERFORMANCE,
    outcome=Outcome.RETRACES,
    summary="A hybrid function receives Python values that differ from call to call.",
    details="""Each distinct Python number, string, list or object among the arguments is traced anew, which
costs some hundred times an eager call. Pass a tensor (`tf.constant(step)`), or loop with `tf.range`.
`reduce_retracing` helps for shapes, not for Python values.""",
    level=Level.WARNING,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, step):
    return x * step
for i in range(5):
    r = target(tf.constant(2), i)
""",
            line=6,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, rate):
    return x * rate
rate = 1.0
while rate > 0.2:
    r = target(tf.constant(2.0), rate)
    rate = rate * 0.5
""",
            line=7,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, use):
    return x * 2.0 if use[0] else (x * 3.0 if use[1] else x)
r1 = target(tf.constant(1.0), (True, False))
r2 = target(tf.constant(1.0), (False, True))
r3 = target(tf.constant(1.0), (False, False))
""",
            line=7,
            outcome=Outcome.RETRACES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, step):
    return x * step
for i in tf.range(5):
    r = target(tf.constant(2), i)
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, rate):
    return x * rate
for i in range(5):
    r = target(tf.constant(2.0), 0.5)  # always the same: one trace
"""
        ),
    ),
    reference="semantics.md R18; the study's Listing on Python arguments",
)
