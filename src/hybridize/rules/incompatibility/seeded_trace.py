"""HY385: the global seed is set while a function is traced, and its draws go on from call to call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.harm.witness import is_called_again
from hybridize.tracing.running.seeded import SEEDS, draws
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.views import FrameView, FunctionView

_SAID: Final = "sets the seed while tracing only: each call draws on where the last one ended, eager ones start anew"


def scan(function: FunctionView) -> Iterator[Hit]:
    """Calls that set the seed, in a graph that draws by it and is called again."""
    views = [FrameView(function.project, f) for f in function.project.extents.frames(extent_of(function))]
    calls = [(view, call) for view in views for call in index_of(view.code).of(ir.Call)]
    seeding = [(view, call) for view, call in calls if not SEEDS.isdisjoint(view.names(call.function))]
    if seeding:
        drawn = any(draws(view, call) for view, call in calls) and is_called_again(function)
        places = {(view.code.path, call.position) for view, call in seeding}
        level = None if drawn else Level.INFO
        yield from (Hit(pos, _SAID, path=path, level=level) for path, pos in sorted(places))


RULE = Rule(
    code="HY385",
    name="seeded-trace",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="The global seed is set inside a hybrid function: it holds for its trace, not for its calls.",
    act="draw with `tf.random.stateless_normal` and its like, which take the seed",
    details="""`tf.random.set_seed` is Python: it runs while the function is traced, and gives the operations of the
graph their seeds. They keep a state from then on, so that each call draws other numbers, where each eager call, which
sets the seed again, draws the same. Stateless operations (`tf.random.stateless_uniform(shape, seed=...)`) or a
`tf.random.Generator` that is reset (`generator.reset_from_seed`) draw alike at each call, eagerly and as a graph. Where
the graph draws nothing by the seed, or is called once, it is information.""",
    level=Level.WARNING,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    tf.random.set_seed(7)
    return x + tf.random.normal([2])
r1 = target(tf.zeros([2]))
r2 = target(tf.zeros([2]))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def noise(x, seed):
    tf.random.set_seed(seed)
    return tf.random.uniform(tf.shape(x))
def target(x):
    return x * tf.nn.dropout(x, 0.5) + noise(x, 3)
r = [target(tf.ones([3])) for _ in range(3)]
distinct = len({float(tf.reduce_sum(each)) for each in r}) > 1
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
tf.random.set_seed(7)
def target(x):
    return x + tf.random.stateless_normal([2], seed=[7, 1])
r1 = target(tf.zeros([2]))
r2 = target(tf.zeros([2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
generator = tf.random.Generator.from_seed(7)
def target(x):
    return x + generator.normal([2])
for _ in range(2):
    generator.reset_from_seed(7)
    r1 = target(tf.zeros([2]))
"""
        ),
    ),
    reference="measured under TensorFlow 2.15 and 2.21",
)
