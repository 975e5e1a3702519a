"""Functions on tensors: `keras.activations`, `keras.backend` and `keras.ops`.

The two releases promote integers, Python values and arrays differently; the dtype is given where all agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.objects import NONE_V, Value, literal, prim, tensor, tup
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, SYMBOLIC, UNRESOLVED, VARIABLE, Dim, Shape
from hybridize.library.convert import shape_value
from hybridize.library.keras.reshaping import batch_dot
from hybridize.library.keras.settings import global_float, is_float
from hybridize.library.operands import (
    INFER,
    Args,
    DtypeRule,
    Impossible,
    Operand,
    ShapeRule,
    Unsure,
    chosen,
    fixed,
    group,
    op,
    record,
    same,
    value_rule,
)
from hybridize.library.shapes import (
    axis_of,
    broadcast_all,
    broadcasting,
    concatenated,
    expanded,
    fits,
    like,
    matrix_product,
    permuted,
    product_of,
    reduced,
    reduction,
    replaced,
    reshaped,
    scalar,
    shaped,
    squeezed,
    stacked,
    sum_of,
    window,
)
from hybridize.library.spec import Spec

# Dtypes --------------------------------------------------------------------------------------------------------------


def _steady(o: Operand) -> str | None:
    """The dtype of an operand that no release changes."""
    return None if o.weak and o.dtype != "float32" else o.dtype


def floating(*names: str) -> DtypeRule:
    """The operands' dtype if it is one of floats and all agree."""

    def rule(a: Args) -> str | None:
        found = agreeing(*names)(a)
        return found if is_float(found) else None

    return rule


def agreeing(*names: str) -> DtypeRule:
    """The operands' dtype if all tensors have it; Python numbers go along with floats."""

    def rule(a: Args) -> str | None:
        operands = [a.tensor(n) for n in (names or (a.first,)) if a.given(n)]
        return agreement(operands)

    return rule


def agreement(operands: list[Operand]) -> str | None:
    """The dtype that operands have in common."""
    tensors = {_steady(o) for o in operands if o.python is None}
    scalars = [o for o in operands if o.python is not None]
    if len(tensors) != 1:
        return None
    (found,) = tensors
    return found if is_float(found) or not scalars else None


def own_float(a: Args) -> str | None:
    """The dtype that is asked for, else the default float."""
    return a.dtype("dtype", default=global_float(a.call))


# Shapes --------------------------------------------------------------------------------------------------------------


def _shifted_axis(name: str = "axis", default: int = -1) -> Callable[[Args], int]:
    return lambda a: a.integer(name, default=default) if a.given(name) else default


def _arg_extreme(default: int | None) -> ShapeRule:
    def rule(a: Args) -> Shape:
        shape = a.tensor("x").known
        keep = a.flag("keepdims")
        if not a.given("axis"):
            return reduced(shape, None if default is None else (default,), keep)
        return reduced(shape, (a.integer("axis"),), keep)

    return rule


def _concatenate(a: Args) -> Value:
    parts = a.tensors("tensors", "xs")
    axis = a.integer("axis", default=0 if a.name.startswith("keras.ops") else -1)
    return a.result(agreement(parts), concatenated([p.shape for p in parts], axis))


def _stack(a: Args) -> Value:
    parts = a.tensors("x")
    return a.result(agreement(parts), stacked([p.shape for p in parts], a.integer("axis", default=0)))


def _expand(a: Args) -> Shape:
    shape = a.tensor("x").known
    axes = a.integers("axis", default=(-1,))
    if axes is None or len(axes) != 1:
        raise Unsure
    return expanded(shape, axes[0])


def _squeeze(a: Args) -> Shape:
    return squeezed(a.tensor("x").known, a.integers("axis"))


def _transpose(a: Args) -> Shape:
    return permuted(a.tensor("x").known, a.integers("axes", "pattern"))


