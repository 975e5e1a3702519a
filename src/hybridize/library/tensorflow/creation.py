"""Operations that make tensors from shapes, numbers and Python values, and those that read shapes."""

from __future__ import annotations

from math import ceil
from typing import Final

from hybridize.domain.objects import BOOL_V, Lit, Tensor, Value, literal
from hybridize.domain.tensors import DYNAMIC, NDARRAY, RAGGED, SPARSE, UNRESOLVED, Shape, is_dynamic
from hybridize.library.arithmetic import broadcast
from hybridize.library.operands import (
    Args,
    Impossible,
    Operand,
    Unsure,
    chosen,
    common,
    fixed,
    group,
    op,
    same,
    sure,
    tensor_rule,
    value_rule,
)
from hybridize.library.shapes import broadcast_all, like, product_of, replaced, shaped, unsized
from hybridize.library.spec import Call, Spec
from hybridize.library.types import NO, YES, is_instance


def _is_tensor(call: Call) -> Value:
    """Whether its argument is a tensor; of an array it is left open, as one that arrives in a graph is a tensor."""
    value = call.arg(0, "x")
    if not value or any(isinstance(o, Tensor) and o.kind == NDARRAY for o in value):
        return BOOL_V
    answers = {is_instance(o, "tf.is_tensor") for o in value}
    return literal(answers == {YES}).value if answers in ({YES}, {NO}) else BOOL_V


def _like_dtype(a: Args) -> str | None:
    return a.dtype("dtype", default=None) if a.given("dtype") else a.tensor("input").dtype


def converted(a: Args) -> Value:
    """`tf.convert_to_tensor` and `tf.constant`: the value as a tensor, maybe of another dtype or shape."""
    x = a.tensor("value")
    dtype = a.dtype("dtype") if a.given("dtype") else x.dtype
    if not a.given("dtype") and a.given("dtype_hint"):
        hint = a.dtype("dtype_hint")
        dtype = hint if x.weak and (x.python or x.dtype == hint) else x.dtype if not x.weak else None
    shape = x.shape
    if a.given("shape"):
        shape = sure(lambda b: b.dims("shape"), a)
    whole = dtype is not None and dtype.startswith(("int", "uint"))
    content = x.content if whole and shape == x.shape and shape != () and len(x.content or ()) <= 8 else None
    if x.kind in (RAGGED, SPARSE):
        return a.result(dtype, None)
    return a.result(dtype, shape, content)


def _shape_of(a: Args) -> Value:
    x = a.tensor("input")
    dtype = a.dtype("out_type", default="int32")
    if x.kind == RAGGED:
        raise Unsure
    if x.shape is None:
        return a.result(dtype, (UNRESOLVED,))
    return a.result(dtype, (len(x.shape),), x.shape)


def _size_of(a: Args) -> Value:
    x = a.tensor("input")
    size = None if x.shape is None else (product_of(x.shape),)
    return a.result(a.dtype("out_type", default="int32"), (), size)


def _rank_of(a: Args) -> Value:
    x = a.tensor("input")
    return a.result("int32", (), None if x.shape is None else (len(x.shape),))


def _range(a: Args) -> Value:
    try:
        start, limit, delta = a.tensor("start"), a.optional("limit"), a.optional("delta")
    except (Unsure, Impossible):
        return a.result(a.dtype("dtype") if a.given("dtype") else None, (UNRESOLVED,))
    operands = [o for o in (start, limit, delta) if o]
    dtype = a.dtype("dtype") if a.given("dtype") else _range_dtype(operands)
    try:
        numbers = [_number(a, name) for name in ("start", "limit", "delta") if a.given(name)]
    except Unsure:
        dynamic = any(
            any(map(is_dynamic, o.content or ())) or (o.content is None and o.python is None) for o in operands
        )
        return a.result(dtype, (DYNAMIC if dynamic else UNRESOLVED,))
    first, last = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    step = numbers[2] if len(numbers) > 2 else 1
    if step == 0 or not all(isinstance(n, (int, float)) for n in (first, last, step)):
        raise Unsure
    size = max(0, ceil((last - first) / step))
    content = None
    if size <= 8 and all(isinstance(n, int) for n in (first, last, step)):
        values = tuple(range(int(first), int(last), int(step)))
        content = values if all(v >= 0 for v in values) else None
    return a.result(dtype, (size,), content)


def _range_dtype(operands: list[Operand]) -> str | None:
    order = ["int32", "int64", "float32", "float64"]
    dtypes = [o.dtype for o in operands if o.dtype in order]
    if len(dtypes) < len(operands):
        return None
    return max((d for d in dtypes if d), key=order.index)


