"""HY607: the list of a model's weights, read before the model has any."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Inst, Obj
from hybridize.facts.model import Evidence
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.keras.built import unbuilt
from hybridize.tracing.views import FunctionView

_LISTS = (
    "variables trainable_variables non_trainable_variables weights trainable_weights non_trainable_weights"
).split()


def scan(function: FunctionView) -> Iterator[Hit]:
    """The first place that reads such a list."""
    for frame, instr, obj in unbuilt(function, _LISTS):
        said = f"reads `{instr.name}` of a `{_class(obj)}` that may not be built yet: the graph keeps an empty list"
        here = Evidence(said, frame.code.path, instr.position >> 16)
        yield Hit(instr.position, said, evidence=(here,), path=frame.code.path)
        return


def _class(obj: Obj) -> str:
    return obj.cls.name if isinstance(obj, Inst) else str(getattr(obj, "cls", "model")).rpartition(".")[2]


RULE = Rule(
    code="HY607",
    name="unbuilt-weights",
    category=Category.STATE,
    outcome=Outcome.DIFFERS,
    summary="Reads the list of a model's weights before the model is built: the graph keeps that of its first call.",
    details="""A model whose first layer does not know its input makes its weights when it is first called. Until then
`trainable_variables`, `weights` and their relatives are empty. Eager code reads them anew each time; a graph keeps what
they were when it was traced, and a loop over them turns as often as it did then: a target network that is built later
is never updated. Build the model beforehand (`model.build(shape)`, or a call on an example in the constructor), or call
it in the function before its weights are read.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Agent:
    def __init__(self):
        self.online = tf.keras.layers.Dense(1, use_bias=False)
        self.target = tf.keras.layers.Dense(1, use_bias=False)
    def follow(self, rate):
        for slow, fast in zip(self.target.trainable_variables, self.online.trainable_variables):
            slow.assign(slow + rate * (fast - slow))
        return rate
agent = Agent()
rate = tf.constant(1.0)
agent.follow(rate)
x = tf.ones((1, 3))
agent.online(x), agent.target(x)
agent.follow(rate)
r1 = agent.target(x) - agent.online(x)
""",
            target="Agent.follow",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
model = tf.keras.layers.Dense(2)
def penalty(x):
    return x * tf.add_n([tf.nn.l2_loss(w) for w in model.trainable_variables] or [tf.constant(0.0)])
for i in range(2):
    r1 = penalty(tf.constant(2.0)) > 0.0
    model(tf.ones((1, 3)))
""",
            target="penalty",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Agent:
    def __init__(self):
        self.online = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False)])
        self.target = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False)])
        self.online(tf.zeros((1, 3))), self.target(tf.zeros((1, 3)))
    def follow(self, rate):
        for slow, fast in zip(self.target.trainable_variables, self.online.trainable_variables):
            slow.assign(slow + rate * (fast - slow))
        return rate
agent = Agent()
agent.follow(tf.constant(1.0))
x = tf.ones((1, 3))
r1 = agent.target(x) - agent.online(x)
""",
            target="Agent.follow",
        ),
        Example(
            """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
for i in range(3):
    r1 = step(tf.ones((2, 3))) >= 0.0
""",
            target="step",
        ),
    ),
)
