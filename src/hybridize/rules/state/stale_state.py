"""HY602: Python state that is read while tracing, and changed between the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hybridize.domain.objects import Cell, Container
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.rules.hooked import of_callbacks
from hybridize.rules.model import Category, Confirmed, Doubt, Example, Hit, Level, Outcome, Rule, at_line
from hybridize.tracing.harm.doubts import doubtful
from hybridize.tracing.harm.witness import Witness, open_witnesses, stale_witnesses
from hybridize.tracing.retraced.traced_anew import is_traced_anew, is_unsized
from hybridize.tracing.state.outliving import outliving
from hybridize.tracing.state.reads import scan
from hybridize.tracing.state.setters import setters_of
from hybridize.tracing.state.staleness import OPEN, RUNS, TESTS, Stale, counts, extent_of, stale
from hybridize.tracing.state.writes import Place, writes_of
from hybridize.tracing.views import FunctionView, ProjectView

_SHOWN: Final = 3
#: What a run shows is an error; what only callers that nobody sees can do may happen.
_LEVELS: Final = {RUNS: None, TESTS: Level.INFO, OPEN: Level.WARNING}


def confirm(project: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, Confirmed]]:
    """The hits whose place some run of the program writes between two calls of the function."""
    known = writes_of(project)
    asked = [outliving(each.function, [(_place(hit), frames) for hit, frames in each.hits.items()]) for each in doubts]
    changed = stale(project, [(each.function, places) for each, places in zip(doubts, asked, strict=True)])
    shown = _witnesses(project, doubts, asked, changed)
    answers: list[dict[Hit, Confirmed]] = []
    for doubt, places, witnesses in zip(doubts, changed, shown, strict=True):
        found: dict[Hit, Confirmed] = {}
        extent = extent_of(doubt.function) if places else 0
        unsized = bool(witnesses) and is_unsized(doubt.function)
        said: set[object] = set()
        for hit in doubt.hits:
            if hit.subject in places and not (doubt.function.is_hybrid and hit.subject in said):
                said.add(hit.subject)  # of a hybrid function each cause is told once, at the nearest read
                place = _place(hit)
                writers = [at for at in known.at(place) if counts(project, extent, at[0], place)]
                lines = sorted({(frame.code.path, position >> 16) for frame, position in writers})
                set_by = setters_of(project).at(place, doubt.function, extent) if not lines else ()
                lines = lines or sorted({(code.path, position >> 16) for code, position in set_by})
                evidence = tuple(Evidence("is changed here", *where) for where in lines[:_SHOWN])
                level = _LEVELS[places[place].seen]
                witness = witnesses.get(place)
                if doubt.function.is_hybrid and (witness is None or (unsized and not witness.often)):
                    level = Level.INFO
                elif doubt.function.is_hybrid and unsized:
                    level = Level.WARNING
                causes = tuple(at_line(*where) for where in lines)
                if witness is not None:
                    evidence, causes = witness.events or evidence, (witness.cause, *causes)
                said_of = witness.said if witness else ""
                found[hit] = Confirmed(evidence, places[place].unless, level, said_of, causes)
        answers.append(found)
    return answers


def _witnesses(
    project: ProjectView,
    doubts: Sequence[Doubt],
    asked: Sequence[Mapping[Place, Sequence[Frame]]],
    changed: Sequence[Mapping[Place, Stale]],
) -> list[Mapping[Place, Witness]]:
    """Of the places that some code may change under a hybrid function those for which an order of events is seen."""
    found: list[dict[Place, Witness]] = [{} for _ in doubts]
    questions: list[tuple[FunctionView, Mapping[Place, Sequence[Frame]]]] = []
    where: list[int] = []
    for i, (doubt, places) in enumerate(zip(doubts, changed, strict=True)):
        if not places or not doubt.function.is_hybrid or is_traced_anew(doubt.function):
            continue
        left = places.keys() - doubtful(doubt.function, places)
        found[i] = open_witnesses(doubt.function, [place for place in left if places[place].seen == OPEN])
        seen = {place: frames for place, frames in asked[i].items() if place in left and places[place].seen == RUNS}
        if seen:
            questions.append((doubt.function, seen))
            where.append(i)
    for i, witnesses in zip(where, stale_witnesses(project, questions), strict=True):
        found[i].update(witnesses)
    return list(found)


def _place(hit: Hit) -> Place:
    assert isinstance(hit.subject, (Cell, Container))
    return hit.subject


RULE = Rule(
    code="HY602",
    name="stale-state",
    category=Category.STATE,
    outcome=Outcome.DIFFERS,
    summary="Reads Python state that the program changes between calls: the graph keeps its first value.",
    act="the graph keeps what it was when it was traced; pass it as a tensor, or `assign` it to a `tf.Variable`",
    details="""A field, a global, a captured variable or what is in a list or dictionary becomes a constant of the graph