def _reshape(a: Args) -> Shape:
    return reshaped(a.tensor("x").shape, a.dims("shape", "newshape"))


def _flat(a: Args) -> Shape:
    return (product_of(a.tensor("x").known),)


def _batch_flat(a: Args) -> Shape:
    shape = a.tensor("x").known
    if a.tensor("x").kind == SYMBOLIC:
        return (shape[0], DYNAMIC)
    return (shape[0], product_of(shape[1:]))


def _batch_dot(a: Args) -> Shape:
    first, second = a.tensor("x").known, a.tensor("y").known
    axes = a.integers("axes") or (len(first) - 1, len(second) - 2 if len(second) > 2 else len(second) - 1)
    if len(axes) == 1:
        axes = (axes[0], axes[0])
    return batch_dot(first, second, axes)


def _dot(a: Args) -> Shape:
    """A product over the last axis of the first and the last but one of the second."""
    x, y = a.tensor("x", "x1").known, a.tensor("y", "x2").known
    if len(x) < 2 or len(y) < 2:
        raise Unsure
    return (*x[:-1], *y[:-2], y[-1])


def _gather(a: Args) -> Shape:
    x, indices = a.tensor("reference").known, a.tensor("indices").known
    return (*indices, *x[1:])


def _take(a: Args) -> Shape:
    x, indices = a.tensor("x").known, a.tensor("indices").known
    if not a.given("axis"):
        return indices
    return replaced(x, a.integer("axis"), *indices)


def _one_hot(a: Args) -> Shape:
    shape = a.tensor("indices", "x").known
    axis = a.integer("axis", default=-1)
    at = axis_of(len(shape) + 1, axis)
    try:
        classes: Dim = a.integer("num_classes")
    except Unsure:
        classes = UNRESOLVED
    return (*shape[:at], classes, *shape[at:])


def _tile(a: Args) -> Shape:
    shape = a.tensor("x").known
    times = a.integers("n", "repeats")
    if times is None:
        raise Impossible
    if len(times) > len(shape):
        shape = (1,) * (len(times) - len(shape)) + shape
    times = (1,) * (len(shape) - len(times)) + times
    return tuple(product_of((d, t)) for d, t in zip(shape, times, strict=True))


def _repeat_elements(a: Args) -> Shape:
    shape = a.tensor("x").known
    count = a.integer("rep", "repeats")
    if not a.given("axis"):
        return (product_of((*shape, count)),)
    at = axis_of(len(shape), a.integer("axis"))
    return replaced(shape, at, product_of((shape[at], count)))


def _repeat_rows(a: Args) -> Shape:
    shape = a.tensor("x").known
    if len(shape) != 2:
        raise Impossible
    return (shape[0], a.integer("n"), shape[1])


