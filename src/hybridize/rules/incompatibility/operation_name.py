"""HY353: names of operations that a graph does not take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import NONE, Bound, Class, Container, Inst, LibInst, Lit, Obj, Prim, Tensor, Tup, Value
from hybridize.library.dialect import LAYERS, NAME_SCOPES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.regex import regex
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

_VALID: Final = regex(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
#: What a scope inside another one may be called.
_VALID_INSIDE: Final = regex(r"[A-Za-z0-9_.\\/>-]*")
#: Classes whose objects open a scope of their name around each call; metrics do not.
_SCOPED: Final = (*LAYERS, "keras.losses.")
_ROOTS: Final = (
    "tf.math.",
    "tf.nn.",
    "tf.linalg.",
    "tf.image.",
    "tf.signal.",
    "tf.strings.",
    "tf.random.",
    "tf.sparse.",
)
#: Layers of Keras 2 whose computation, and whose `call`, names an operation after the object's class.
_NAMED_BY_CLASS: Final = frozenset({"keras.layers.Conv1D", "keras.layers.Conv2D", "keras.layers.Conv3D"})
_COMPUTING: Final = ("call", "convolution_op")
#: Functions that open a scope of that name themselves: a graph wants a text even where eager code takes `None`.
_NEED_TEXT: Final = frozenset({"tf.boolean_mask", "tf.linalg.matrix_transpose"})


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`name=` of an operation, or the name of a scope or of what opens one, that no graph allows."""
    called = view.value(instr.function)
    if called and all(isinstance(obj, (LibInst, Inst)) and _is_misnamed(obj) for obj in called):
        yield Hit(instr.position, "calls a layer or loss whose name no scope of a graph may have")
    named = next((slot for name, slot in instr.keywords if name == "name"), -1)
    for name in view.names(instr.function):
        if name in NAME_SCOPES:
            slot = argument(instr, 0, "name")
        elif named >= 0 and _is_operation(name) and instr.position in view.frame.ops:
            slot = named
        else:
            return
        value = view.value(slot)
        if (value and all(_refused(o) for o in value)) or (name in _NEED_TEXT and NONE in value):
            yield Hit(instr.position, "names an operation as no graph allows")
        return


def _opens_scope(_: ProjectView, value: Value) -> bool:
    return any(isinstance(obj, (LibInst, Inst)) and _is_misnamed(obj) for obj in value)


def _is_misnamed(obj: LibInst | Inst) -> bool:
    """Whether an object of Keras that opens a scope around its call was given a name that no scope may have."""
    classes = obj.cls.library if isinstance(obj, Inst) else (obj.cls,)
    cell = obj.fields.get("$name" if isinstance(obj, Inst) else "name")
    if cell is None or not any(name.startswith(_SCOPED) for name in classes):
        return False
    return bool(cell.value) and all(
        isinstance(o, Lit) and isinstance(o.const, str) and not _VALID_INSIDE.fullmatch(o.const) for o in cell.value
    )


def _is_operation(name: str) -> bool:
    if name.startswith(_ROOTS):
        return True
    root, _, rest = name.partition(".")
    return root == "tf" and rest[:1].islower() and "." not in rest


def root(function: FunctionView) -> Iterator[Hit]:
    """A convolution of Keras 2 that is computed at the root of a graph, where no name may begin with an underscore."""
    if function.project.versions.may_have_keras(2):
        for view in function.views():
            for instr in index_of(view.code).of(ir.Call):
                for cls in _named_after(view, instr):
                    if not _VALID.fullmatch(cls.name):
                        said = f"Keras 2 names an operation after the class `{cls.name}`, which no graph allows"
                        yield Hit(instr.position, said)


