"""HY345: code that asks what it runs on: eager or not, which class, which object, which device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Heap, Lib, Lit, Tensor
from hybridize.domain.tensors import SYMBOLIC, VARIABLE
from hybridize.domain.words import NUMBER_CLASSES
from hybridize.facts.state.lifted import in_init_scope
from hybridize.facts.symbolic import OPERATION
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where, attributes, operators
from hybridize.tracing.autograph.generic import choices, is_dispatched
from hybridize.tracing.retraced.identities import REFERENCES, told_apart
from hybridize.tracing.shapes.classes import EAGER_CLASS, is_variable, tells
from hybridize.tracing.values import argument, is_message, made_number, own, uses
from hybridize.tracing.views import FrameView

_MODES: Final = frozenset("tf.executing_eagerly tf.inside_function tf.compat.v1.executing_eagerly".split())
_IS_SYMBOLIC: Final = "tf.is_symbolic_tensor"
#: What only symbolic tensors have, and variables, with another meaning.
_SYMBOLIC_ONLY: Final = frozenset({"name", "op", "graph"})
#: What only eager tensors, or only symbolic ones, have.
_EAGER_ONLY: Final = frozenset({"numpy", "_numpy"}) | _SYMBOLIC_ONLY
_FUNCTIONS: Final = frozenset({"tf.get_static_value", _IS_SYMBOLIC}) | frozenset(
    f"builtins.{name}" for name in "hasattr getattr dir type id isinstance".split()
)
_REFERENCES: Final = tuple(f".{name}" for name in REFERENCES)
_HASH: Final = "builtins.hash"
#: What code that only works out a shape consists of, besides calls.
_PLAIN: Final = (
    *(ir.Passing, ir.Attr, ir.Item, ir.Slice, ir.Binary, ir.Unary, ir.Compare, ir.BoolOp),
    *(ir.Sequence, ir.Global, ir.If, ir.Format, ir.Raise),
)
#: What a check of an argument calls besides.
_CHECKS: Final = ("tf.shape", "tf.rank", "tf.size", "tf.math.reduce_all", "tf.math.reduce_any", "tf.debugging.")
_OF_SHAPES: Final = frozenset("set_shape as_list get_shape concatenate TensorShape compute_output_shape".split())
_RAISED: Final = ("Error", "Exception")
_BUILT_IN: Final = frozenset(f"builtins.{name}" for name in ("list", "tuple", "len", "int"))
_CLASS: Final = "__class__"
_CLASSES: Final = "asks for the class of a tensor, which is another one"
_ASKED: Final = frozenset({"device", "backing_device", "is_packed", _CLASS}) | _SYMBOLIC_ONLY
_ONE_HAS: Final = "asks a tensor for what only eager, or only symbolic, ones have"


def _asks(name: str) -> bool:
    """Whether a function or method may ask what code runs on."""
    return name in _MODES or name in _FUNCTIONS or name.endswith(_REFERENCES)


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call that asks, by what it calls."""
    yield from dispatched(view, instr)
    yield from _named(view, instr)


