"""HY272: operations that XLA cannot compile, under `jit_compile=True`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import NOT_TRACED
from hybridize.facts.calls.callgraph import extent
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.hybridized import is_true, option
from hybridize.tracing.running.compiled import unsupported
from hybridize.tracing.views import FunctionView

_MOST: Final = 4


def scan(function: FunctionView) -> Iterator[Hit]:
    """Operations in the traced extent whose name says that XLA has no kernel for them."""
    if not function.is_hybrid or not is_true(option(function, "jit_compile")):
        return
    found: dict[tuple[str, int], str] = {}
    for path, pos, name in unsupported(function.project, extent(function.frames, NOT_TRACED)):
        found.setdefault((path, pos), name)
    for (path, pos), name in sorted(found.items())[:_MOST]:
        yield Hit(pos, f"XLA cannot compile {name if ' ' in name else f'`{name}`'}", path=path)


RULE = Rule(
    code="HY272",
    name="jit-unsupported",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="take it out of the compiled function, or `jit_compile=True` away",
    summary="An operation that XLA cannot compile, under `jit_compile=True`.",
    details="""XLA compiles numbers: strings, files, `tf.print`, `py_function`, hash tables and datasets have no
kernel on the CPU, and neither have some sixty numerical operations (`tf.linalg.det`, most of `tf.sparse`,
`tf.math.segment_sum`, ...); the first call raises. Leave `jit_compile` out, or keep those operations outside.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x):
    return tf.linalg.det(x)
r1 = target(tf.eye(2))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x):
    return tf.strings.length(x)
r1 = target(tf.constant("a"))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def doubled(x):
    return tf.py_function(lambda v: v * 2, [x], tf.float32)
@tf.function(jit_compile=True)
def target(x):
    return doubled(x) + 1.0
r1 = target(tf.constant(1.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x):
    return tf.nn.relu(x) * 2.0
r1 = target(tf.constant([1.0, -1.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=False)
def target(x):
    return tf.strings.length(x)
r1 = target(tf.constant("a"))
"""
        ),
    ),
    reference="semantics.md R20",
)
