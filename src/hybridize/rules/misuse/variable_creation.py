"""HY250: variables, and objects that own variables, made at every call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hybridize.domain.nesting import held
from hybridize.domain.objects import Container, Inst, LibInst, Lit, Obj, Value
from hybridize.facts.model import Evidence
from hybridize.facts.state.guards import guarded, is_cached
from hybridize.flow.frames import Frame
from hybridize.flow.truth import truth
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Confirmed, Doubt, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.creation import (
    builds_weights,
    is_built_late,
    makes_queue,
    makes_variables,
    may_own_variables,
    once_kept,
)
from hybridize.tracing.keras.late import made_late
from hybridize.tracing.retraced.keyed import Guarded, comes_late, guarded_creations, keys, passes, varies
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.views import FrameView, FunctionView, ProjectView


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call that makes something with variables, where nothing keeps it from running again."""
    slot, pos = instr.function, instr.position
    name = makes_variables(view, slot) or makes_queue(view, slot)
    if name is not None and _is_free(view, instr, name):
        return
    if name is None:
        name = builds_weights(view.project, view.value(slot))
    if name is None or is_cached(view.code):
        return
    if guarded(view.frame, pos):
        guarded_creations(view.project)[view.frame, pos] = Guarded(name, keys(view.code, pos))
        return
    key = once_kept(view, instr)
    if key is not None:
        guarded_creations(view.project)[view.frame, pos] = Guarded(name, [key])
        return
    yield Hit(pos, f"makes a `{name}` at every call", about=name, subject=_made_late(view, instr))


def confirm(project: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, Confirmed]]:
    """A layer makes its weights when it is called: of one that the same trace is not seen to call it is information."""
    answers: list[dict[Hit, Confirmed]] = []
    for doubt in doubts:
        late = {hit: hit.subject for hit in doubt.hits if isinstance(hit.subject, frozenset)}
        called = _called(project, project.extents.frames(extent_of(doubt.function))) if late else set()
        unused = {hit for hit, made in late.items() if called.isdisjoint(made)}
        answers.append({hit: Confirmed(level=Level.INFO if hit in unused else None) for hit in doubt.hits})
    return answers


def _made_late(view: FrameView, call: ir.Call) -> Value | None:
    """What a call makes, if that makes its variables when it is first called."""
    return view.value(call.target) if is_built_late(view, call.function) else None


def _called(project: ProjectView, frames: Iterable[Frame]) -> set[Obj]:
    """The objects of libraries that frames call, by themselves or as what a model runs."""
    known: dict[Frame, list[Obj]] = project.shared("called objects", dict)
    found: dict[Obj, None] = {}
    for frame in frames:
        own = known.get(frame)
        if own is None:
            slots = (instr.function for instr in index_of(frame.code).of(ir.Call))
            every = (o for slot in slots for o in frame.vals[slot] or () if isinstance(o, (Inst, LibInst)))
            own = known[frame] = list(dict.fromkeys(every))
        found.update(dict.fromkeys(own))
    return set(held(found, _DEEP, _inside))


def _is_free(view: FrameView, instr: ir.Call, name: str) -> bool:
    """Whether a dropout layer has rate 0: it needs no seed."""
    if "Dropout" not in name or not instr.arguments:
        return False
    return any(isinstance(o, Lit) and o.const == 0 for o in view.value(instr.arguments[0][0]))


def _inside(obj: Obj) -> list[Value]:
    return [cell.value for cell in obj.fields.values()] if isinstance(obj, (Container, Inst, LibInst)) else []


#: So deep layers are looked for in models that are called.
_DEEP: Final = 3


def keyed(function: FunctionView) -> Iterator[Hit]:
    """What is made once for each key, or under a condition that only a later call meets."""
    project = function.project
    known = guarded_creations(project)
    own = project.extents.of_all(function.frames) if known else 0
    engine = project.solution.engine
    for (frame, pos), each in known.items():
        new: list[Inst] = []
        if not own & project.extents.set_of([frame]):
            continue
        if any(varies(frame, slot, function.frames) for slot in each.keys):
            message = f"makes a `{each.name}` for each key: at a later call, which is too late"
        elif comes_late(frame, pos, function.frames, lambda f, value: truth(engine, f, value)):
            message = f"makes a `{each.name}` at a later call, which is too late"
        elif new := _new_receivers(function, frame):
            message = f"makes a `{each.name}` at every call: the object that it is kept in is made there, too"
        else:
            continue
        path = frame.code.path
        evidence = [Evidence(message, path, pos >> 16)]
        if each.made is not None:
            at, position = each.made
            evidence.append(Evidence(f"makes a `{each.name}`", at, position >> 16))
        evidence += [Evidence("makes the object that it is kept in", o.site[0].path, o.site[1] >> 16) for o in new]
        yield Hit(pos, message, path=path, level=Level.WARNING, evidence=tuple(evidence), about=each.name)


def _new_receivers(function: FunctionView, frame: Frame) -> list[Inst]:
    """The receivers of a method that keeps what it makes once, if these are themselves made within each call."""
    receivers = [o for o in frame.args[0] if isinstance(o, Inst)] if frame.args and frame.code.params else []
    if frame in function.frames:
        return []
    effects = function.project.effects
    made = all(any(effects.is_within(own, obj) for own in function.frames) for obj in receivers)
    return receivers if made else []


