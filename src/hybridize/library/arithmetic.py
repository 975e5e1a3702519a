"""Operators with a tensor or array operand: broadcasting and each library's own promotion.

TensorFlow: both sides must have one dtype; Python numbers and NumPy arrays are converted to the tensor's. NumPy: arrays
promote (`int64 / int64` is float64), Python scalars are weak.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE, STR_V, Inst, Lit, Obj, Prim, Tensor, Unknown, Value, tensor, unknown
from hybridize.domain.tensors import (
    DENSE,
    DYNAMIC,
    NDARRAY,
    RAGGED,
    SPARSE,
    SYMBOLIC,
    UNRESOLVED,
    Dim,
    Shape,
    is_dynamic,
)
from hybridize.library.convert import PYTHON_NP, PYTHON_TF, type_of_value
from hybridize.library.spec import Call
from hybridize.regex import regex

_PARTS: Final = regex(r"(bool|uint|int|float|complex)(\d*)$")
#: What dtypes of numbers are called but for their bits, those that NumPy promotes first.
FAMILIES: Final = ("bool", "uint", "int", "float", "complex")
#: The float that holds all values of an int of this many bits.
FLOAT_FOR: Final = {8: 16, 16: 32, 32: 64, 64: 64}


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise operation on two shapes; None where it is not known or they do not fit."""
    if a is None or b is None:
        return None
    if len(a) < len(b):
        a, b = b, a
    padded = (1,) * (len(a) - len(b)) + b
    result: list[Dim] = []
    for x, y in zip(a, padded, strict=True):
        if x == y:
            result.append(x)
        elif x == 1:
            result.append(y)
        elif y == 1:
            result.append(x)
        elif x >= 0 and y >= 0:
            return None
        elif x > 1 or y > 1:
            result.append(max(x, y))  # the unknown one is that size, or one
        else:
            result.append(DYNAMIC if is_dynamic(x) or is_dynamic(y) else UNRESOLVED)
    return tuple(result)


def dtype_parts(dtype: str) -> tuple[str, int] | None:
    """The kind of a dtype and its number of bits."""
    found = _PARTS.match(dtype)
    return (found.group(1), int(found.group(2) or 8)) if found else None


def promoted(a: str | None, b: str | None) -> str | None:
    """NumPy's dtype of an operation on arrays of two dtypes."""
    if a is None or b is None or a == b:
        return a if a == b else None
    first, second = dtype_parts(a), dtype_parts(b)
    if first is None or second is None:
        return None
    (low, n), (high, m) = sorted((first, second), key=lambda p: FAMILIES.index(p[0]))
    if low == "bool":
        return f"{high}{m}"
    if low == high:
        return f"{high}{max(n, m)}"
    if high == "int":  # an unsigned one
        return f"int{m}" if m > n else f"int{2 * n}" if n < 64 else "float64"
    if high == "float":
        return f"float{max(m, FLOAT_FOR[n])}"
    real = FLOAT_FOR[n] if low in ("int", "uint") else n
    return f"complex{max(m, 2 * real)}"


def result_kind(*objs: Obj) -> str:
    """The kind of the result of an operation on these operands."""
    kinds = {o.kind for o in objs if isinstance(o, Tensor)}
    for kind in (SYMBOLIC, RAGGED, SPARSE):
        if kind in kinds:
            return kind
    return NDARRAY if kinds == {NDARRAY} else DENSE


def _division(dtype: str | None, kind: str) -> str | None:
    """The dtype of a true division: TensorFlow makes float32 of small ints, NumPy float64 of all."""
    if dtype is None:
        return None
    if dtype.startswith(("int", "uint")):
        return "float32" if kind != NDARRAY and dtype in ("int8", "uint8", "int16", "uint16") else "float64"
    return dtype