when the function is traced; so do the list of a model's `trainable_variables`, the settings of a layer that is called
(`dense.activation`, `bn.momentum`), what `adapt` taught it (`normalization.mean`) and the layers of a `Sequential`.
Where the program writes it between two calls, the later call still uses what the first one saw; so does a
`tf.Variable` that is bound anew. Pass the value as a tensor, or keep it in one `tf.Variable` and `assign` to it.
So does what a callback sets in `fit` (`on_epoch_begin`, `on_train_batch_end`): Keras makes one graph of a model's step,
decorated or not, unless `compile` was told `run_eagerly` or the callback compiles anew.

Of a function that is hybrid already it is an error where a run of the program shows the order: the function is called
(and traced), the value is written, and the same `tf.function` is called again; the message names the places. It is a
warning where the callers of a library may run a setter in between, where a setting of the program stands around the
place or a call, and where nothing is known of the sizes of the arguments, but a loop calls the function many times
between two writes, or many times with a write in each turn. It is information where no such order is seen:
each call writes the value before it reads it, who writes it puts it back, all that write it give it the same constant
before the first call, a new graph is made with each change, arguments come in another size with each change, only tests
or other graphs write it, a whole object is loaded anew, or nobody knows which object, container or array changes.""",
    frame=scan,
    confirm=confirm,
    project=of_callbacks,
    bad=(
        Example(
            """\
import tensorflow as tf
norm = tf.keras.layers.Normalization(axis=None)
norm.adapt(tf.constant([1.0, 3.0]))
def target(x):
    return x * norm.mean
r1 = target(tf.ones(2))
norm.adapt(tf.constant([10.0, 30.0]))
r2 = target(tf.ones(2))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
level = 2
def target(x):
    return x * globals()["level"]
r1 = target(tf.constant(1))
level = 7
r2 = target(tf.constant(1))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * tf.cast(tf.summary.experimental.get_step(), tf.float32)
tf.summary.experimental.set_step(1)
r1 = target(tf.constant(2.0))
tf.summary.experimental.set_step(5)
r2 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
scale = 1.0
def target(x):
    return x * scale