def _named_after(view: FrameView, instr: ir.Call) -> Iterator[Class]:
    """The classes after which a call of a layer's own computation names operations."""
    for obj in view.value(instr.function):
        if isinstance(obj, Bound) and isinstance(obj.func, str) and isinstance(obj.receiver, Inst):
            owner, _, method = obj.func.rpartition(":")
            owners = {owner} if owner else set(obj.receiver.cls.library)
            if method in _COMPUTING and _NAMED_BY_CLASS & owners:
                yield obj.receiver.cls


def _refused(obj: Obj) -> bool:
    if isinstance(obj, Lit):
        return obj is not NONE and (obj.kind != "str" or (obj.const != "" and not _VALID.fullmatch(obj.const)))
    return (isinstance(obj, Prim) and obj.kind in ("int", "float", "bool")) or isinstance(obj, (Tensor, Tup, Container))


RULE = Rule(
    code="HY353",
    name="operation-name",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Gives an operation or a scope a name that a graph does not allow.",
    details="""Eager code ignores the names of operations. A graph wants strings of letters, digits and `_.\\/>-`
that do not begin with an underscore: `name=3`, `name="my op"` and `tf.name_scope("my scope")` raise while tracing.
`tf.boolean_mask` and `tf.linalg.matrix_transpose` open a scope of their own, and refuse an explicit `name=None` there.

Layers and losses of Keras open a scope of their name around each call: `Dense(2, name="my layer")` can be called in
eager code alone. (A metric opens none.)

The convolutions of Keras 2 name an operation after the class of the layer. Where the name begins with an underscore,
`call` itself cannot be a graph: a caller of the layer can, since Keras opens a scope around `call`.""",
    triggers={ir.Call: Where(call, names=lambda name: name in NAME_SCOPES or _is_operation(name), values=_opens_scope)},
    root=root,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x, layer):
    return tf.identity(x, name=layer) * 2
r1 = target(tf.constant(3.0), 1)
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    with tf.name_scope("first part"):
        return tf.add(x, 1.0)
r1 = target(tf.constant(3.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(boxes, name=None):
    return tf.boolean_mask(boxes, boxes > 0.0, name=name)
r1 = target(tf.constant([3.0, -1.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
loss = tf.keras.losses.MeanSquaredError(name="first loss")
def target(x, y):
    return loss(x, y) * 2.0
r1 = target(tf.ones([2, 3]), tf.zeros([2, 3]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Twice(tf.keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
    def call(self, x):
        return x * 2.0
layer = Twice(name="twice (all)")
def target(x):
    return layer(x) + 1.0
r1 = target(tf.ones([2, 3]))
""",
            line=9,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class _Scaled(tf.keras.layers.Conv1D):
    def call(self, inputs):
        return super().call(inputs * 2.0)
layer = _Scaled(2, 1)
r1 = layer(tf.ones([1, 4, 3]))
""",
            target="_Scaled.call",
            line=4,
            outcome=Outcome.RAISES,
            needs="keras<3",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
loss = tf.keras.losses.MeanSquaredError(name="first_loss")
mean = tf.keras.metrics.Mean(name="all of them")
def target(x, y):
    mean.update_state(x)
    return loss(x, y) * 2.0
r1 = target(tf.ones([2, 3]), tf.zeros([2, 3]))
r2 = mean.result()
"""
        ),
        Example(
            """\
import tensorflow as tf
class _Scaled(tf.keras.layers.Conv1D):
    def call(self, inputs):
        return super().call(inputs * 2.0)
layer = _Scaled(2, 1)
layer.build([1, 4, 3])
def target(x):
    return layer(x) + 1.0
r1 = target(tf.ones([1, 4, 3]))
""",
            needs="keras<3",
        ),
        Example(
            """\
import tensorflow as tf
def target(x, name=None):
    with tf.name_scope("first_part"):
        return tf.add(tf.identity(x, name=name), 1.0, name="sum-1")
r1 = target(tf.constant(3.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, i):
    return tf.identity(x, name="part_" + str(i))
r1 = target(tf.constant(3.0), 2)
"""
        ),
    ),
    reference="TensorFlow 2.21, measured",
)
