"""HY361: derivatives by one argument of what is computed from another one that is the same tensor, or holds it."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.model import Evidence
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.gradients.derived import Derived, derivatives, others
from hybridize.tracing.state.paths import Origin, before, may_alias, reads, sites
from hybridize.tracing.views import FrameView, FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Calls that pass the tensor by which the function derives in another way, too."""
    if not function.facts.may_be_hybrid:
        return
    seen: set[int] = set()
    for each in derivatives(function):
        if each.position in seen:
            continue
        where = _passed_twice(function, each)
        if where is not None:
            seen.add(each.position)
            said = "derives by an argument what is computed from another one that is, or holds, the same tensor"
            here = Evidence(said, each.path, each.position >> 16)
            passes = Evidence("passes the tensor in both ways", *where)
            yield Hit(each.position, said, evidence=(here, passes), path=each.path)


def _passed_twice(function: FunctionView, derived: Derived) -> tuple[str, int] | None:
    """A call of the function that passes what it derives by and, elsewhere, something that is or holds that."""
    project, frame = function.project, derived.frame
    for caller, pos in sites(frame):
        view = FrameView(project, caller)
        source = before(view, pos, frame, derived.sources)
        beside = before(view, pos, frame, others(derived))
        if may_alias(view, source, beside) or _captured(function, source, derived):
            return caller.code.path, pos >> 16
    return None


def _captured(function: FunctionView, source: frozenset[Origin], derived: Derived) -> bool:
    """Whether the function reads what a caller passes from where it came: a field, or a global."""
    project = function.project
    named = [o for o in source if o.place[0] in ("field", "global", "cell") and o not in derived.sources]
    inside = project.extents.frames(project.extents.of(derived.frame)) if named else ()
    return any(reads(FrameView(project, each), origin) for each in inside for origin in named)


RULE = Rule(
    code="HY361",
    name="aliased-argument",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Derives by an argument, and a call passes the same tensor in another way, too.",
    details="""An argument of a traced function is a tensor of its own in the graph. Where one call passes the same
tensor twice, as two arguments, as a list and an element of it, or as an argument and a field or global that the
function reads, these are different tensors inside: the gradient by one of them is None, or lacks what comes by way of
the other. (Variables stay the same.) Take the element inside of the function: pass its index, or derive by the whole
list.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(xs, wrt):
    with tf.GradientTape() as tape:
        tape.watch(wrt)
        y = xs[0] * xs[1]
    return tape.gradient(y, wrt)
xs = [tf.constant(3.0), tf.constant(4.0)]
r1 = target(xs, xs[0])
""",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Saliency:
    def __init__(self, model):
        self.model = model
    def gradient(self, inputs, wrt):
        with tf.GradientTape() as tape:
            tape.watch(wrt)
            y = self.model(inputs)
        return tape.gradient(y, wrt)
    def of(self, inputs):
        return self.gradient(inputs, wrt=inputs[0])
saliency = Saliency(tf.keras.layers.Add())
r1 = saliency.of([tf.ones((1, 3)), tf.ones((1, 3))])
""",
            target="Saliency.gradient",
            line=9,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Energy:
    def __init__(self):
        self.x = tf.constant(3.0)
    def value(self):
        return self.x * self.x
    def force(self, by):
        with tf.GradientTape() as tape:
            tape.watch(by)
            y = self.value()
        return tape.gradient(y, by)
energy = Energy()
r1 = energy.force(energy.x)
""",
            target="Energy.force",
            line=11,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(xs, wrt):
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = xs[0] * xs[1]
    return tape.gradient(y, xs)[wrt]
xs = [tf.constant(3.0), tf.constant(4.0)]
r1 = target(xs, 0)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(a, b):
    with tf.GradientTape() as tape:
        tape.watch(b)
        y = a * b
    return tape.gradient(y, b)
pair = (tf.constant(3.0), tf.constant(4.0))
r1 = target(pair[0], pair[1])
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(vs, v, x):
    with tf.GradientTape() as tape:
        y = vs[0] * x
    return tape.gradient(y, v)
vs = [tf.Variable(3.0), tf.Variable(4.0)]
r1 = target(vs, vs[0], tf.constant(2.0))
"""
        ),
    ),
    reference="semantics.md R11",
)
