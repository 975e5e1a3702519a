"""Models of array functions that NumPy and `tf.experimental.numpy` both have, by their names in either module."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import BOOL_V, INT_V, Value, literal, tup
from hybridize.domain.tensors import DYNAMIC, Shape
from hybridize.library.arithmetic import promoted
from hybridize.library.convert import shape_value
from hybridize.library.numpy import joining, shaping
from hybridize.library.numpy.promotion import both, combined, divided, floating, of, real, summed
from hybridize.library.operands import Args, DtypeRule, ShapeRule, Unsure, ValueRule, fixed, sure
from hybridize.library.shapes import axis_of, broadcast_all, concatenated, product_of, replaced, sum_of
from hybridize.library.spec import parametrized
from hybridize.library.tensorflow.linalg import einsum_shape, tensordot_shape
from hybridize.library.tensorflow.shaping import meshgrid

Part = tuple[DtypeRule, ShapeRule]

_FLOATING: Final = """
    sqrt exp expm1 exp2 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
    cbrt deg2rad rad2deg
"""
_SAME: Final = "negative positive square conj conjugate flip flipud fliplr roll sort triu tril copy around round"
_COMPARISONS: Final = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor isclose"
_PREDICATES: Final = "isnan isinf isfinite logical_not signbit isneginf isposinf iscomplex isreal"
_ARITHMETIC: Final = (
    "add subtract multiply maximum minimum power floor_divide mod remainder bitwise_and bitwise_or bitwise_xor"
)


def _like_dtype(a: Args) -> str | None:
    return a.dtype("dtype", default=None) if a.given("dtype") else a.nth(0).dtype


def _full_like(a: Args) -> Shape:
    if a.given("shape"):
        return a.dims("shape")
    return a.nth(0).shape


def _array_dtype(a: Args) -> str | None:
    return a.dtype("dtype") if a.given("dtype") else a.nth(0).dtype


def _array_shape(a: Args) -> Shape:
    if a.given("ndmin") and a.integer("ndmin") != 0:
        raise Unsure
    return a.nth(0).shape


def _full_shape(a: Args) -> Shape:
    shape = shaping.dims_at(0, "shape")(a)
    if a.nth(1).shape is None:
        raise Unsure
    return shape


def _sum_dtype(a: Args) -> str | None:
    return a.dtype("dtype") if a.given("dtype") else summed(a.nth(0).dtype)


def _mean_dtype(a: Args) -> str | None:
    return a.dtype("dtype") if a.given("dtype") else divided(a.nth(0).dtype)


def _spread_dtype(a: Args) -> str | None:
    return a.dtype("dtype") if a.given("dtype") else real(divided(a.nth(0).dtype))


def _of_sequence(a: Args) -> str | None:
    return combined(joining.dtypes(a))


def _arange_dtype(a: Args) -> str | None:
    if a.given("dtype"):
        return a.dtype("dtype")
    kinds = {a.operand(v).python for v in a.call.args[:3]}
    kinds |= {a.operand(a.call.kwargs["step"]).python} if "step" in a.call.kwargs else set()
    if kinds == {"int"}:
        return "int64"
    return "float64" if kinds <= {"int", "float"} and kinds else None


def _linspace_dtype(a: Args) -> str | None:
    if a.given("dtype"):
        return a.dtype("dtype")
    ends = [a.nth(0), a.nth(1)]
    return "float64" if all(o.python in ("int", "float") or o.dtype in _DOUBLES for o in ends) else None


#: Numbers of which NumPy makes double floats whatever its version.
_DOUBLES: Final = frozenset({"float64", "int64", "int32", "bool"})


def _linspace_shape(a: Args) -> Shape:
    if a.given("retstep"):
        raise Unsure
    return shaping.linspace(a)


def _einsum_shape(a: Args) -> Shape:
    text = getattr(next(iter(a.call.args[0]), None), "const", None) if a.call.args else None
    if not isinstance(text, str) or a.call.rest:
        raise Unsure
    return einsum_shape(text, [a.operand(v).shape for v in a.call.args[1:]])


def _einsum_dtype(a: Args) -> str | None:
    return combined([a.operand(v) for v in a.call.args[1:]])


def _float_pair(a: Args) -> str | None:
    return floating(both(a))


def _shift(a: Args) -> str | None:
    found = both(a)
    return found if found and found.startswith(("int", "uint")) else None


def _clip_dtype(a: Args) -> str | None:
    bounds = [a.tensor(n) for n in ("a_min", "a_max") if a.given(n)]
    return combined([a.nth(0), *bounds])


def _clip_shape(a: Args) -> Shape:
    bounds = [a.tensor(n).shape for n in ("a_min", "a_max") if a.given(n)]
    return broadcast_all([a.nth(0).shape, *bounds])


def _average_dtype(a: Args) -> str | None:
    if a.given("weights"):
        return promoted(divided(a.nth(0).dtype), a.tensor("weights").dtype)
    return divided(a.nth(0).dtype)


def _average_shape(a: Args) -> Shape:
    if a.given("returned"):
        raise Unsure
    return shaping.reduction(a)


def _power_dtype(a: Args) -> str | None:
    found = both(a)
    return None if found == "bool" else found


@parametrized
def _no_bool(a: Args, rule: DtypeRule) -> str | None:
    found = rule(a)
    return None if found == "bool" else found


def _rounded(a: Args) -> str | None:
    dtype = a.nth(0).dtype
    return dtype if dtype and dtype.startswith("float") else None


_KEEP: Final = of(lambda d: d)


def _add(parts: dict[str, Part], names: str, dtype: DtypeRule, shape: ShapeRule) -> None:
    parts.update(dict.fromkeys(names.split(), (dtype, shape)))


def _elementwise(parts: dict[str, Part]) -> None:
    first, pair = shaping.nth(0), shaping.broadcasting(0, 1)
    _add(parts, _FLOATING, of(floating), first)
    _add(parts, _SAME, _no_bool(_KEEP), first)
    _add(parts, "flip flipud fliplr roll sort triu tril copy logical_not", _KEEP, first)
    _add(parts, "abs absolute real imag", of(real), first)
    _add(parts, "angle", of(lambda d: real(floating(d))), first)
    _add(parts, "sign", _KEEP, first)
    _add(parts, "ceil floor fix trunc rint", _rounded, first)
    _add(parts, "fabs reciprocal sinc", _rounded, first)
    _add(parts, _PREDICATES, fixed("bool"), first)
    _add(parts, _COMPARISONS, fixed("bool"), pair)
    _add(parts, _ARITHMETIC, _no_bool(both), pair)
    _add(parts, "maximum minimum bitwise_and bitwise_or bitwise_xor multiply add", both, pair)
    _add(parts, "power", _power_dtype, pair)
    _add(parts, "divide true_divide", lambda a: divided(both(a)), pair)
    _add(parts, "arctan2 hypot logaddexp logaddexp2 nextafter heaviside float_power", _float_pair, pair)
    _add(parts, "gcd lcm left_shift right_shift", _shift, pair)


def _reducing(parts: dict[str, Part]) -> None:
    first = shaping.nth(0)
    _add(parts, "clip", _clip_dtype, _clip_shape)
    _add(parts, "sum prod", _sum_dtype, shaping.reduction)
    _add(parts, "nansum nanprod", _sum_dtype, shaping.reduction)
    _add(parts, "cumsum cumprod", _sum_dtype, shaping.accumulated)
    _add(parts, "mean nanmean", _mean_dtype, shaping.reduction)
    _add(parts, "std var", _spread_dtype, shaping.reduction)
    _add(parts, "average", _average_dtype, _average_shape)
    _add(parts, "max min amax amin", _KEEP, shaping.reduction)
    _add(parts, "ptp", _KEEP, shaping.reduction)
    _add(parts, "all any", fixed("bool"), shaping.reduction)
    _add(parts, "argmax argmin count_nonzero", fixed("int64"), shaping.reduction)
    _add(parts, "argsort", fixed("int64"), first)


def _making(parts: dict[str, Part]) -> None:
    _add(parts, "zeros ones empty", lambda a: a.dtype("dtype", default="float64"), shaping.dims_at(0, "shape"))
    _add(parts, "zeros_like ones_like empty_like", _like_dtype, _full_like)
    _add(parts, "full_like", _like_dtype, _full_like)
    _add(parts, "full", lambda a: a.dtype("dtype") if a.given("dtype") else a.nth(1).dtype, _full_shape)
    _add(parts, "array asarray asanyarray", _array_dtype, _array_shape)
    _add(
        parts,
        "ascontiguousarray",
        _array_dtype,
        lambda a: _array_shape(a) or (1,) if a.nth(0).shape is not None else None,
    )
    _add(parts, "arange", _arange_dtype, shaping.arange)
    _add(parts, "linspace", _linspace_dtype, _linspace_shape)
    _add(parts, "logspace geomspace", _linspace_dtype, shaping.linspace)
    _add(parts, "eye identity tri", lambda a: a.dtype("dtype", default="float64"), shaping.eye)
    _add(parts, "reshape", _KEEP, shaping.reshape)
    _add(parts, "ravel", _KEEP, shaping.ravel)
    _add(parts, "transpose", _KEEP, shaping.transpose)
    _add(parts, "expand_dims", _KEEP, shaping.expand)
    _add(parts, "squeeze", _KEEP, shaping.squeeze)
    _add(parts, "swapaxes", _KEEP, shaping.swapaxes)
    _add(parts, "moveaxis", _KEEP, shaping.moveaxis)
    _add(parts, "broadcast_to", _KEEP, shaping.broadcast_to)
    _add(parts, "repeat", _KEEP, shaping.repeat)
    _add(parts, "tile", _KEEP, shaping.tile)
    _add(parts, "pad", _KEEP, shaping.pad)


def _joining(parts: dict[str, Part]) -> None:
    for rank in (1, 2, 3):
        _add(parts, f"atleast_{rank}d", _KEEP, shaping.atleast(rank))
    _add(parts, "concatenate", _of_sequence, joining.concatenate)
    _add(parts, "stack", _of_sequence, joining.stack)
    _add(parts, "vstack", _of_sequence, joining.vstack)
    _add(parts, "hstack", _of_sequence, joining.hstack)
    _add(parts, "dstack", _of_sequence, joining.dstack)
    _add(parts, "column_stack", _of_sequence, joining.column_stack)
    _add(parts, "dot", both, joining.dot)
    _add(parts, "matmul", both, joining.matmul)
    _add(parts, "inner", both, joining.inner)
    _add(parts, "outer", both, joining.outer)
    _add(parts, "kron", both, joining.kron)
    _add(parts, "vdot", both, lambda a: ())
    _add(parts, "cross", both, shaping.cross)
    _add(parts, "tensordot", both, tensordot_shape)
    _add(parts, "einsum", _einsum_dtype, _einsum_shape)
    _add(parts, "diag", _KEEP, shaping.diag)
    _add(parts, "diagflat", _KEEP, shaping.diagflat)
    _add(parts, "diagonal", _KEEP, shaping.diagonal)
    _add(parts, "trace", _sum_dtype, shaping.trace)
    _add(parts, "take", _KEEP, shaping.take)
    _add(parts, "take_along_axis", _KEEP, _along)
    _add(parts, "vander", _KEEP, shaping.vander)
    _add(parts, "diff", _no_bool(_KEEP), shaping.diff)
    _add(parts, "rot90", _KEEP, shaping.rot90)
    _add(parts, "compress", of(lambda d: d, 1), _compressed)
    _add(parts, "append", both, _appended)
    _add(parts, "polyval", both, shaping.nth(1))


def table() -> dict[str, Part]:
    """Dtype and shape rule of each function."""
    parts: dict[str, Part] = {}
    for fill in (_elementwise, _reducing, _making, _joining):
        fill(parts)
    return parts


def _compressed(a: Args) -> Shape:
    shape = a.nth(1).known
    return replaced(shape, a.integer("axis"), DYNAMIC) if a.given("axis") else (DYNAMIC,)


def _along(a: Args) -> Shape:
    if not a.given("axis"):
        raise Unsure
    shape, indices = a.nth(0).known, a.nth(1).known
    if len(shape) != len(indices):
        raise Unsure
    at = axis_of(len(shape), a.integer("axis"))
    return tuple(i if k == at else max(d, i) for k, (d, i) in enumerate(zip(shape, indices, strict=True)))


def _appended(a: Args) -> Shape:
    left, right = a.nth(0).known, a.nth(1).known
    if not a.given("axis"):
        return (sum_of((product_of(left), product_of(right))),)
    return concatenated([left, right], a.integer("axis"))


# Functions with other results ----------------------------------------------------------------------------------------


def _boolean(a: Args) -> Value:
    return BOOL_V


def _ndim(a: Args) -> Value:
    shape = a.nth(0).shape
    return INT_V if shape is None else literal(len(shape)).value


def _size(a: Args) -> Value:
    shape = a.nth(0).shape
    if shape is None or any(d < 0 for d in shape) or a.given("axis"):
        return INT_V
    size = 1
    for d in shape:
        size *= d
    return literal(size).value


def _shape(a: Args) -> Value:
    return shape_value(a.nth(0).shape, "tuple")


def _split(axis: int | None) -> ValueRule:
    shapes = shaping.sections(axis=axis)

    def rule(a: Args) -> Value:
        x = a.nth(0)
        try:
            found = shapes(a)
        except Unsure:
            return a.call.list_of(a.result(x.dtype, None))
        return a.call.listed([a.result(x.dtype, s) for s in found])

    return rule


def _nonzero(a: Args) -> Value:
    rank = a.nth(0).rank
    return tup([a.result("int64", (DYNAMIC,))] * rank).value


def _where(a: Args) -> Value:
    if len(a.call.args) == 1 and not a.call.kwargs:
        return _nonzero(a)
    dtype, shape = sure(lambda a: combined([a.nth(1), a.nth(2)]), a), sure(shaping.where, a)
    return a.result(dtype, shape)


def values() -> dict[str, ValueRule]:
    """Rules of functions that do not give one array."""
    return {
        "allclose": _boolean,
        "array_equal": _boolean,
        "isscalar": _boolean,
        "iscomplexobj": _boolean,
        "isrealobj": _boolean,
        "ndim": _ndim,
        "size": _size,
        "shape": _shape,
        "split": _split(None),
        "array_split": _split(None),
        "hsplit": _split(1),
        "vsplit": _split(0),
        "dsplit": _split(2),
        "nonzero": _nonzero,
        "where": _where,
        "meshgrid": meshgrid,
    }
