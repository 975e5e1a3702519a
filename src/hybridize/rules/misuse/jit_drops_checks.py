"""HY273: checks that `jit_compile=True` drops, and values it changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import NOT_TRACED
from hybridize.facts.calls.callgraph import extent
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import is_true, option
from hybridize.tracing.running.compiled import drops
from hybridize.tracing.views import FunctionView

_MOST: Final = 6


def scan(function: FunctionView) -> Iterator[Hit]:
    """Checks, gathers, stateless draws and integer divisions in the traced extent; dynamic `TensorArray`s."""
    if not function.is_hybrid or not is_true(option(function, "jit_compile")):
        return
    found: dict[tuple[str, int], tuple[str, Level]] = {}
    for frame in extent(function.frames, NOT_TRACED):
        for pos, message, is_sure in drops(frame):
            # Who compiles with XLA gives these checks away; whether one would ever fail nobody sees.
            found.setdefault((frame.code.path, pos), (message, Level.ERROR if is_sure else Level.INFO))
    for (path, pos), (message, level) in sorted(found.items())[:_MOST]:
        yield Hit(pos, message, path=path, level=level)


RULE = Rule(
    code="HY273",
    name="jit-drops-checks",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Under `jit_compile=True` a check never fails, or a value comes out differently.",
    details="""XLA has no way to fail in the middle of a computation: `tf.debugging` assertions are dropped, an
index out of range is clamped, an integer division by zero and the inverse of a singular matrix give numbers.
Stateless random operations draw other values than eager ones, and what is written to a `TensorArray` of dynamic
size is lost. If the program relies on it, leave `jit_compile` out.""",
    level=Level.WARNING,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x):
    tf.debugging.assert_positive(x)
    return x * 2
caught = False
try:
    r1 = target(tf.constant([-1.0]))
except tf.errors.InvalidArgumentError:
    caught = True
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x, i):
    return tf.gather(x, i)
caught = False
try:
    r1 = target(tf.constant([1, 2]), tf.constant(7))
except tf.errors.InvalidArgumentError:
    caught = True
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x, axis=0):
    tf.debugging.assert_rank(x, 2)
    tf.debugging.assert_less(axis, 2)
    tf.debugging.assert_greater(tf.rank(x), axis)
    best = tf.argmax(x, axis=1)
    return tf.gather(x, tf.argsort(x[:, 0])) + tf.gather(x, tf.cast(best, tf.int32), axis=1)
r1 = target(tf.constant([[2.0, 1.0], [0.0, 3.0]]))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    tf.debugging.assert_positive(x)
    return x * 2
r1 = target(tf.constant([1.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x):
    return x / 2.0
r1 = target(tf.constant([1.0]))
"""
        ),
    ),
    reference="semantics.md R20",
)