def _number(a: Args, name: str) -> int | float:
    obj = a.object(name)
    if isinstance(obj, Lit) and isinstance(obj.const, (int, float)):
        number: int | float = obj.const
        return number
    if isinstance(obj, Tensor) and obj.content and obj.shape == () and obj.content[0] >= 0:
        return obj.content[0]
    raise Unsure


def count_of(a: Args, name: str) -> int:
    """A dim that an argument gives."""
    found = a.dims(name)
    if len(found) != 1:
        raise Unsure
    return max(found[0], UNRESOLVED)


def _linspace(a: Args) -> Shape:
    start, stop = a.tensor("start"), a.tensor("stop")
    inner = broadcast_all((start.shape, stop.shape))
    if inner is None:
        raise Unsure
    axis = a.integer("axis", default=0)
    return replaced((*inner[: axis % (len(inner) + 1)], 0, *inner[axis % (len(inner) + 1) :]), axis, count_of(a, "num"))


def _linspace_dtype(a: Args) -> str | None:
    dtype = a.tensor("start").dtype  # `stop` gives way, or the call raises; whole numbers become float64
    return {"int32": "float64", "int64": "float64"}.get(dtype, dtype) if dtype is not None else None


def _eye(a: Args) -> Shape:
    rows = count_of(a, "num_rows")
    columns = count_of(a, "num_columns") if a.given("num_columns") else rows
    batch = a.dims("batch_shape") if a.given("batch_shape") else ()
    return (*batch, rows, columns)


def _one_hot(a: Args) -> Shape:
    indices = a.tensor("indices").known
    axis = a.integer("axis", default=-1) if a.given("axis") else -1
    at = axis % (len(indices) + 1)
    return (*indices[:at], count_of(a, "depth"), *indices[at:])


def _one_hot_dtype(a: Args) -> str | None:
    if a.given("dtype"):
        return a.dtype("dtype")
    given = [a.tensor(n) for n in ("on_value", "off_value") if a.given(n)]
    return common(given) if given else "float32"


def _sequence_mask(a: Args) -> Shape:
    lengths = a.tensor("lengths").known
    return (*lengths, count_of(a, "maxlen") if a.given("maxlen") else DYNAMIC)


def _filled(a: Args) -> Shape:
    return a.dims("dims")


def _broadcast_shapes(a: Args) -> Value:
    """The shape vector of a broadcast, with its elements where those of both shapes are known."""
    x, y = a.tensor("shape_x"), a.tensor("shape_y")
    if x.content is None or y.content is None:
        known = x.known[0] >= 0 and y.known[0] >= 0
        return a.result(x.dtype, (max(x.known[0], y.known[0]) if known else unsized(*x.known, *y.known),))
    content = broadcast(x.content, y.content)
    return a.result(x.dtype, (max(len(x.content), len(y.content)),), content)


FUNCTIONS: Final[dict[str, Spec]] = {
    **group("tf.zeros tf.ones", op(chosen("float32"), shaped())),
    **group("tf.zeros_like tf.ones_like", op(_like_dtype, like(), ragged=True)),
    "tf.fill": op(same("value"), _filled),
    "tf.constant": Spec(value_rule(converted)),
    "tf.convert_to_tensor": Spec(value_rule(converted)),
    "tf.shape": Spec(value_rule(_shape_of), op=True),
    "tf.size": Spec(value_rule(_size_of), op=True),
    "tf.rank": Spec(value_rule(_rank_of), op=True),
    "tf.range": Spec(value_rule(_range), op=True),
    "tf.linspace": op(_linspace_dtype, _linspace),
    "tf.eye": op(chosen("float32"), _eye),
    "tf.one_hot": op(_one_hot_dtype, _one_hot),
    "tf.sequence_mask": op(chosen("bool"), _sequence_mask),
    "tf.broadcast_dynamic_shape": Spec(value_rule(_broadcast_shapes), op=True),
    "tf.math.sobol_sample": op(chosen("float32"), lambda a: (count_of(a, "num_results"), count_of(a, "dim"))),
    "tf.is_tensor": Spec(_is_tensor),
    "tf.timestamp": Spec(tensor_rule(fixed("float64"), lambda a: ()), op=True),
    "tf.histogram_fixed_width": op(chosen("int32"), lambda a: (count_of(a, "nbins") if a.given("nbins") else 100,)),
    "tf.histogram_fixed_width_bins": op(chosen("int32"), like("values")),
}