def _spatial(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    return shape[1:-1]


def _numbers(a: Args, name: str, rank: int, default: int) -> tuple[int, ...]:
    found = a.integers(name, default=(default,)) or (default,)
    return found * rank if len(found) == 1 else found


def _channels_last(a: Args) -> None:
    if a.given("data_format") and a.constant("data_format") != "channels_last":
        raise Unsure


def _convolution(a: Args) -> Shape:
    _channels_last(a)
    shape, kernel = a.tensor("x", "inputs").known, a.tensor("kernel").known
    rank = len(shape) - 2
    if len(kernel) != rank + 2 or rank < 1:
        raise Impossible
    padding = str(a.constant("padding", default="valid")).upper()
    if padding not in ("VALID", "SAME"):
        raise Unsure
    steps = zip(
        _spatial(shape),
        kernel,
        _numbers(a, "strides", rank, 1),
        _numbers(a, "dilation_rate", rank, 1),
        strict=False,
    )
    return (shape[0], *(window(s, k, t, d, padding) for s, k, t, d in steps), kernel[-1])


def _pool(a: Args) -> Shape:
    _channels_last(a)
    shape = a.tensor("x", "inputs").known
    rank = len(shape) - 2
    size = _numbers(a, "pool_size", rank, 2)
    strides = _numbers(a, "strides", rank, 1)
    if not a.given("strides") and a.name.startswith("keras.ops"):
        strides = size
    padding = str(a.constant("padding", default="valid")).upper()
    dims = [window(s, k, t, 1, padding) for s, k, t in zip(_spatial(shape), size, strides, strict=True)]
    return (shape[0], *dims, shape[-1])


def _matmul(a: Args) -> Shape:
    x, y = a.tensor("x1").known, a.tensor("x2").known
    if len(x) == 1 or len(y) == 1:
        if len(x) == len(y) == 1:
            return ()
        return (*y[:-2], y[-1]) if len(x) == 1 else x[:-1]
    return matrix_product(x, y)


def _outer(a: Args) -> Shape:
    return (product_of(a.tensor("x1").known), product_of(a.tensor("x2").known))


def _pad(a: Args) -> Shape:
    shape = a.tensor("x").known
    obj = a.object("pad_width")
    if obj is None:
        raise Impossible
    rows = [[_number(v) for v in a.items_of(next(iter(item)))] for item in a.items_of(obj) if len(item) == 1]
    if len(rows) != len(shape) or any(len(r) != 2 for r in rows):
        raise Unsure
    return tuple(sum_of((d, *r)) for d, r in zip(shape, rows, strict=True))


def _number(value: Value) -> int:
    const = getattr(next(iter(value), None), "const", None)
    if len(value) != 1 or not isinstance(const, int):
        raise Unsure
    return const


def _moments(a: Args) -> Value:
    x = a.tensor("x")
    made = a.result(x.dtype if is_float(x.dtype) else None, reduced(x.known, a.integers("axes"), a.flag("keepdims")))
    return tup([made, made]).value


def _split(a: Args) -> Value:
    x = a.tensor("x")
    count = a.integer("indices_or_sections")
    at = axis_of(x.rank, a.integer("axis", default=0))
    size = x.known[at]
    part = a.result(_steady(x), replaced(x.known, at, size // count if size >= 0 else size))
    made = a.call.new("list", "parts")
    for i in range(count if count <= 32 else 0):
        a.call.engine.write(a.call.frame, made.cell(i), part, a.call.pos)
    if count > 32:
        raise Unsure
    return made.value


def _top_k(a: Args) -> Value:
    x = a.tensor("x")
    shape = (*x.known[:-1], a.integer("k"))
    return record("TopKV2", ("values", "indices"), a.result(_steady(x), shape), a.result("int32", shape))


def _where(a: Args) -> Shape:
    if not a.given("x1"):
        raise Unsure
    return broadcast_all(a.tensor(n).shape for n in ("condition", "x1", "x2"))


def _swapaxes(a: Args) -> Shape:
    shape = list(a.tensor("x").known)
    i, j = axis_of(len(shape), a.integer("axis1")), axis_of(len(shape), a.integer("axis2"))
    shape[i], shape[j] = shape[j], shape[i]
    return tuple(shape)


def _moved(a: Args) -> Shape:
    shape = a.tensor("x").known
    source, target = a.integers("source"), a.integers("destination")
    if source is None or target is None or len(source) != 1 or len(target) != 1:
        raise Unsure
    order = [i for i in range(len(shape)) if i != axis_of(len(shape), source[0])]
    order.insert(axis_of(len(shape), target[0]), axis_of(len(shape), source[0]))
    return permuted(shape, order)


def _square(*names: str) -> ShapeRule:
    def rule(a: Args) -> Shape:
        first = a.integer(names[0])
        second = a.integer(names[1]) if len(names) > 1 and a.given(names[1]) else first
        return (first, second)

    return rule


def _glu(a: Args) -> Shape:
    shape = a.tensor("x").known
    at = axis_of(len(shape), a.integer("axis", default=-1))
    return replaced(shape, at, shape[at] // 2 if shape[at] >= 0 else shape[at])


def _attention(a: Args) -> Shape:
    return (*a.tensor("query").known[:-1], a.tensor("value").known[-1])


def _crossentropy(reduce: bool) -> ShapeRule:
    def rule(a: Args) -> Shape:
        shape = a.tensor("output").known
        if not reduce:
            return broadcast_all((shape, a.tensor("target").shape))
        return reduced(shape, (a.integer("axis", default=-1),), False)

    return rule


# Values --------------------------------------------------------------------------------------------------------------


def _backend_shape(a: Args) -> Value:
    """`keras.backend.shape` is a tensor; that of Keras 3 a tuple of dims."""
    x = a.tensor("x")
    rank = (DYNAMIC,) if x.shape is None else (len(x.shape),)
    return tensor(a.kind(), "int32", rank, x.shape).value


def _ops_shape(a: Args) -> Value:
    shape = a.tensor("x").known
    if any(d < 0 for d in shape):
        raise Unsure
    return shape_value(shape, "tuple")


def _variable(a: Args) -> Value:
    x = a.tensor("value")
    dtype = a.dtype("dtype", default=global_float(a.call))
    return tensor(VARIABLE, dtype, x.shape).value


def _made(a: Args) -> Value:
    """`keras.backend.zeros`: a variable, unless some dim is not known yet."""
    shape = a.dims("shape")
    dtype = own_float(a)
    if all(d >= 0 for d in shape):
        return tensor(VARIABLE, dtype, shape).value
    return frozenset((tensor(VARIABLE, dtype, shape), tensor(DENSE, dtype, shape)))


def _constant(a: Args) -> Value:
    x = a.tensor("value")
    shape = a.dims("shape") if a.given("shape") else x.shape
    return tensor(DENSE, a.dtype("dtype", default=global_float(a.call)), shape).value


def _rank(a: Args) -> Value:
    x = a.tensor("x")
    if x.kind == SYMBOLIC:
        raise Unsure  # Keras 3 gives a symbolic tensor
    return literal(x.rank).value


def _cast_float(a: Args) -> Value:
    obj = a.object("x")
    x = a.tensor("x")
    kind = NDARRAY if getattr(obj, "kind", "") == NDARRAY else a.kind()
    return tensor(kind, global_float(a.call), x.shape).value


def _like_dtype(a: Args) -> str | None:
    return a.dtype("dtype", default=_steady(a.tensor("x")))


_KEEPING: Final = op(floating(), like())
_SAME: Final = op(lambda a: _steady(a.tensor(a.first)), like())
_COMPARE: Final = op(fixed("bool"), broadcasting("x", "y", "x1", "x2"))
_BINARY: Final = op(agreeing("x", "y", "x1", "x2"), broadcasting("x", "y", "x1", "x2"))
_DIVIDE: Final = op(floating("x1", "x2"), broadcasting("x1", "x2"))
_REDUCE: Final = op(floating("x"), reduction("x"))
_TEST: Final = op(fixed("bool"), like())

_ACTIVATIONS: Final = """
    celu elu exponential gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear log_sigmoid log_softmax mish
    relu relu6 selu sigmoid swish soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus
    tanh tanh_shrink threshold silu
"""
_BACKEND: Final[dict[str, Spec]] = {
    **group("cos exp log sin sqrt sigmoid tanh softmax softplus softsign elu relu hard_sigmoid l2_normalize", _KEEPING),
    **group("abs sign square round stop_gradient clip cumsum cumprod dropout reverse pow", _KEEPING),
    **group("identity print_tensor", _SAME),
    **group("sum mean max min prod std var logsumexp", _REDUCE),
    **group("any all", op(fixed("bool"), reduction("x"))),
    **group("argmax argmin", op(fixed("int64"), _arg_extreme(-1))),
    **group("equal not_equal greater greater_equal less less_equal", _COMPARE),
    **group("maximum minimum", _BINARY),
    "concatenate": Spec(value_rule(_concatenate), op=True),
    "stack": Spec(value_rule(_stack), op=True),
    "expand_dims": op(same("x"), _expand),
    "squeeze": op(same("x"), _squeeze),
    "transpose": op(same("x"), lambda a: permuted(a.tensor("x").known, None)),
    "permute_dimensions": op(same("x"), _transpose),
    "reshape": op(same("x"), _reshape),
    "flatten": op(same("x"), _flat),
    "batch_flatten": op(same("x"), _batch_flat),
    "batch_dot": op(floating("x", "y"), _batch_dot),
    "dot": op(floating("x", "y"), _dot),
    "bias_add": op(floating("x"), like("x")),
    "cast": op(lambda a: a.dtype("dtype"), like("x")),
    "cast_to_floatx": Spec(value_rule(_cast_float), op=True),
    "gather": op(same("reference"), _gather),
    "one_hot": op(fixed("float32"), _one_hot),
    "tile": op(same("x"), _tile),
    "repeat": op(same("x"), _repeat_rows),
    "repeat_elements": op(same("x"), _repeat_elements),
    "eye": op(own_float, _square("size"), kind=VARIABLE),
    **group("zeros ones", Spec(value_rule(_made), op=True)),
    **group("zeros_like ones_like", op(_like_dtype, like("x"))),
    **group(
        "random_normal random_uniform truncated_normal random_bernoulli random_binomial", op(own_float, shaped("shape"))
    ),
    "variable": Spec(value_rule(_variable), effects=("create_variable",)),
    "constant": Spec(value_rule(_constant)),
    "shape": Spec(value_rule(_backend_shape), op=True),
    "ndim": Spec(value_rule(_rank, "unknown")),
    **group("conv1d conv2d conv3d", op(floating("x"), _convolution)),
    **group("pool2d pool3d", op(floating("x"), _pool)),
    "binary_crossentropy": op(floating("output"), _crossentropy(False)),
    "categorical_crossentropy": op(floating("output"), _crossentropy(True)),
    "sparse_categorical_crossentropy": op(floating("output"), _crossentropy(True)),
    "batch_normalization": op(floating("x"), like("x")),
    "epsilon": Spec(lambda call: prim("float").value),
}
_OPS_FLOAT: Final = """
    arccos arccosh arcsin arcsinh arctan arctanh cos cosh erf erfc erfinv exp exp2 expm1 log log10 log1p log2 rsqrt sin sinh
    sqrt tan tanh reciprocal floor ceil round celu elu gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu
    log_sigmoid log_softmax relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign squareplus tanh_shrink
    sparse_plus sparse_sigmoid sparsemax threshold nan_to_num deg2rad cbrt batch_normalization layer_normalization
    rms_normalization cholesky inv normalize hard_swish swish trunc
"""
_OPS: Final[dict[str, Spec]] = {
    **group(_OPS_FLOAT, _KEEPING),
    **group("abs absolute negative sign square copy stop_gradient flip roll sort tril triu conjugate", _SAME),
    **group("cumsum cumprod", op(_like_dtype, lambda a: a.tensor("x").known if a.given("axis") else _flat(a))),
    "clip": op(floating("x"), like("x")),
    **group("add subtract multiply maximum minimum power", _BINARY),
    **group("divide true_divide divide_no_nan arctan2 mod floor_divide logaddexp", _DIVIDE),
    **group("equal not_equal greater greater_equal less less_equal isclose", _COMPARE),
    **group("logical_and logical_or logical_xor", _COMPARE),
    **group("logical_not isnan isinf isfinite", _TEST),
    **group("sum mean max min prod std var amax amin logsumexp median", _REDUCE),
    **group("any all", op(fixed("bool"), reduction("x"))),
    "count_nonzero": op(fixed("int32"), reduction("x")),
    **group("argmax argmin", op(fixed("int32"), _arg_extreme(None))),
    "argsort": op(fixed("int32"), lambda a: a.tensor("x").known),
    "concatenate": Spec(value_rule(_concatenate), op=True),
    "stack": Spec(value_rule(_stack), op=True),
    "split": Spec(value_rule(_split), op=True),
    "expand_dims": op(_like_dtype, _expand),
    "squeeze": op(_like_dtype, _squeeze),
    "transpose": op(_like_dtype, _transpose),
    "reshape": op(_like_dtype, _reshape),
    "ravel": op(_like_dtype, _flat),
    "swapaxes": op(_like_dtype, _swapaxes),
    "moveaxis": op(_like_dtype, _moved),
    "repeat": op(_like_dtype, _repeat_elements),
    "tile": op(_like_dtype, _tile),
    "pad": op(_like_dtype, _pad),
    "broadcast_to": op(_like_dtype, shaped("shape")),
    "matmul": op(floating("x1", "x2"), _matmul),
    "dot": op(floating("x1", "x2"), _dot),
    "outer": op(floating("x1", "x2"), _outer),
    "take": op(_like_dtype, _take),
    "take_along_axis": op(_like_dtype, lambda a: a.tensor("indices").known if a.given("axis") else _no_shape()),
    "one_hot": op(own_float, _one_hot),
    "cast": op(lambda a: a.dtype("dtype"), like("x")),
    "saturate_cast": op(lambda a: a.dtype("dtype"), like("x")),
    **group("convert_to_tensor array", op(_like_dtype, like("x"))),
    "convert_to_numpy": Spec(value_rule(lambda a: _as_array(a)), effects=("eager_only",)),
    **group(
        "zeros ones empty", Spec(value_rule(lambda a: tensor(DENSE, own_float(a), a.dims("shape")).value), op=True)
    ),
    **group("zeros_like ones_like full_like", op(_like_dtype, like("x"))),
    "full": op(chosen(None), shaped("shape")),
    "eye": op(own_float, _square("N", "M")),
    "identity": op(own_float, _square("n")),
    "where": op(agreeing("x1", "x2"), _where),
    "moments": Spec(value_rule(_moments), op=True),
    "top_k": Spec(value_rule(_top_k), op=True),
    "shape": Spec(value_rule(_ops_shape, "unknown")),
    "ndim": Spec(value_rule(_rank, "unknown")),
    "conv": op(floating("inputs"), _convolution),
    **group("max_pool average_pool", op(floating("inputs"), _pool)),
    "dot_product_attention": op(floating("query"), _attention),
    "glu": op(floating("x"), _glu),
    "binary_crossentropy": op(floating("output"), _crossentropy(False)),
    **group("categorical_crossentropy sparse_categorical_crossentropy", op(floating("output"), _crossentropy(True))),
    "size": op(fixed(None), scalar),
    "det": op(floating("x"), lambda a: a.tensor("x").known[:-2]),
    "in_top_k": op(fixed("bool"), like("targets")),
}


def _no_shape() -> Shape:
    raise Unsure


def _as_array(a: Args) -> Value:
    x = a.tensor("x")
    return tensor(NDARRAY, x.dtype, x.shape).value


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_ACTIVATIONS, _KEEPING, "keras.activations."),
    "keras.activations.glu": op(floating("x"), _glu),
    **{f"keras.backend.{name}": spec for name, spec in _BACKEND.items()},
    **{f"keras.ops.{name}": spec for name, spec in _OPS.items()},
    "keras.random.normal": op(own_float, shaped("shape")),
    "keras.random.truncated_normal": op(own_float, shaped("shape")),
    "keras.random.uniform": op(own_float, shaped("shape")),
    "keras.random.randint": op(lambda a: a.dtype("dtype", default="int32"), shaped("shape")),
    "keras.random.dropout": op(floating("inputs"), like("inputs")),
    "keras.random.shuffle": op(same("x"), like("x")),
}

_UNUSED = (INFER, NONE_V, fits, _shifted_axis)
