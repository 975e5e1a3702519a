"""HY107: `strategy.run` is called eagerly, and only what runs on each replica is a graph."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source import is_test_path
from hybridize.tracing.retraced.moving import moving
from hybridize.tracing.running.replicas import is_run
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """A strategy is given the hybrid function again and again by code that is no graph itself."""
    if not function.is_hybrid:
        return
    hybrids = function.project.solution.world.hybrids
    seen: set[tuple[str, int]] = set()
    for caller, pos, _ in function.called_by():
        place = (caller.code.path, pos)
        if place in seen or caller.code in hybrids or is_test_path(caller.code.path):
            continue
        seen.add(place)
        if is_run(function.project, caller, pos) and moving(function.project).is_repeated(caller, pos):
            said = f"`{function.code.name}` is a graph for each replica, and `run` itself is eager"
            yield Hit(pos, f"{said}: a graph around the call holds both", path=caller.code.path)


RULE = Rule(
    code="HY107",
    name="graph-inside-run",
    category=Category.PERFORMANCE,
    outcome=Outcome.SLOWS,
    summary="`strategy.run` is called eagerly, and only what runs on each replica is a graph.",
    details="""Called eagerly, `strategy.run` starts a thread for each replica, and each calls the graph by itself; what
reduces the results runs eagerly, too. TensorFlow's guide puts the graph around all of it:

    @tf.function
    def distributed_step(batch):
        losses = strategy.run(step, args=(batch,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

The decorator of `step` is then not needed.""",
    level=Level.INFO,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
@tf.function
def target(x):
    return tf.reduce_sum(x * 2.0)
for i in range(5):
    r = strategy.run(target, args=(tf.ones([3]),))
""",
            line=7,
        ),
        Example(
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        self.losses = []
    @tf.function
    def step(self, x):
        return tf.reduce_sum(x * 2.0)
    def run(self, x):
        self.losses.append(self.strategy.run(self.step, args=(x,)))
trainer = Trainer()
for i in range(5):
    trainer.run(tf.ones([3]))
r = trainer.losses[0]
""",
            target="Trainer.step",
            line=10,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
def step(x):
    return tf.reduce_sum(x * 2.0)
@tf.function
def target(x):
    return strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None)
for i in range(5):
    r = target(tf.ones([3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
@tf.function
def target(x):
    return tf.reduce_sum(x * 2.0)
r = strategy.run(target, args=(tf.ones([3]),))
"""
        ),
    ),
    reference="TensorFlow's guide on distributed training with custom loops",
)
