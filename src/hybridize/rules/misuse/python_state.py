"""HY206: Python state that outlives the call is changed once per trace."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Unknown
from hybridize.facts.side_effects.arguments import argument_name
from hybridize.facts.state.reasons import kept_properties
from hybridize.facts.state.undone import overwritten
from hybridize.records import replace
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.harm.leaks import left_behind
from hybridize.tracing.state.additions import adds_same, fills_cache, fills_default, is_entered, writes_same
from hybridize.tracing.state.effects import hit, is_change, leaked, reasons
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Changes of fields, globals, captured variables and containers; stored tensors and arguments are other rules'."""
    found = list(reasons(function))
    for frame, reason in found:
        changes = is_change(reason) or reason.effect.kind == "state"
        if changes and argument_name(frame, reason) is None and not leaked(function, reason):
            # What the first call leaves behind is what every further one would.
            settles = (
                isinstance(reason.effect.target, Unknown)  # perhaps an object of the call's own
                or kept_properties(reason)
                or adds_same(reason, frame)
                or writes_same(function.project, reason, frame)
                or fills_default(reason)
                or fills_cache(reason)
                or is_entered(reason, (other for _, other in found))
                or reason.effect.position in overwritten(reason.frame.code)
            )
            told = hit(reason, Level.INFO if settles else None)
            if function.is_hybrid and not settles:
                left = left_behind(function, reason.frame, reason.effect.position, late=True)
                said = f"{told.message} {left.said}" if left.said else told.message
                told = replace(told, message=said, level=left.level, evidence=(*told.evidence, *left.events))
            yield told


RULE = Rule(
    code="HY206",
    name="python-state",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="it happens while tracing, not at every call; keep it in a `tf.Variable`, or return it",
    summary="Changes Python state, which happens once per trace and not once per call.",
    details="""Counters and flags in fields, globals and captured variables, and lists or dictionaries that are kept
between calls, change only while the function is traced. Keep such state in a `tf.Variable` that was made
outside (`assign_add`), or return it and let the caller keep it. What every call would write again (a constant, an
object that is held anyway, a property that is computed once) is information, and what the call itself overwrites
before it ends.

What runs once, since it sets what it asks for (`if self.first: ...; self.first = False`), is harmless if it leaves
nothing but that: no check, `tf.print`, draw or update in the graph, which would happen at every call, no other branch
that the later calls take, and no earlier question for the flag. Where it makes variables beside that, TensorFlow
traces anew before the first call runs, and nothing of it happens at all.

Of a function that is hybrid already it is an error where a run of the program shows that it matters: the next call
reads what this one has left, or code outside of the graph does after a second call, before it is written anew (what
the first call leaves is what eager code would). It is a warning where callers of a library may do that, and
information else: so is a count of traces, which only assertions and messages about tracing show. A list that each call
stores in its field before it fills it is the call's own.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.steps = 0
    def target(self, x):
        self.steps += 1
        return x + 1
m = Model()
m.target(tf.constant(1.0))
m.target(tf.constant(2.0))
r = m.steps
""",
            target="Model.target",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
seen = []
def note(word):
    seen.append(word)
def target(x):
    note("called")
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
r = len(seen)
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
queue = [3.0, 2.0, 1.0]
def target(x):
    return x * queue.pop()
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Store:
    one = None
    @classmethod
    def get(cls):
        if cls.one is None:
            cls.one = cls()
        return cls.one
    def __init__(self):
        self.calls = 0
def target(x):
    Store.get().calls += 1
    return x * 2.0
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(1.0))
r3 = Store.get().calls
""",
            line=12,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Norm:
    def __init__(self):
        self.shift = tf.Variable(0.0)
        self.ready = False
    def prepare(self, x):
        self.shift.assign(-tf.reduce_mean(x))
        self.ready = True
    def target(self, x):
        if not self.ready:
            self.prepare(x)
        return x + self.shift
norm = Norm()
r1 = norm.target(tf.constant([1.0, 3.0]))
r2 = norm.target(tf.constant([2.0, 6.0]))
""",
            target="Norm.target",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Gate:
    def __init__(self):
        self.first = True
    def look(self, x):
        if self.first:
            tf.debugging.assert_positive(x, "only what comes first")
            self.first = False
    def target(self, x):
        self.look(x)
        return x * 2.0
gate = Gate()
r1 = gate.target(tf.constant(1.0))
r2 = gate.target(tf.constant(-1.0))
""",
            target="Gate.target",
            line=8,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Smooth:
    def __init__(self):
        self.begun = False
    def target(self, x):
        if not self.begun:
            self.begun = True
        else:
            x = x * 0.5
        return x + 1.0
smooth = Smooth()
r1 = smooth.target(tf.constant(1.0))
r2 = smooth.target(tf.constant(1.0))
""",
            target="Smooth.target",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Warm:
    def __init__(self):
        self.cold = True
    def target(self, x):
        rate = 0.1 if self.cold else 1.0
        if self.cold:
            self.cold = False
        return x * rate
warm = Warm()
r1 = warm.target(tf.constant(1.0))
r2 = warm.target(tf.constant(1.0))
""",
            target="Warm.target",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Scale:
    def __init__(self):
        self.factor = None
    def target(self, x):
        if self.factor is None:
            tf.debugging.assert_rank(x, 0)
            self.factor = tf.Variable(tf.ones_like(x))
        return x * self.factor
scale = Scale()
r1 = scale.target(tf.constant(1.0))
r2 = scale.target(tf.constant(-1.0))
""",
            target="Scale.target",
        ),
        Example(
            """\
import tensorflow as tf
class Settings:
    mode = "eval"
def target(x):
    Settings.mode = "train"
    return x + 1
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(2.0))
mode = Settings.mode
"""
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.steps = tf.Variable(0)
    def target(self, x):
        self.steps.assign_add(1)
        return x + 1
m = Model()
m.target(tf.constant(1.0))
m.target(tf.constant(2.0))
r = m.steps.numpy()
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    parts = []
    for i in range(3):
        parts.append(x * i)
    return tf.add_n(parts)
r = target(tf.constant(1.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Mode:
    training = False
    depth = 0
def layer(x):
    return x * (0.5 if Mode.training else 1.0)
def target(x):
    before = Mode.training
    Mode.training = True
    Mode.depth += 1
    try:
        return layer(x)
    finally:
        Mode.training = before
        Mode.depth -= 1
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(3.0))
r3 = Mode.depth
"""
        ),
    ),
    known_problems="""Who reads what the call leaves behind is asked of the code that is analyzed. A field that only
notebooks and scripts outside of the project look at is information.""",
    reference="semantics.md R1",
)