def binary_tensor(call: Call, op: str, x: Obj, y: Obj) -> Value:
    """`x op y` where one of them is a tensor or array."""
    if x is NONE or y is NONE:
        return frozenset()
    if op == "%" and isinstance(x, (Lit, Prim)) and x.kind == "str":
        if isinstance(y, Tensor) and y.kind != NDARRAY:
            call.effect("eager_only", "%-formatting of a tensor", y)
        return STR_V
    kind = result_kind(x, y)
    if kind != NDARRAY:
        call.frame.computes_operator(call.pos, f"tf.math.{op}")
    table = PYTHON_NP if kind == NDARRAY else PYTHON_TF
    a_dtype, a_shape = type_of_value(call, x.value, table)
    b_dtype, b_shape = type_of_value(call, y.value, table)
    if isinstance(x, Inst) or isinstance(y, Inst):
        return unknown("the result of an operator on an object").value if kind == NDARRAY else tensor(kind).value
    dtype = _dtype(kind, x, y, a_dtype, b_dtype)
    if op == "/":
        dtype = _division(dtype, kind)
    if op == "@":
        shape = contraction(a_shape, b_shape)
    elif isinstance(x, Unknown) or isinstance(y, Unknown):
        shape = None
    else:
        shape = broadcast(a_shape, b_shape)
    content = _content(op, x, y)
    return tensor(kind, dtype, shape, content).value


def _dtype(kind: str, x: Obj, y: Obj, a: str | None, b: str | None) -> str | None:
    if kind == NDARRAY:
        if isinstance(x, (Lit, Prim)):
            return _weak(b, x.kind)
        if isinstance(y, (Lit, Prim)):
            return _weak(a, y.kind)
        return promoted(a, b)
    for side, dtype in ((x, a), (y, b)):
        # A tensor decides: NumPy arrays and Python values are converted to its dtype.
        if isinstance(side, Tensor) and side.kind != NDARRAY and dtype is not None:
            return dtype
    return None


def _weak(dtype: str | None, kind: str) -> str | None:
    """A Python scalar meets an array: its kind may lift the array's, never its size."""
    if dtype is None:
        return None
    if kind == "float" and dtype.startswith(("int", "uint", "bool")):
        return "float64"
    if kind == "int" and dtype == "bool":
        return "int64"
    return dtype


def contraction(a: Shape, b: Shape) -> Shape:
    """The shape of a matrix product, batch dims broadcast; vectors as NumPy has them."""
    if a is None or b is None or not a or not b:
        return None
    if len(a) == 1 and len(b) == 1:
        return ()
    if len(a) == 1:
        return (*b[:-2], b[-1])
    if len(b) == 1:
        return a[:-1]
    batch = broadcast(a[:-2], b[:-2])
    return None if batch is None else (*batch, a[-2], b[-1])


def _content(op: str, x: Obj, y: Obj) -> Shape:
    """Arithmetic on shape vectors with known elements (`tf.shape(x)[0] * 2`)."""
    left, right = _known(x), _known(y)
    if left is None or right is None:
        return None
    if len(left) != len(right):
        if len(left) == 1:
            left *= len(right)
        elif len(right) == 1:
            right *= len(left)
        else:
            return None
    return tuple(_dim(op, a, b) for a, b in zip(left, right, strict=True))


def _known(obj: Obj) -> tuple[Dim, ...] | None:
    if isinstance(obj, Tensor):
        return obj.content
    if isinstance(obj, Lit) and isinstance(obj.const, int) and not isinstance(obj.const, bool):
        return (obj.const if obj.const >= 0 else UNRESOLVED,)
    return None


def _dim(op: str, a: Dim, b: Dim) -> Dim:
    if a < 0 or b < 0:
        if (op in "*//" and b == 1) or (op in "+-" and b == 0):
            return a
        if (op == "*" and a == 1) or (op == "+" and a == 0):
            return b
        return DYNAMIC if is_dynamic(a) or is_dynamic(b) else UNRESOLVED
    match op:
        case "+":
            return a + b
        case "-" if a >= b:
            return a - b
        case "*":
            return a * b
        case "//" if b:
            return a // b
        case "%" if b:
            return a % b
    return UNRESOLVED


def compare_tensor(call: Call, x: Obj, y: Obj) -> Value:
    """A comparison with a tensor or array: elementwise, boolean."""
    kind = result_kind(x, y)
    if kind != NDARRAY:
        call.frame.computes_operator(call.pos, "tf.math.compare")
    table = PYTHON_NP if kind == NDARRAY else PYTHON_TF
    _, a = type_of_value(call, x.value, table)
    _, b = type_of_value(call, y.value, table)
    return tensor(kind, "bool", broadcast(a, b)).value
