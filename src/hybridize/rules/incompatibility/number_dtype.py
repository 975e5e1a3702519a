"""HY355: Python numbers that become tensors, and then have a dtype of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Prim, Stream, Tensor
from hybridize.domain.tensors import NDARRAY, SYMBOLIC
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where, operators
from hybridize.tracing.shapes.meetings import ALIKE, OPERATORS
from hybridize.tracing.values import argument, number, own
from hybridize.tracing.views import FrameView

_DEPTH: Final = 8
#: What a Python number of a kind becomes.
_DTYPES: Final = {"int": "int32", "float": "float32"}
_PYTHON_FLOAT: Final = "python float"


def operator(view: FrameView, instr: ir.TwoSided) -> Iterator[Hit]:
    """`x * int(t)` where x is a float tensor; `int(t) * 0.5`."""
    yield from _check(view, instr, instr.left, instr.right)


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`tf.multiply(x, int(t))`."""
    for name in view.names(instr.function):
        if name in ALIKE:
            slots = [slot for i, p in enumerate(ALIKE[name]) if p and (slot := argument(instr, i, p)) >= 0]
            for other in slots[1:]:
                yield from _check(view, instr, slots[0], other)
            return


def _check(view: FrameView, instr: Instr, left: int, right: int) -> Iterator[Hit]:
    for slot, other in ((left, right), (right, left)):
        needs = number(view, slot)
        if not needs:
            continue
        dtype, against = _dtype(view, slot, _DEPTH), _other(view, other)
        if dtype is None or against is None or dtype == against:
            continue
        if against == _PYTHON_FLOAT and not dtype.startswith("int"):
            continue
        yield Hit(instr.position, f"a number made from a tensor is {dtype} in a graph, and meets {against}", needs)
        return


def _other(view: FrameView, slot: int) -> str | None:
    """The dtype that an operand insists on."""
    if number(view, slot):
        return _dtype(view, slot, _DEPTH)
    found: set[str] = set()
    for obj in view.value(slot):
        if isinstance(obj, Tensor):
            if obj.dtype is None or obj.kind == SYMBOLIC or (obj.kind == NDARRAY and not view.symbolic(slot)):
                return None
            found.add(obj.dtype)
        elif isinstance(obj, (Lit, Prim)) and obj.kind == "float":
            found.add(_PYTHON_FLOAT)
        else:
            return None
    return found.pop() if len(found) == 1 else None


def _dtype(view: FrameView, slot: int, depth: int) -> str | None:
    """The dtype of the tensor that a Python number becomes; None where that cannot be told."""
    value = view.value(slot)
    kinds = {o.kind for o in value if isinstance(o, (Lit, Prim))}
    if not depth or len(kinds) != 1 or any(isinstance(o, Tensor) for o in value):
        return None
    made = view.definition(slot)
    if made is None:
        return None
    if isinstance(made, ir.Call):
        names = view.names(made.function)
        if "builtins.int" in names or "builtins.float" in names:
            return _DTYPES.get(next(iter(kinds)))
        if (
            "builtins.len" in names
            and made.arguments
            and any(isinstance(o, Stream) for o in view.value(made.arguments[0][0]))
        ):
            return "int64"  # how many elements a dataset has
        return None
    if isinstance(made, ir.Copy):
        return _dtype(view, made.source, depth - 1)
    if isinstance(made, ir.Iter):
        return _counted(view, made)
    if isinstance(made, ir.Operator):
        return _computed(view, made, depth)
    if isinstance(made, ir.Phi):
        return _DTYPES.get(next(iter(kinds)))
    return None


def _counted(view: FrameView, made: ir.Iter) -> str | None:
    """The elements of `range(t)`."""
    ranged = view.definition(made.source)
    if not isinstance(ranged, ir.Call) or "builtins.range" not in view.names(ranged.function):
        return None
    dtypes = {o.dtype for s, _ in ranged.arguments if own(view, s) for o in view.value(s) if isinstance(o, Tensor)}
    if not dtypes:
        return "int32"
    return dtypes.pop() if len(dtypes) == 1 else None


def _computed(view: FrameView, made: ir.Operator, depth: int) -> str | None:
    parts = [s for s in (made.left, made.right) if number(view, s)]
    dtypes = {_dtype(view, s, depth - 1) for s in parts}
    if len(dtypes) != 1:
        return None
    dtype = dtypes.pop()
    if made.operator == "/" and dtype is not None and dtype.startswith("int"):
        return "float64"
    return dtype


RULE = Rule(
    code="HY355",
    name="number-dtype",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A Python number that becomes a tensor meets a tensor of another dtype.",
    details="""Python numbers take the dtype of the tensor that they meet. But AutoGraph makes tensors of `int(t)`
(int32), `float(t)` (float32), `len(dataset)` (int64), of the indices of `range(t)`, and of numbers that a loop or
branch on a tensor sets:
a counter `n` of a `while` loop on a tensor is int32 afterwards, and `x / n` raises if x is a float tensor. Use
`tf.cast(n, x.dtype)`.""",
    triggers={
        ir.TwoSided: operators(operator, *OPERATORS),
        ir.Call: Where(call, names=ALIKE.__contains__),
    },
    bad=(
        Example(
            """\
import tensorflow as tf
data = tf.data.Dataset.range(4)
def target(x):
    return x / len(data)
r1 = target(tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    count = int(tf.math.count_nonzero(x))
    return tf.reduce_sum(x) / count
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    steps = 0
    while tf.reduce_sum(x) < 10.0:
        x = x * 2
        steps += 1
    return x / steps
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    return x * (int(n) * 0.5)
r1 = target(tf.constant([1.0, 2.0]), tf.constant(3))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, n):
    scale = 1.0
    if tf.reduce_sum(x) < 10.0:
        scale = 2.0
    return x * scale * float(n) * (float(n) * 2) + float(int(n) // 2)
r1 = target(tf.constant([1.0, 2.0]), tf.constant(3))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    for i in range(n):
        x = x + i
    for k in range(2):
        x = x * k
    return x
r1 = target(tf.constant([1, 2]), tf.constant(3))
"""
        ),
    ),
    reference="TensorFlow 2.21, measured",
)
