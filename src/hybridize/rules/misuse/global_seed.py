"""HY207: random operations that only the global seed determines give other numbers in a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridize.program import ir
from hybridize.rules.model import Category, Confirmed, Doubt, Example, Hit, Outcome, Rule, Where
from hybridize.source import Role
from hybridize.tracing.running.seeded import DRAWS, draws, is_seeded
from hybridize.tracing.views import FrameView, ProjectView


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A draw without a seed of its own, in a program that sets the global one."""
    name = draws(view, instr)
    if name is None or not is_seeded(view):
        return
    yield Hit(
        instr.position,
        f"`{name}` follows the global seed alone: as an operation of a graph it draws other numbers than eagerly",
    )


def confirm(project: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, Confirmed]]:
    """All hits; nobody is taken to count on a library's very numbers: its callers choose their seeds."""
    assumed = "assumed that nobody counts on the very numbers that the global seed gives it"
    libraries = [project.roles.of(doubt.function.code.path) is Role.LIBRARY for doubt in doubts]
    return [
        {hit: Confirmed(unless=assumed if library else "") for hit in doubt.hits}
        for doubt, library in zip(doubts, libraries, strict=True)
    ]


RULE = Rule(
    code="HY207",
    name="global-seed",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Random operations without a seed of their own draw other numbers in a graph than eagerly.",
    details="""With `tf.random.set_seed` alone each eager operation gets its seed from a counter of the eager context,
and each operation of a graph from its place in the graph: runs stay reproducible, but the numbers are others. In a
library, whose callers set seeds of their own, that is noted as an assumption. Give the operation a seed as well, or
draw from a `tf.random.Generator` or with stateless operations. Of a function that is hybrid already nothing is said:
its numbers are as random and as reproducible as before.""",
    level=None,
    triggers={ir.Call: Where(scan, names=DRAWS.__contains__)},
    confirm=confirm,
    bad=(
        Example(
            """\
import tensorflow as tf
tf.random.set_seed(3)
def target(x):
    return x + tf.random.normal([3])
r1 = target(tf.zeros([3]))
r2 = target(tf.zeros([3]))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
tf.random.set_seed(3)
def noise(x):
    return tf.random.uniform(tf.shape(x))
def target(x):
    return x + noise(x)
r1 = target(tf.zeros([3]))
r2 = target(tf.zeros([3]))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
tf.compat.v1.set_random_seed(5)
def target(x):
    return tf.nn.dropout(x, 0.5)
r1 = target(tf.ones([8]))
r2 = target(tf.ones([8]))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
tf.random.set_seed(3)
def target(x):
    return x + tf.random.normal([3], seed=1)
r1 = target(tf.zeros([3]))
r2 = target(tf.zeros([3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + tf.random.uniform([3], 0.0, 1.0)
ok = float(tf.reduce_max(target(tf.zeros([3])))) <= 1.0
"""
        ),
    ),
    reference="semantics.md R5",
)
