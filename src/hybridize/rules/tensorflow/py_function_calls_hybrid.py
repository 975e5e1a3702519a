"""HY402: a hybrid function called from inside `tf.py_function`."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.closure import closure
from hybridize.domain.calls import NOT_TRACED, How
from hybridize.flow.frames import Frame
from hybridize.library.dialect import HOST_CALLS
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import places
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """In the traced extent of a hybrid function, a host function that reaches a hybrid function."""
    if not places(function):
        return
    extents = function.project.extents
    hybrid = function.project.solution.world.hybrids
    for frame in closure(function.frames, _traced):
        for (pos, callee), how in frame.calls.items():
            if _is_on_host(frame, pos, how):
                inner = next((f.code.name for f in extents.frames(extents.of(callee)) if f.code in hybrid), None)
                if inner is not None:
                    message = f"`tf.py_function` runs the hybrid `{inner}` inside a graph: this may deadlock"
                    yield Hit(pos, message, path=frame.code.path)


def _traced(frame: Frame) -> list[Frame]:
    """What a frame calls as a part of the same trace."""
    calls = frame.calls.items()
    return [callee for (pos, callee), how in calls if how not in NOT_TRACED and not _is_on_host(frame, pos, how)]


def _is_on_host(frame: Frame, pos: int, how: How) -> bool:
    return how is How.HOST or (how is How.HYBRID and frame.ops.get(pos) in HOST_CALLS)


RULE = Rule(
    code="HY402",
    name="py-function-calls-hybrid",
    category=Category.TENSORFLOW,
    outcome=Outcome.RAISES,
    summary="A graph calls back into Python, which calls a graph: this may deadlock.",
    details="""`tf.py_function` and `tf.numpy_function` run Python while a graph runs. If that Python traces or
runs another hybrid function, both wait for the same threads or locks; programs have hung on it. Call the Python
function directly there, undecorated.""",
    level=Level.WARNING,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function
def inner(x):
    return x * 2
@tf.function
def target(x):
    return tf.py_function(inner, [x], tf.int32)
r1 = target(tf.constant(1))
""",
            line=7,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def inner(x):
    return x * 2
def host(x):
    return inner(x) + 1
@tf.function
def target(x):
    return tf.py_function(host, [x], tf.int32)
r1 = target(tf.constant(1))
""",
            line=9,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def inner(x):
    return x * 2
@tf.function
def target(x):
    return tf.py_function(inner, [x], tf.int32)
r1 = target(tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def inner(x):
    return x * 2
@tf.function
def target(x):
    return inner(x) + 1
r1 = target(tf.constant(1)) + inner(tf.constant(1))
"""
        ),
    ),
    reference="semantics.md, Issue threads; the study: deadlocks",
)
