"""HY374: a gradient of a program's own, in a branch of the graph, that reads what is outside of the branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Tensor, Value
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.facts.calls.callgraph import has_own_gradient
from hybridize.facts.origins import called_at
from hybridize.facts.symbolic import OPERATION
from hybridize.flow.frames import Frame
from hybridize.library.dialect import CHOOSING
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Branch, Site
from hybridize.tracing.views import FrameView

_SAID: Final = "a branch of the graph calls a function whose own gradient reads a tensor from outside of the branch"


def scan(view: FrameView) -> Iterator[Hit]:
    """Calls of such functions in branches on tensors, and such functions among those that `tf.cond` is given."""
    flow = control(view)
    for instr in index_of(view.code).of(ir.Call):
        if not CHOOSING.isdisjoint(view.names(instr.function)):
            given = [slot for slot, _ in instr.arguments[:1]] + [slot for key, slot in instr.keywords if key == "pred"]
            if given and flow.tensor(given[0]):
                called = called_at(view.frame, instr.position, (How.CALLBACK,))
                if any(_reads_outside(f) or any(_reads_outside(g) for _, g in f.calls) for f in called):
                    yield Hit(instr.position, _SAID, OPERATION)
    for site in flow.structure.of(ir.Call):
        if any(_reads_outside(callee) for callee in called_at(view.frame, site.instr.position)):
            mask = _condition(flow, site)
            if mask:
                yield Hit(site.instr.position, _SAID, mask)


def _condition(flow: Control, site: Site) -> int:
    """The mask of the nearest condition on a tensor that a site stands under."""
    at: Site | None = site
    while at is not None:
        if isinstance(at.parent, Branch) and at.part in ("then", "else"):
            mask = flow.condition(at.parent)
            if mask:
                return mask
        at = at.parent
    return 0


def _reads_outside(frame: Frame) -> bool:
    """Whether the gradient reads an argument of the function that it belongs to, or a tensor that this one captures."""
    code = frame.code
    if not has_own_gradient(code):
        return False
    given = {param.name: value for param, value in zip(code.params, frame.args, strict=True)}
    for made in index_of(code).of(ir.Func):
        for read in index_of(made.code).of(ir.Cell):
            cell = frame.cells.get(read.name)
            own = read.name in code.cells and read.name not in given
            if not own and _is_tensor(given.get(read.name, cell.value if cell is not None else frozenset())):
                return True
    return False


def _is_tensor(value: Value) -> bool:
    return any(isinstance(o, Tensor) and o.kind not in (VARIABLE, NDARRAY) for o in value)


RULE = Rule(
    code="HY374",
    name="gradient-in-branch",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    level=Level.INFO,
    summary="A branch of the graph calls a function with a gradient of its own, which reads a tensor from outside.",
    act="call the function before the condition, or let its gradient read only what the function has made",
    details="""Eager code runs one branch and derives it. In a graph TensorFlow derives a `tf.cond` (and an `if` on a
tensor) branch by branch: where a function under `tf.custom_gradient` is called in one, and its gradient reads an
argument or another tensor from outside of the branch, deriving fails with an `AssertionError`. What the function itself
has computed may be read.""",
    frame=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x, w, t):
    @tf.custom_gradient
    def scaled(a):
        return a * w, lambda dy: dy * w
    return tf.cond(t > 0.0, lambda: scaled(x), lambda: x)
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = target(x, tf.constant([3.0, 4.0]), tf.constant(1.0))
r1 = tape.gradient(y, x)
""",
            line=6,
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def clipped(a):
    return tf.maximum(a, 0.0), lambda dy: dy * tf.sigmoid(a)
def target(x, t):
    if t > 0.0:
        y = clipped(x)
    else:
        y = x
    return y * 2.0
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = target(x, tf.constant(1.0))
r1 = tape.gradient(y, x)
""",
            line=7,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, w, t):
    @tf.custom_gradient
    def scaled(a):
        y = a * w
        return y, lambda dy: dy * y
    return tf.cond(t > 0.0, lambda: scaled(x), lambda: x)
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = target(x, tf.constant([3.0, 4.0]), tf.constant(1.0))
r1 = tape.gradient(y, x)
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
def scaled(a, w):
    return a * w, lambda dy: (dy * w, dy * a)
def target(x, w, t):
    y = scaled(x, w)
    return tf.cond(t > 0.0, lambda: y, lambda: x)
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = target(x, tf.constant([3.0, 4.0]), tf.constant(1.0))
r1 = tape.gradient(y, x)
"""
        ),
    ),
    reference="semantics.md R8",
)