def _at_root(function: FunctionView) -> Iterator[Hit]:
    """What is made for each key, and what the first call does not make."""
    yield from keyed(function)
    for pos, what in made_late(function):
        yield Hit(pos, f"{what} where an argument says so, which the first call does not: too late for a graph")


RULE = Rule(
    code="HY250",
    name="variable-creation",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    once=True,
    act="a graph makes variables while it is traced for the first time only; make it outside, and once",
    summary="Makes variables at every call.",
    details="""A hybrid function may make variables only while it is traced for the first time: at the second trace
TensorFlow raises `tf.function only supports singleton tf.Variables`. Layers with weights, metrics, optimizers,
random generators and (from Keras 3 on) dropout layers own variables; so does the copy of a model
(`tf.keras.models.clone_model`, `from_config`); queues can't be made in a graph either. Make them
outside, or once: `if self.v is None: self.v = tf.Variable(...)`. A layer makes its weights when it is first called: one
that the same trace only makes, and does not call, is information.""",
    triggers={ir.Call: Where(scan, names=may_own_variables, values=lambda p, v: builds_weights(p, v) is not None)},
    passes=passes,
    confirm=confirm,
    root=_at_root,
    bad=(
        Example(
            """\
import tensorflow as tf
class Scale:
    def __init__(self):
        self.w = None
    def __call__(self, x):
        if self.w is None:
            self.w = tf.Variable(2.0)
        return self.w * x
def target(x):
    scale = Scale()
    return scale(x)
r1 = target(tf.constant(1.0))
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    v = tf.Variable(1.0)
    return x * v
r1 = target(tf.constant(1.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def head(x):
    layer = tf.keras.layers.Dense(1)
    return layer(x)
def target(x):
    return head(x) * 2
r1 = target(tf.ones([2, 3])).shape
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    mean = tf.keras.metrics.Mean()
    mean.update_state(x)
    return mean.result()
r1 = target(tf.constant(1.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.keras.layers.Dropout(0.5)(x, training=True) * 0.0
r1 = target(tf.constant([1.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
            needs="keras>=3",
        ),
        Example(
            """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
def target(x):
    copy = tf.keras.models.clone_model(model)
    return copy(x).shape
r1 = target(tf.ones([1, 2]))
model = None
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(), initializer="ones")
    def call(self, x):
        return x * self.w
def target(x):
    return Scale()(x)
r1 = target(tf.constant([1.0]))
""",
            line=8,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
made = {}
def scale(n):
    if n not in made:
        made[n] = tf.Variable(tf.ones([n]))
    return made[n]
def target(x):
    return x * scale(x.shape[0])
r1 = target(tf.constant([1.0]))
r2 = target(tf.constant([1.0, 2.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
opt = tf.keras.optimizers.Adam(0.1)
def target(x, train):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((v * x) ** 2)
    if train:
        opt.apply_gradients([(tape.gradient(loss, v), v)])
    return loss
r1 = target(tf.constant([1.0, 2.0]), False)
r2 = target(tf.constant([1.0, 2.0]), True)
""",
            line=8,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
opt = tf.keras.optimizers.Adam(0.1)
def target(x, train):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((v * x) ** 2)
    if train:
        opt.apply_gradients([(tape.gradient(loss, v), v)])
    return loss
r1 = target(tf.constant([1.0, 2.0]), True)
r2 = target(tf.constant([1.0, 2.0]), False)
"""
        ),
        Example(
            """\
import tensorflow as tf
blocks = []
def target(x):
    while len(blocks) < 2:
        blocks.append(tf.keras.layers.Dense(1, kernel_initializer="ones"))
    for block in blocks:
        x = block(x)
    return x
r1 = target(tf.ones([1, 1]))
r2 = target(tf.ones([1, 1]))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.v = None
    def target(self, x):
        if self.v is None:
            self.v = tf.Variable(2.0)
        return x * self.v
m = Model()
r1 = m.target(tf.constant(1.0))
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def weight(self):
        if not hasattr(self, "v"):
            self.v = tf.Variable(2.0)
        return self.v
    def target(self, x):
        return x * self.weight()
m = Model()
r1 = m.target(tf.constant(1.0))
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.built = False
    def make(self):
        self.v = tf.Variable(2.0)
        self.built = True
    def target(self, x):
        if not self.built:
            self.make()
        return x * self.v
m = Model()
r1 = m.target(tf.constant(1.0))
r2 = m.target(tf.constant(2.0))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.keras.layers.ReLU()(x) + tf.keras.layers.Flatten()(x)
r1 = target(tf.ones([2, 3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(), initializer="ones")
    def call(self, x):
        return x * self.w
layer = Scale()
def target(x):
    return layer(x)
r1 = target(tf.constant([1.0]))
r2 = target(tf.constant([2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
made = {}
def scale(name):
    if name not in made:
        made[name] = tf.Variable(2.0)
    return made[name]
def target(x):
    for name in ("a", "b"):
        x = x * scale(name)
    return x
r1 = target(tf.constant([1.0]))
r2 = target(tf.constant([1.0, 2.0]))
"""
        ),
    ),
    known_problems="""It is told of code that does not come so far because a library refuses what it is given before:
a keyword that the constructor of a layer does not know. Which layer of several in a list the same trace calls is not
told apart.""",
    reference="semantics.md R7",
)
