"""HY310: comprehensions over symbolic tensors."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Stream
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.control import control
from hybridize.tracing.views import FrameView


def scan_loop(view: FrameView, instr: ir.Loop) -> Iterator[Hit]:
    """Comprehensions and generator expressions over what only a graph loop can iterate."""
    loop = instr
    if not loop.is_for:
        return
    flow = control(view)
    mask = flow.iterable(loop.iterable)
    if not mask:
        return
    site = next((s for s in flow.structure.loops if s.instr is instr), None)
    if site is None or not flow.is_comprehension(site) or not flow.runs(site):
        return
    endless = any(isinstance(o, Stream) and o.is_data for o in view.value(loop.iterable))
    what = "a dataset, which never ends while it is traced" if endless else "a symbolic tensor"
    yield Hit(instr.position, f"a comprehension iterates over {what}", mask)


RULE = Rule(
    code="HY310",
    name="tensor-comprehension",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A comprehension or generator expression iterates over a symbolic tensor.",
    act="use `tf.map_fn`, or a `for` statement that writes to a `tf.TensorArray`",
    details="""AutoGraph makes a graph loop of `for v in tensor:` and of `for i in range(n)` with a tensor `n`.
Comprehensions and generator expressions stay with Python, which cannot iterate over a symbolic tensor; over a
dataset they never end. Use `tf.map_fn`, a `for` statement with a `tf.TensorArray`, `tf.unstack`, or `range`
over a static dimension.""",
    triggers={ir.Loop: scan_loop},
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.stack([v * 2 for v in x])
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    return [x * i for i in range(n)]
r1 = target(tf.constant(3), tf.constant(2))
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
    total = 0.0
    for v in x:
        total += v
    return total
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.stack([x[i] * 2 for i in range(x.shape[0])] + [v for v in tf.unstack(x)])
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, layers):
    for i, w in enumerate(layers):
        x = x * w + i
    return x
r1 = target(tf.constant([1, 2]), [tf.constant(2), tf.constant(3)])
"""
        ),
    ),
    known_problems="It is told of code behind a line that always raises.",
    reference="semantics.md R12",
)