def _named(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`tf.executing_eagerly()`, `hasattr(t, "numpy")`, `"numpy" in dir(t)`, `type(t)`, `id(t)`, `t.ref()`."""
    for name in view.names(instr.function):
        if name in _MODES:
            if in_init_scope(view.code, instr.position) or not uses(view, instr.target):
                continue
            if _tells_shapes(view, instr.target) or _is_xla(view, instr):
                continue
            yield Hit(instr.position, f"asks `{name}()`, whose answer changes", OPERATION)
        elif name == _IS_SYMBOLIC and uses(view, instr.target):
            yield from _hit(view, instr, argument(instr, 0), "asks if a tensor is symbolic, which the trace makes it")
        elif name == "tf.get_static_value" and uses(view, instr.target):
            yield from _hit(view, instr, argument(instr, 0), "asks for the value of a tensor, which is not known yet")
        elif name in ("builtins.hasattr", "builtins.getattr"):
            asked = view.value(argument(instr, 1))
            if any(isinstance(o, Lit) and o.const in _EAGER_ONLY for o in asked):
                yield from _hit(view, instr, argument(instr, 0), _ONE_HAS)
        elif name == "builtins.dir" and _looks_up(view, instr.target):
            yield from _hit(view, instr, argument(instr, 0), _ONE_HAS)
        elif name == "builtins.type" and len(instr.arguments) == 1:
            if tells(view, instr.target, instr.arguments[0][0]):
                yield from _hit(view, instr, instr.arguments[0][0], _CLASSES)
            yield from _number(view, instr)
        elif name == "builtins.isinstance" and uses(view, instr.target):
            yield from _class(view, instr)
        elif name == "builtins.id" and uses(view, instr.target):
            yield from _hit(view, instr, argument(instr, 0), "asks for the identity of a tensor")
        elif name.startswith("tensor.") and name.endswith(_REFERENCES):
            owner = view.receiver(instr.function)
            if _outlives(view, instr.target) and not is_variable(view, owner):
                yield from _hit(view, instr, owner, "keeps or looks up a tensor by its identity")


def _looks_up(view: FrameView, slot: int) -> bool:
    """Whether `"numpy" in dir(t)` is asked of a list of attributes."""
    asking = [use for use in uses(view, slot) if isinstance(use, ir.Compare) and use.operator in ("in", "not in")]
    return any(isinstance(o, Lit) and o.const in _EAGER_ONLY for use in asking for o in view.value(use.left))


def dispatched(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call of a function that has another body for the class of eager tensors."""
    for slot, kinds in choices(view, instr):
        if any(isinstance(o, Lib) and o.name.endswith(EAGER_CLASS) for o in kinds):
            yield from _hit(view, instr, slot, "is chosen by the class of a tensor, which is another one")


def _tells_shapes(view: FrameView, slot: int) -> bool:
    """Whether an answer decides only whether a tensor is told its shape, or an argument checked."""
    for use in uses(view, slot):
        if isinstance(use, ir.Unary) and use.operator == "not":
            if not _tells_shapes(view, use.target):
                return False
        elif not isinstance(use, ir.If) or use.condition != slot or not _sets_shapes(view, use):
            return False
    return True


def _sets_shapes(view: FrameView, branch: ir.If) -> bool:
    """Whether the branches of a condition compute with shapes, set them, and leave nothing but messages behind."""
    for instr in instructions((*branch.then, *branch.orelse)):
        if not isinstance(instr, _PLAIN) and not (isinstance(instr, ir.Call) and _is_of_shapes(view, instr)):
            return False
    ends = (branch.then_edge, branch.else_edge)
    joined = (phi for phi in index_of(view.code).of(ir.Phi) if any(edge in ends for edge, _ in phi.incoming))
    return all(is_message(view, use) for phi in joined for use in uses(view, phi.target))


def _is_xla(view: FrameView, call: ir.Call) -> bool:
    """Whether code asks if it runs eagerly only where XLA compiles it (`not eager and InXlaContext(...)`)."""
    negated = [use for use in uses(view, call.target) if isinstance(use, ir.Unary) and use.operator == "not"]
    if not negated or len(negated) != len(uses(view, call.target)):
        return False
    branches = [use for made in negated for use in uses(view, made.target) if isinstance(use, ir.If)]
    asked = [view.definition(i.function) for use in branches for i in instructions(use.then) if isinstance(i, ir.Call)]
    return any(isinstance(made, ir.Attr) and made.name.lower().endswith("xlacontext") for made in asked)


def _is_of_shapes(view: FrameView, call: ir.Call) -> bool:
    func = view.definition(call.function)
    if isinstance(func, ir.Attr) and func.name in _OF_SHAPES:
        return True
    names = view.names(call.function)
    return bool(names) and all(n in _BUILT_IN or n.startswith(_CHECKS) or n.endswith(_RAISED) for n in names)


def _class(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`isinstance(t, EagerTensor)`, `isinstance(int(t), int)`."""
    asked = view.value(argument(instr, 1))
    if any(isinstance(o, Lib) and o.name.endswith(EAGER_CLASS) for o in asked):
        yield from _hit(view, instr, argument(instr, 0), _CLASSES)
    if any(isinstance(o, Lib) and o.name in NUMBER_CLASSES for o in asked):
        yield from _number(view, instr)


def _number(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    needs = made_number(view, argument(instr, 0))
    if needs:
        yield Hit(instr.position, "asks for the class of a number made from a tensor: in a graph it is a tensor", needs)


def _hit(view: FrameView, instr: Instr, slot: int, message: str) -> Iterator[Hit]:
    needs = 0 if is_variable(view, slot) else own(view, slot)
    if needs:
        yield Hit(instr.position, message, needs)


def _outlives(view: FrameView, slot: int) -> bool:
    """Whether a reference is used as a key of something that was there before."""
    for use in uses(view, slot):
        if isinstance(use, (ir.Item, ir.SetItem)):
            owner = use.source if isinstance(use, ir.Item) else use.owner
        elif isinstance(use, ir.Compare) and use.operator in ("in", "not in"):
            owner = use.right
        elif isinstance(use, ir.Call):
            if _HASH in view.names(use.function):
                return True
            owner = view.receiver(use.function)
        elif isinstance(use, ir.Return):
            return True
        else:
            continue
        if any(isinstance(o, Heap) and o.frame != view.frame.uid for o in view.value(owner)):
            return True
    return False


def attribute(view: FrameView, instr: ir.Attr) -> Iterator[Hit]:
    """`t.device`, `t.__class__`, `t.name`."""
    name = instr.name
    if name in _SYMBOLIC_ONLY:
        if not all(is_message(view, use) for use in uses(view, instr.target)):
            yield from _hit(view, instr, instr.owner, _ONE_HAS)
    elif name != _CLASS:
        if any(not _places(view, use) for use in uses(view, instr.target)):
            yield from _hit(
                view, instr, instr.owner, "asks for the device of a tensor, which is not known while tracing"
            )
    elif tells(view, instr.target, instr.owner):
        yield from _hit(view, instr, instr.owner, _CLASSES)


def _places(view: FrameView, use: Instr) -> bool:
    return isinstance(use, ir.Call) and "tf.device" in view.names(use.function)


def compare(view: FrameView, instr: ir.Compare) -> Iterator[Hit]:
    """`a is b` for two tensors."""
    left, right = instr.left, instr.right
    if not _tensor(view, left) or not _tensor(view, right):
        return
    first, second = own(view, left), own(view, right)
    if (first or second) and (first != second or first & OPERATION):
        yield Hit(instr.position, "compares the identity of tensors, which are others while tracing", first | second)


def _tensor(view: FrameView, slot: int) -> bool:
    value = view.value(slot)
    return bool(value) and all(isinstance(o, Tensor) and o.kind not in (VARIABLE, SYMBOLIC) for o in value)


RULE = Rule(
    code="HY345",
    name="eager-question",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Asks whether code runs eagerly, or for a tensor's class, identity or device.",
    details="""The answers change once the function is traced: `tf.executing_eagerly()` is false, a symbolic tensor
has no `numpy` attribute, but a `name`, another class, another identity (`is`, `id`, `ref()` as a key) and no device,
and so Python silently takes another way. `isinstance(x, tf.Tensor)`, `tf.is_tensor(x)` and `x is None` are fine, and so
are references to variables, but for those that arrive as arguments: variables of one shape share a graph, in which
every one of them is taken for the first.""",
    level=Level.INFO,
    root=told_apart,
    triggers={
        ir.Call: Where(call, names=_asks, values=is_dispatched),
        ir.Attr: attributes(attribute, _ASKED),
        ir.Compare: operators(compare, "is", "is not"),
    },
    bad=(
        Example(
            """\
import tensorflow as tf
Eager = type(tf.constant(0.0))
def target(x):
    return x * 2 if isinstance(x, Eager) else x * 3
r1 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.executing_eagerly():
        return x * 2
    return x * 3
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 2 if hasattr(x, "numpy") else x * 3
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 2 if "numpy" in dir(x) else x * 3
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 2 if hasattr(x, "name") else x * 3
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
ORIGIN = tf.constant(1.0)
def target(x):
    if x is ORIGIN:
        return x * 2
    return x * 3
r1 = target(ORIGIN)
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    kind = type(x).__name__
    return x * 2 if kind == "EagerTensor" else x * 3
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 3 if tf.is_symbolic_tensor(x) else x * 2
r1 = target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import functools
import tensorflow as tf
@functools.singledispatch
def scaled(v):
    return v * 3
@scaled.register(type(tf.constant(0.0)))
def _(v):
    return v * 2
def target(x):
    return scaled(x)
r1 = target(tf.constant(2.0))
""",
            line=10,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
v, w = tf.Variable(1.0), tf.Variable(1.0)
SCALES = {v.ref(): 2.0, w.ref(): 3.0}
def target(each):
    return each * SCALES[each.ref()]
r1 = target(v)
r2 = target(w)
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return x * 2 if tf.compat.v1.executing_eagerly_outside_functions() and x.dtype.is_floating else x * 3
r1 = target(tf.ones([2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, y):
    return x + y if type(x) is type(y) else x
r1 = target(tf.constant(1.0), tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    with tf.init_scope():
        eager = tf.executing_eagerly()
    return x * 2 if eager else x * 3
r1 = target(tf.constant(1.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.executing_eagerly():
        tf.debugging.assert_equal(tf.shape(x)[0], 2)
    return x * 2
r1 = target(tf.ones([2]))
"""
        ),
        Example(
            """\
import functools
import tensorflow as tf
@functools.singledispatch
def total(v):
    return tf.reduce_sum(v)
@total.register(list)
def _(v):
    return tf.add_n(v)
@total.register(tf.Variable)
def _(v):
    return v.read_value()
def target(x):
    return total(x) + total([x, x])
r1 = target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
from tensorflow.python.eager import context
w = tf.Variable(tf.ones([3, 2]))
def target(x):
    y = tf.tensordot(x, w, [[2], [0]])
    if not context.executing_eagerly():
        shape = x.shape.as_list()
        y.set_shape(shape[:-1] + [w.shape[-1]])
    return y
r1 = target(tf.ones([2, 2, 3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(2.0)
SCALES = {v.ref(): 3.0}
def target(x, n, bias=None):
    if bias is not None and isinstance(x, tf.Tensor):
        x = x + bias
    if type(n) is int:
        x = x * n
    return x * SCALES[v.ref()]
r1 = target(tf.constant(2.0), 2)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    with tf.device(x.device):
        y = x * 2 if hasattr(x, "shape") else x
    return y
r1 = target(tf.constant(2.0))
"""
        ),
    ),
    reference="semantics.md R8",
)
