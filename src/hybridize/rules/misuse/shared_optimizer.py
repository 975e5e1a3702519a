"""HY259: one optimizer steps over the variables of several objects that come as an argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Inst, LibInst, Obj
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.facts.unknown.derived import TRAINED
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.keras.late import STEPS, comes_again, is_optimizer, is_steady, stepping
from hybridize.tracing.state.alternatives import together
from hybridize.tracing.views import FunctionView

#: Since this release of TensorFlow an optimizer steps over the variables of its first step alone, eagerly as well.
_SINCE: Final = (2, 11)
_OLD: Final = "keras.optimizers.legacy."


def scan(function: FunctionView) -> Iterator[Hit]:
    """Parameters that receive several objects, to whose variables an optimizer applies gradients."""
    if function.is_hybrid and not _has_one_graph(function):
        return
    frames = stepping(function)
    attributes = [(f, i) for f in frames for i in index_of(f.code).of(ir.Attr)]
    steppers = [(f, i, o) for f, i in attributes if i.name in STEPS for o in f.vals[i.owner] or ()]
    late = [(f, i) for f, i, o in steppers if is_optimizer(function.project, o) and _makes_late(function, o)]
    if not late:
        return
    asked = {o for f, i in attributes if i.name in TRAINED for o in f.vals[i.owner] or ()}
    for i, param in enumerate(function.code.params):
        if not i and function.facts.kind is FunctionKind.METHOD:
            continue  # a graph for each receiver
        found: set[Obj] = {o for f in function.frames for o in f.args[i] if o in asked}
        if not comes_again(function, found) and len(together(function.project, found)) < 2:
            continue
        frame, step = late[0]
        said = (
            f"`{param.name}` is now one object, now another: the optimizer makes variables for the second one too late"
        )
        here = Evidence(said, function.code.path, function.code.line)
        used = Evidence("its variables are made here", frame.code.path, step.position >> 16)
        yield Hit(function.code.position, said, evidence=(here, used))
        return


def _has_one_graph(function: FunctionView) -> bool:
    """Whether a decorator makes the one graph: where code applies `tf.function`, each model may have its own."""
    made, parent = function.facts.hybridization, function.code.parent
    return made is not None and made.is_decorator and (parent is None or parent.is_body)


def _makes_late(function: FunctionView, optimizer: Obj) -> bool:
    """Whether an optimizer makes variables for all that it ever meets, not for those of its first step alone."""
    if not isinstance(optimizer, (Inst, LibInst)):
        return False
    names = registry.mro_names(optimizer)
    if function.project.versions.oldest >= _SINCE and not any(n.startswith(_OLD) for n in names):
        return False
    return not is_steady(optimizer)


RULE = Rule(
    code="HY259",
    name="shared-optimizer",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="One optimizer steps over the variables of several objects that arrive as an argument.",
    details="""Before TensorFlow 2.11, and with `tf.keras.optimizers.legacy`, an optimizer makes slot variables for each
variable that it meets for the first time. A hybrid function may make variables only at its first trace: for a second
model TensorFlow raises, where eager code trains it as well. Later optimizers know the variables of their first step
alone and raise eagerly, too. Make an optimizer and a hybrid function for each model. Of a function that is hybrid
already it is information: what has run until now has met one model.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Model(tf.Module):
    def __init__(self, start):
        self.w = tf.Variable(start)
def target(model, x, opt):
    with tf.GradientTape() as tape:
        loss = (model.w * x) ** 2
    gradients = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
opt = tf.keras.optimizers.legacy.Adam(0.1)
small, large = Model(1.0), Model([1.0, 2.0])
r1 = target(small, tf.constant(1.0), opt)
r2 = target(large, tf.constant(1.0), opt)
""",
            line=5,
            outcome=Outcome.RAISES,
            needs="keras<3",
        ),
        Example(
            """\
import tensorflow as tf
class Model(tf.Module):
    def __init__(self, start):
        self.w = tf.Variable(start)
opt = tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)
def target(model, x):
    with tf.GradientTape() as tape:
        loss = (model.w * x) ** 2
    gradients = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
r = []
for start in (1.0, 2.0):
    model = Model(start)
    r.append(target(model, tf.constant(1.0)))
""",
            line=6,
            outcome=Outcome.RAISES,
            needs="keras<3",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Model(tf.Module):
    def __init__(self, start):
        self.w = tf.Variable(start)
def target(model, x, opt):
    with tf.GradientTape() as tape:
        loss = (model.w * x) ** 2
    gradients = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
opt = tf.keras.optimizers.legacy.SGD(0.1)
small, large = Model(1.0), Model(2.0)
r1 = target(small, tf.constant(1.0), opt)
r2 = target(large, tf.constant(1.0), opt)
""",
            needs="keras<3",
        ),
        Example(
            """\
import tensorflow as tf
class Model(tf.Module):
    def __init__(self, start):
        self.w = tf.Variable(start)
def target(model, other, x, opt):
    with tf.GradientTape() as tape:
        loss = (model.w * x) ** 2 + (other.w * x) ** 2
    variables = model.trainable_variables + other.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss
opt = tf.keras.optimizers.legacy.Adam(0.1)
small, large = Model(1.0), Model(2.0)
r1 = target(small, large, tf.constant(1.0), opt)
r2 = target(small, large, tf.constant(2.0), opt)
""",
            needs="keras<3",
        ),
    ),
    reference="semantics.md R7",
)