r1 = target(tf.constant(2.0))
scale = 10.0
r2 = target(tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.training = True
    def evaluate(self):
        self.training = False
    def target(self, x):
        return x * 2 if self.training else x
m = Model()
r1 = m.target(tf.constant(2.0))
m.evaluate()
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
weights = [1.0]
def total(x):
    return sum(w * x for w in weights)
def target(x):
    return total(x)
r = []
for i in range(3):
    r.append(target(tf.constant(2.0)))
    weights.append(float(i))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.act = tf.sin
    def target(self, x):
        return self.act(x)
m = Model()
r1 = m.target(tf.constant(2.0))
m.act = tf.cos
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
_n = open("scale.txt", "w").write("1")
def target(x):
    return x * tf.strings.to_number(tf.io.read_file("scale.txt"))
r1 = target(tf.constant(1.0))
_n = open("scale.txt", "w").write("5")
r2 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import os
import tensorflow as tf
def target(x):
    return x * 10 if os.path.exists("flag.txt") else x
r1 = target(tf.constant(1.0))
open("flag.txt", "w").close()
r2 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import contextvars
import tensorflow as tf
scale = contextvars.ContextVar("scale", default=1.0)
def target(x):
    return x * scale.get()
r1 = target(tf.constant(1.0))
_token = scale.set(3.0)
r2 = target(tf.constant(1.0))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
dense.build((None, 1))
rate = tf.constant(0.5)
def target(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(dense(x))
    kept = dense.trainable_variables
    for variable, gradient in zip(kept, tape.gradient(loss, kept)):
        variable.assign_sub(rate * gradient)
    return loss
r1 = target(tf.ones([1, 1]))
dense.trainable = False
r2 = target(tf.ones([1, 1]))
r3 = target(tf.ones([1, 1]))
""",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def make():
    k = tf.constant(1.0)
    def target(x):
        return x * k
    def change(v):
        nonlocal k
        k = v
    return target, change
f, change = make()
r1 = f(tf.constant(2.0))
change(tf.constant(5.0))
r2 = f(tf.constant(2.0))
""",
            target="make.target",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
body = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(2)])
model = tf.keras.Sequential([tf.keras.Input([2]), body, tf.keras.layers.Dense(1)])
body.trainable = False
def target(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    return tf.constant(len(tape.gradient(loss, model.trainable_variables)))
r1 = target(tf.ones([1, 2]))
body.trainable = True
r2 = target(tf.ones([1, 2]))
""",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.norm = tf.keras.layers.BatchNormalization()
        self.norm.build([None, 2])
    def call(self, x, training=None):
        return self.norm(x, training=training)
net = Net()
def target(x):
    return net(x, training=True) * 2.0
r1 = target(tf.constant([[3.0, 5.0], [4.0, 9.0]]))
net.trainable = False
r2 = target(tf.constant([[3.0, 5.0], [4.0, 9.0]]))
""",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Settings:
    one = None
    def __new__(cls):
        if cls.one is None:
            cls.one = super().__new__(cls)
            cls.one.gain = 2.0
        return cls.one
def target(x):
    return x * Settings().gain
r1 = target(tf.constant(1.0))
Settings().gain = 5.0
r2 = target(tf.constant(1.0))
""",
            line=10,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.cast(x, tf.keras.backend.floatx())
r1 = target(tf.constant(1))
tf.keras.backend.set_floatx("float64")
r2 = target(tf.constant(1))
tf.keras.backend.set_floatx("float32")
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """import sys
import tensorflow as tf
modes = {"doubles": False}
class Model:
    def __init__(self, mode):
        self.mode = mode
    def target(self, x):
        return x * 2 if self.mode == "double" else x
m = Model(modes if len(sys.argv) > 5 else "double")
r1 = m.target(tf.constant(2.0))
modes["doubles"] = True
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
def solve(f, x):
    return f(x)
def search(x):
    low = 0.0
    def shifted(v):
        return v + low
    for _ in range(3):
        x = solve(shifted, x)
        low = low + 1.0
    return x
def target(x):
    return search(x) * 2.0
r1 = search(tf.constant(1.0))
r2 = target(tf.constant(1.0))
r3 = target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
scale = 1.0
if tf.__version__ > "2":
    scale = 3.0
def target(x):
    return x * scale
r1 = target(tf.constant(2.0))
r2 = target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.scale = None
    def setup(self, k):
        self.scale = k
    def target(self, x):
        return x * self.scale
m = Model()
m.setup(3.0)
r1 = m.target(tf.constant(2.0))
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def target(self, x):
        return x * self.scale
r = []
for i in range(3):
    m = Model()
    m.scale = float(i)
    r.append(m.target(tf.constant(2.0)))
    r.append(m.target(tf.constant(3.0)))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
scale = tf.Variable(1.0)
def target(x):
    return x * scale
r1 = target(tf.constant(2.0))
scale.assign(10.0)
r2 = target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
count = 0
def target(x):
    return x + 1
for i in range(3):
    r = target(tf.constant(2.0))
    count += 1
"""
        ),
        Example(
            """\
import os
import tensorflow as tf
open("table.txt", "w").close()
known = os.path.exists("table.txt")
def target(x):
    return x * 2 if known and os.path.isdir(".") else x
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(1.0))
"""
        ),
    ),
    known_problems="""A run by which a later call finds the first one's graph must be seen. One that only a setting,
a backend or `isinstance` allows is taken for none: it is information.""",
    reference="semantics.md R4",
)
