"""HY348: arrays whose dtype gives way to that of a tensor in eager code, and does not once they are tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Prim, Tensor
from hybridize.domain.tensors import NDARRAY, SYMBOLIC
from hybridize.program.ir import Instr, Op
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where, operators
from hybridize.rules.values import argument
from hybridize.rules.views import FrameView

OPERATORS: Final = frozenset({"+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", ">", ">=", "==", "!="})
#: Functions whose tensors must have one dtype, with the names of those parameters.
ALIKE: Final = {
    **{f"tf.{name}": ("x", "y") for name in "add subtract multiply divide maximum minimum pow greater less".split()},
    **{f"tf.math.{name}": ("x", "y") for name in "add subtract multiply divide maximum minimum pow mod".split()},
    **{f"tf.math.{name}": ("x", "y") for name in "squared_difference greater less greater_equal less_equal".split()},
    **{f"tf.math.{name}": ("x", "y") for name in "floordiv floormod atan2 equal not_equal truediv".split()},
    **dict.fromkeys(("tf.matmul", "tf.linalg.matmul", "tf.tensordot"), ("a", "b")),
    "tf.where": ("", "x", "y"),
    "tf.clip_by_value": ("t", "", "clip_value_max"),
}
#: Functions of a list of tensors of one dtype.
_LISTS: Final = frozenset({"tf.concat", "tf.stack", "tf.add_n"})
_CONVERT: Final = frozenset({"tf.convert_to_tensor"})
_ASSIGN: Final = "tensor.variable.assign"
_NUMERIC: Final = ("int", "uint", "float", "bfloat", "complex", "bool")


def operator(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """`array * tensor`, with different dtypes."""
    found = _pair(view, instr[3], instr[4])
    if found is not None:
        yield _hit(instr, *found)
    elif instr[0] == Op.BINARY:
        yield from _narrower(view, instr)


def _narrower(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """NumPy promotes (`float32 * float64`, `uint8 / 2`) where TensorFlow keeps the dtype of the tensor."""
    promoted = {o.dtype for o in view.value(instr[1]) if isinstance(o, Tensor) and o.kind == NDARRAY}
    for slot, other in ((instr[3], instr[4]), (instr[4], instr[3])):
        given = {o.dtype for o in view.value(slot) if isinstance(o, Tensor) and o.kind == NDARRAY}
        if len(given) != 1 or len(promoted) != 1 or not view.symbolic(slot) or view.symbolic(other):
            continue
        dtype, wider = given.pop(), promoted.copy().pop()
        if dtype == wider or dtype is None or wider is None or not wider.startswith("float"):
            continue
        if dtype.startswith("float") or dtype in ("uint8", "int8", "uint16", "int16"):
            said = f"an array of {dtype} becomes a tensor: the result is not {wider} as in NumPy"
            yield Hit(instr[-1], said, view.symbolic(slot), outcome=Outcome.DIFFERS, level=Level.WARNING)
            return


def _alike(name: str) -> bool:
    """Whether a function is one of those whose tensors must have one dtype."""
    return name in ALIKE or name in _LISTS or name in _CONVERT or name.startswith(_ASSIGN)


def call(view: FrameView, instr: Instr) -> Iterator[Hit]:
    """A function that asks for one dtype; a conversion to another one; an assignment."""
    for name in view.names(instr[2]):
        if name in ALIKE:
            slots = [argument(instr, i, p) for i, p in enumerate(ALIKE[name]) if p]
            found = _pair(view, *slots) if min(slots) >= 0 else None
        elif name in _LISTS:
            found = _listed(view, argument(instr, 0, "values"))
        elif name in _CONVERT:
            found = _converted(view, instr)
        elif name.startswith(_ASSIGN):
            found = _against(view, argument(instr, 0), _dtypes(view, view.receiver(instr[2])))
        else:
            continue
        if found is not None:
            yield _hit(instr, *found)
        return


def _hit(instr: Instr, needs: int, array: str, other: str) -> Hit:
    return Hit(instr[-1], f"an array of {array} becomes a tensor, which does not give way to {other}", needs)


def _pair(view: FrameView, left: int, right: int) -> tuple[int, str, str] | None:
    return _against(view, left, _dtypes(view, right)) or _against(view, right, _dtypes(view, left))


def _against(view: FrameView, slot: int, others: frozenset[str]) -> tuple[int, str, str] | None:
    """An array from outside whose dtype is none of those of the other operand."""
    value = view.value(slot)
    arrays = [o for o in value if isinstance(o, Tensor) and o.kind == NDARRAY and o.dtype]
    if not arrays or not others or len(arrays) != len(value):
        return None
    needs = view.symbolic(slot)
    if not needs:
        return None
    for obj in sorted(arrays, key=repr):
        for other in sorted(others):
            if obj.dtype and obj.dtype != other and _clash(obj.dtype, other):
                return needs, obj.dtype, other
    return None


def _clash(array: str, other: str) -> bool:
    """Whether a tensor of the array's dtype fails with another, which may be that of a Python number."""
    if other == "python float":
        return not array.startswith(("float", "bfloat", "complex"))
    return array.startswith(_NUMERIC) and other.startswith(_NUMERIC)


