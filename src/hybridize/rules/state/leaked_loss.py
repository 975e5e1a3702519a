"""HY603: losses that layers add inside a graph, and that code around it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from hybridize.closure import closure
from hybridize.domain.objects import Inst, LibInst, Lit, Prim, Value
from hybridize.facts.calls.dispatch import is_either
from hybridize.facts.model import Evidence
from hybridize.facts.symbolic import OPERATION, holds_tensor
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

if TYPE_CHECKING:
    from hybridize.facts.calls.extents import Having

_ADDS: Final = ".add_loss"
#: What `layer(x)` runs: whoever calls the layer gets its losses in the same trace.
_BY_KERAS: Final = "call"


def _is_adding(name: str) -> bool:
    return name.endswith(_ADDS) and name.startswith("keras.")


def adds(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A layer is given a loss that tracing makes symbolic."""
    if any(map(_is_adding, view.names(instr.function))):
        given = argument(instr, 0, "losses") if instr.arguments else argument(instr, 0, "loss")
        needs = view.symbolic(given) or (OPERATION if _is_number(view, view.value(given)) else 0)
        if needs:
            message = "adds a loss to a layer inside the layer's own graph: nobody outside can read it"
            yield Hit(instr.position, message, needs)


def read_outside(function: FunctionView) -> Iterator[Hit]:
    """The function runs layers that add losses, and who calls it reads them after the call."""
    if not function.facts.may_be_hybrid:
        return
    extents, project = function.project.extents, function.project
    extent = extents.without_bodies(extents.of_all(function.frames))
    adding: Having = project.shared(
        "adds losses", lambda: extents.having(lambda f: bool(_added(FrameView(project, f))))
    )
    found = sorted(extents.frames(adding.within(extent)), key=lambda f: f.uid)
    own = extents.set_of(function.frames)
    for reader, instr in _readers(project) if found else ():
        if not extents.has(extent, reader) and extents.of(reader) & own:
            message = "runs layers that add losses, which its caller reads: as a graph it leaves symbols there"
            view = FrameView(project, found[0])
            here = Evidence("adds a loss to a layer", view.code.path, _added(view)[0].position >> 16)
            there = Evidence("the losses are read here", reader.code.path, instr.position >> 16)
            sure = not _surely_run(function).isdisjoint(found)
            yield Hit(function.code.position, message, evidence=(here, there), sure=sure)
            return


def _surely_run(function: FunctionView) -> set[Frame]:
    """What the function runs by calls that can be of nothing else: not of one layer or another out of a table."""
    return set(closure(function.frames, lambda f: [c for pos, c in f.calls if not is_either(f, pos)]))


def _added(view: FrameView) -> list[ir.Call]:
    """The places where a frame gives a layer a loss that is a tensor, or that Keras makes one of."""
    if not index_of(view.code).attributes.get("add_loss"):
        return []
    calls = [i for i in index_of(view.code).of(ir.Call) if any(map(_is_adding, view.names(i.function)))]
    given = [(i, view.value(i.arguments[0][0])) for i in calls if i.arguments]
    return [i for i, value in given if holds_tensor(value) or _is_number(view, value)]


def _is_number(view: FrameView, value: Value) -> bool:
    """Whether Keras 2 makes a tensor of what it is given, in the graph that is traced; Keras 3 keeps numbers."""
    return view.project.versions.may_have_keras(2) and any(
        isinstance(o, (Lit, Prim)) and o.kind in ("int", "float") for o in value
    )


def _readers(project: ProjectView) -> list[tuple[Frame, ir.Attr]]:
    """The frames that read the losses of a layer, and where."""
    return project.shared("read losses", lambda: list(_reading(project)))


def _reading(project: ProjectView) -> Iterator[tuple[Frame, ir.Attr]]:
    for code, frames in project.solution.frames.items():
        for instr in index_of(code).attributes.get("losses", ()):
            for frame in frames:
                if any(isinstance(o, (Inst, LibInst)) and _is_layer(project, o) for o in frame.vals[instr.owner] or ()):
                    yield frame, instr


def _is_layer(project: ProjectView, obj: Inst | LibInst) -> bool:
    return any(n.startswith(("keras.layers.", "keras.Model", "keras.Sequential")) for n in _names(project, obj))


def _names(project: ProjectView, obj: Inst | LibInst) -> list[str]:
    return list(registry.mro_names(obj))


def stays_inside(view: FrameView, position: int, callee: Frame) -> bool:
    """Whether the caller is still part of the layer: a graph around the call of the layer reads its losses itself."""
    del view, position
    return callee.code.name != _BY_KERAS


RULE = Rule(
    code="HY603",
    name="leaked-loss",
    category=Category.STATE,
    outcome=Outcome.RAISES,
    summary="Adds losses inside of a graph that does not read them: they are symbols that nobody outside can use.",
    act="return the loss, or take `tf.function` off the layer's method",
    details="""`self.add_loss(...)` keeps a tensor until `layer.losses` is read. In a `call` that is hybrid itself, or
in a hybrid function that calls the layer, that tensor is a symbol of its graph: who sums the losses outside fails with
a tensor that is out of scope, or finds none. Make the training step hybrid, which calls the layer and reads the losses
in the same trace. Losses of `kernel_regularizer` are computed where they are read, and are fine.""",
    level=Level.WARNING,
    triggers={ir.Call: Where(adds, names=_is_adding)},
    passes=stays_inside,
    root=read_outside,
    bad=(
        Example(
            """\
import tensorflow as tf
class Constant(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(10.0)
        return x * 2.0
layer = Constant()
def target(x):
    return layer(x)
layer(tf.ones((1, 2)))
def step(x):
    y = target(x)
    return y, sum(layer.losses)
r1 = step(tf.ones((1, 2)))
""",
            line=7,
            outcome=Outcome.RAISES,
            needs="keras<3",
        ),
        Example(
            """\
import tensorflow as tf
class Penalty(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x * x))
        return x * 2.0
layer = Penalty()
y = layer(tf.ones([2]))
r1 = y + tf.add_n(layer.losses)
""",
            target="Penalty.call",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Sparse(tf.keras.layers.Layer):
    def penalize(self, x):
        self.add_loss(0.1 * tf.reduce_sum(tf.abs(x)))
    def call(self, x):
        self.penalize(x)
        return x + 1.0
layer = Sparse()
def step(x):
    y = layer(x)
    return tf.reduce_sum(y) + tf.add_n(layer.losses)
r1 = step(tf.ones([2]))
""",
            target="Sparse.call",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Penalty(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x * x))
        return x * 2.0
layer = Penalty()
def target(x):
    return layer(x) + 1.0
r1 = target(tf.ones([2])) + tf.add_n(layer.losses)
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Penalty(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x * x))
        return x * 2.0
layer = Penalty()
def target(x):
    y = layer(x)
    return tf.reduce_sum(y) + tf.add_n(layer.losses)
r1 = target(tf.ones([2]))
r2 = target(tf.zeros([2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Scaled(tf.keras.layers.Layer):
    def call(self, x):
        return x * 2.0
layer = Scaled()
r1 = layer(tf.ones([2]))
r2 = layer(tf.zeros([2]))
""",
            target="Scaled.call",
        ),
        Example(
            """\
import tensorflow as tf
layer = tf.keras.layers.Dense(1, kernel_initializer="ones", kernel_regularizer=tf.keras.regularizers.L2(0.5))
y = layer(tf.ones([1, 2]))
def target(x):
    return layer(x) + 1.0
r1 = target(tf.ones([1, 2])) + tf.add_n(layer.losses)
"""
        ),
    ),
    reference="semantics.md R3",
)
