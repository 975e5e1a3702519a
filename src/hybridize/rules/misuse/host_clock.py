"""HY204: the clock, read or waited for once per trace."""

from __future__ import annotations

from hybridize.rules.model import Category, Example, Level, Outcome, Rule
from hybridize.tracing.state.effects import of_kinds

RULE = Rule(
    code="HY204",
    name="host-clock",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="it is read while tracing only; use `tf.timestamp`, or measure around the call",
    summary="The clock is read, or waited for, once per trace.",
    details="""`time.time()`, `datetime.now()` and the like give the moment of tracing, and a difference of two of them
how long tracing took; `time.sleep` waits once. Measure around the call, not in it; `tf.timestamp()` is
an operation of the graph.""",
    level=Level.INFO,
    blocks=frozenset(),
    root=of_kinds("clock"),
    bad=(
        Example(
            """\
import time
import tensorflow as tf
def target(x):
    return x, time.perf_counter()
_a = float(target(tf.constant(1.0))[1])
time.sleep(0.01)
_b = float(target(tf.constant(1.0))[1])
later = _b > _a
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import time
import tensorflow as tf
def target(x):
    time.sleep(0.02)
    return x + 1
target(tf.constant(1.0))
_start = time.time()
target(tf.constant(1.0))
slept = time.time() - _start > 0.015
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import time
import tensorflow as tf
def target(x):
    return x + 1
_start = time.time()
r = target(tf.constant(1.0))
spent = time.time() - _start > 100
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + tf.cast(tf.timestamp() > 0, tf.float32)
r = target(tf.constant(1.0))
"""
        ),
    ),
    known_problems="""It is information because in no sample that was read could somebody act on four of five
findings.""",
    reference="semantics.md R5",
)