def _dtypes(view: FrameView, slot: int) -> frozenset[str]:
    """The dtypes of the tensors in a slot; those of arrays only where they become tensors too."""
    found: set[str] = set()
    for obj in view.value(slot):
        if isinstance(obj, Tensor) and obj.dtype and obj.kind != SYMBOLIC:
            if obj.kind != NDARRAY or view.symbolic(slot):
                found.add(obj.dtype)
        elif isinstance(obj, (Lit, Prim)) and obj.kind == "float":
            found.add("python float")
    return frozenset(found)


def _listed(view: FrameView, slot: int) -> tuple[int, str, str] | None:
    made = view.definition(slot)
    if made is None or made[0] not in (Op.LIST, Op.TUPLE):
        return None
    parts = [part for part, starred in made[2] if not starred]
    others = frozenset[str]().union(*[_dtypes(view, part) for part in parts]) - {"python float"}
    for part in parts:
        found = _against(view, part, others)
        if found is not None:
            return found
    return None


def _converted(view: FrameView, instr: Instr) -> tuple[int, str, str] | None:
    if argument(instr, 1, "dtype") < 0:
        return None
    dtypes = {o.dtype for o in view.value(instr[1]) if isinstance(o, Tensor) and o.dtype}
    return _against(view, argument(instr, 0, "value"), frozenset(d for d in dtypes if d))


RULE = Rule(
    code="HY348",
    name="array-dtype",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="An array argument meets a tensor of another dtype.",
    details="""In eager code a NumPy array gives way: `float32_tensor * float64_array` is float32. As an argument of
a traced function the array is a float64 tensor, and TensorFlow does not convert between the dtypes of tensors: it
raises. The same goes for `convert_to_tensor(array, dtype)` and `variable.assign(array)`. Use `tf.cast(array,
tf.float32)`, which serves both, or pass float32 arrays. Arrays that existed before the trace still give way.""",
    triggers={
        Op.BINARY: operators(operator, *OPERATORS),
        Op.COMPARE: operators(operator, *OPERATORS),
        Op.CALL: Where(call, names=_alike),
    },
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, noise):
    return x + noise
r1 = target(tf.ones(3), np.zeros(3))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, rows):
    y = tf.concat([x, rows], 0)
    return tf.matmul(y, y, transpose_b=True)
r1 = target(tf.ones((1, 3)), np.zeros((2, 3)))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(image):
    x = tf.convert_to_tensor(image, dtype=tf.float32)
    return x / 2.0
r1 = target(np.zeros((2, 3)))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
SCALE = np.array([1.0, 2.0, 3.0])
def target(x, noise):
    return x * SCALE + tf.cast(noise, tf.float32)
r1 = target(tf.ones(3), np.zeros(3))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, noise):
    return tf.concat([x, noise], 0) * 2.0
r1 = target(tf.ones((1, 3)), np.zeros((1, 3), np.float32))
"""
        ),
    ),
    reference="semantics.md R9",
)
