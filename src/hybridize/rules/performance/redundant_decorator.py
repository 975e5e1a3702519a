"""HY105: a hybrid function that only graphs call."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import LibInst
from hybridize.facts.calls.keras_graphs import is_run_by_graph
from hybridize.facts.gain.computation import training_step
from hybridize.facts.model import Ternary
from hybridize.library.dialect import OF_TRACES
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import decorator_position, places
from hybridize.tracing.running.replicas import SEVERAL
from hybridize.tracing.views import FunctionView, ProjectView


def scan(function: FunctionView) -> Iterator[Hit]:
    """What runs in graphs of others has a `tf.function` that says nothing more than that, or what it is to accept."""
    step = list(_of_keras(function))
    yield from step
    covered = function.facts.covered_by_hybrid_callers
    made = function.facts.hybridization
    if step or made is None or covered.value is not Ternary.YES or function.project.public.has(function.code):
        return
    found = places(function)
    said = {name for name, _ in made.arguments}.union(made.given)
    # Of methods with a signature, which objects that are saved keep, nothing is said.
    about = OF_TRACES if function.facts.kind.is_bound else OF_TRACES | {"input_signature"}
    if made.is_decorator and not made.conditional and said <= about:
        adds = "no more than the check by its signature" if "input_signature" in said else "nothing"
        message = f"only graphs call it: a decorator of its own adds {adds}"
        yield Hit(decorator_position(function), message, evidence=covered.evidence)
    elif not made.is_decorator and not made.conditional and not made.given:
        message = "only graphs call it: `tf.function` adds nothing here"
        where, pos = found[0]
        yield Hit(pos, message, path=where.path, evidence=covered.evidence)


def _of_keras(function: FunctionView) -> Iterator[Hit]:
    """A step of a model, which `fit` runs in a graph of its own: no strategy takes one that is a graph already."""
    made, found = function.facts.hybridization, function.project.contracts.override(function.code)
    if made is None or found is None or found.found.contract.mode != "graph" or made.conditional:
        return
    hybrids = function.project.solution.world.hybrids
    if any(
        caller.code not in hybrids and not is_run_by_graph(caller, pos) for caller, pos, _ in function.called_by(DIRECT)
    ):
        return  # a loop of the project's own calls it
    name, versions = function.code.name, function.project.versions
    if versions.may_have_keras(2) and training_step(function.frames) is not None and _has_strategy(function.project):
        said = f"Keras makes a graph of `{name}`, and Keras 2 raises under a strategy where it is a graph already"
        level = Level.WARNING if versions.needs_keras(2) else None
        yield Hit(function.code.position, f"{said}: leave `tf.function` out", level=level, outcome=Outcome.RAISES)
    elif made.is_decorator and {key for key, _ in made.arguments}.union(made.given) <= OF_TRACES:
        yield Hit(decorator_position(function), f"Keras makes a graph of `{name}`: a decorator of its own adds nothing")


def _has_strategy(project: ProjectView) -> bool:
    """Whether the program makes a strategy for several replicas."""
    made = project.solution.world.allocated.values()
    return project.shared("has strategies", lambda: any(isinstance(o, LibInst) and o.cls in SEVERAL for o in made))


RULE = Rule(
    code="HY105",
    name="redundant-decorator",
    category=Category.PERFORMANCE,
    outcome=Outcome.SLOWS,
    summary="Every caller of a hybrid function is a graph already.",
    details="""Inside a graph a hybrid function is traced into a function call of its own. That hides its
operations from some optimizations and makes two traces of what could be one; it seldom helps. What a dataset maps is
part of its graph, too. What a library exports is called from elsewhere, and not told.

`fit`, `evaluate` and `predict` make a graph of the model's `train_step`, `test_step` and `predict_step`. Under a
`MirroredStrategy` Keras 2 raises where such a step that applies gradients is a graph already ("please avoid decorating
overridden methods"): a warning, where the program makes such a strategy and runs on Keras 2.""",
    level=Level.INFO,
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
    return inner(x) + 1
r = target(tf.constant(1))
""",
            line=2,
        ),
        Example(
            """\
import tensorflow as tf
class Net(tf.Module):
    @tf.function
    def part(self, x):
        return x * 2
    @tf.function
    def target(self, x):
        return self.part(x) + self.part(x)
net = Net()
r = net.target(tf.constant(1))
""",
            target="Net.target",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
def double(x):
    return x * 2
doubled = tf.function(double)
@tf.function
def target(x):
    return doubled(x) + 1
r = target(tf.constant(1))
""",
            line=4,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(reduce_retracing=True)
def target(x):
    return x * 2
for x in tf.data.Dataset.range(3).map(target):
    r = x
""",
            line=2,
        ),
        Example(
            """\
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)
    def call(self, x):
        return self.dense(x)
    @tf.function
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}
with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
    net = Net()
    net.compile("sgd")
net.fit(tf.ones([4, 2]), tf.ones([4, 1]), verbose=0)
""",
            target="Net.train_step",
            line=9,
            outcome=Outcome.RAISES,
            needs="keras<3",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function
def inner(x):
    return x * 2
@tf.function
def target(x):
    return inner(x) + 1
r = target(inner(tf.constant(1)))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def inner(x):
    return x * 2
@tf.function
def target(x):
    return inner(x) + 1
r = target(tf.constant(1))
"""
        ),
    ),
    reference="semantics.md, Issue threads",
)
