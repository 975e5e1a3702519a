"""Functions on tensors: `keras.activations`, `keras.backend` and `keras.ops`.

The two releases promote integers, Python values and arrays differently; the dtype is given where all agree.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value, literal, prim, tensor, tup
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, SYMBOLIC, VARIABLE, blurred
from hybridize.library.convert import shape_value
from hybridize.library.keras.function_shapes import (
    arg_extreme_shape,
    attention_shape,
    batch_dot_shape,
    batch_flat_shape,
    convolution_shape,
    crossentropy_shape,
    dot_shape,
    expand_shape,
    flat_shape,
    gather_shape,
    glu_shape,
    matmul_shape,
    moved_shape,
    no_shape,
    one_hot_shape,
    outer_shape,
    pad_shape,
    pool_shape,
    repeat_elements_shape,
    repeat_rows_shape,
    reshape_shape,
    square_shape,
    squeeze_shape,
    swapaxes_shape,
    take_shape,
    tile_shape,
    transpose_shape,
    where_shape,
)
from hybridize.library.keras.settings import float_of_inputs, is_float
from hybridize.library.numpy.shaping import arange
from hybridize.library.operands import Args, Operand, Unsure, chosen, fixed, group, op, record, same, value_rule
from hybridize.library.shapes import (
    axis_of,
    broadcasting,
    concatenated,
    like,
    permuted,
    reduced,
    reduction,
    replaced,
    scalar,
    shaped,
    stacked,
)
from hybridize.library.spec import Spec, parametrized
from hybridize.library.tensorflow.linalg import einsum_of, einsum_operands


def _steady(o: Operand) -> str | None:
    """The dtype of an operand that no release changes."""
    return None if o.weak and o.dtype != "float32" else o.dtype


@parametrized
def floating(a: Args, *names: str) -> str | None:
    """The operands' dtype if it is one of floats and all agree."""
    found = agreeing(*names)(a)
    return found if is_float(found) else None


@parametrized
def agreeing(a: Args, *names: str) -> str | None:
    """The operands' dtype if all tensors have it; Python numbers go along with floats."""
    operands = [a.tensor(n) for n in (names or (a.first,)) if a.given(n)]
    return agreement(operands)


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
    return a.dtype("dtype", default=float_of_inputs(a.call))


def _concatenate(a: Args) -> Value:
    parts = a.tensors("tensors", "xs")
    axis = a.integer("axis", default=0 if a.name.startswith("keras.ops") else -1)
    return a.result(agreement(parts), concatenated([p.shape for p in parts], axis))


def _stack(a: Args) -> Value:
    parts = a.tensors("x")
    return a.result(agreement(parts), stacked([p.shape for p in parts], a.integer("axis", default=0)))


def _moments(a: Args) -> Value:
    x = a.tensor("x")
    made = a.result(x.dtype if is_float(x.dtype) else None, reduced(x.known, a.integers("axes"), a.flag("keepdims")))
    return tup([made, made]).value


def _split(a: Args) -> Value:
    x = a.tensor("x")
    count = a.integer("indices_or_sections")
    at = axis_of(x.rank, a.integer("axis", default=0))
    size = x.known[at]
    part = a.result(_steady(x), replaced(x.known, at, size // count if size >= 0 else blurred(size)))
    if count > 32:
        raise Unsure
    return a.call.listed([part] * count, "parts")


def _top_k(a: Args) -> Value:
    x = a.tensor("x")
    shape = (*x.known[:-1], a.integer("k"))
    return record("TopKV2", ("values", "indices"), a.result(_steady(x), shape), a.result("int32", shape))


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
    dtype = a.dtype("dtype", default=float_of_inputs(a.call))
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
    return tensor(DENSE, a.dtype("dtype", default=float_of_inputs(a.call)), shape).value


def _rank(a: Args) -> Value:
    x = a.tensor("x")
    if x.kind == SYMBOLIC:
        raise Unsure  # Keras 3 gives a symbolic tensor
    return literal(x.rank).value


def _cast_float(a: Args) -> Value:
    obj = a.object("x")
    x = a.tensor("x")
    kind = NDARRAY if getattr(obj, "kind", "") == NDARRAY else a.kind()
    return tensor(kind, float_of_inputs(a.call), x.shape).value


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
    celu elu exponential gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear log_sigmoid log_softmax
    mish relu relu6 selu sigmoid swish soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid sparsemax
    squareplus tanh tanh_shrink threshold silu
"""

_BACKEND: Final[dict[str, Spec]] = {
    **group("cos exp log sin sqrt sigmoid tanh softmax softplus softsign elu relu hard_sigmoid l2_normalize", _KEEPING),
    **group("abs sign square round stop_gradient clip cumsum cumprod dropout reverse pow", _KEEPING),
    **group("identity print_tensor", _SAME),
    **group("sum mean max min prod std var logsumexp", _REDUCE),
    **group("any all", op(fixed("bool"), reduction("x"))),
    **group("argmax argmin", op(fixed("int64"), arg_extreme_shape(-1))),
    **group("equal not_equal greater greater_equal less less_equal", _COMPARE),
    **group("maximum minimum", _BINARY),
    "concatenate": Spec(value_rule(_concatenate), op=True),
    "stack": Spec(value_rule(_stack), op=True),
    "expand_dims": op(same("x"), expand_shape),
    "squeeze": op(same("x"), squeeze_shape),
    "transpose": op(same("x"), lambda a: permuted(a.tensor("x").known, None)),
    "permute_dimensions": op(same("x"), transpose_shape),
    "reshape": op(same("x"), reshape_shape),
    "flatten": op(same("x"), flat_shape),
    "batch_flatten": op(same("x"), batch_flat_shape),
    "batch_dot": op(floating("x", "y"), batch_dot_shape),
    "dot": op(floating("x", "y"), dot_shape),
    "bias_add": op(floating("x"), like("x")),
    "cast": op(lambda a: a.dtype("dtype"), like("x")),
    "cast_to_floatx": Spec(value_rule(_cast_float), op=True),
    "gather": op(same("reference"), gather_shape),
    "one_hot": op(fixed("float32"), one_hot_shape),
    "tile": op(same("x"), tile_shape),
    "repeat": op(same("x"), repeat_rows_shape),
    "repeat_elements": op(same("x"), repeat_elements_shape),
    "eye": op(own_float, square_shape("size"), kind=VARIABLE),
    **group("zeros ones", Spec(value_rule(_made), op=True)),
    **group("zeros_like ones_like", op(_like_dtype, like("x"))),
    **group(
        "random_normal random_uniform truncated_normal random_bernoulli random_binomial", op(own_float, shaped("shape"))
    ),
    "variable": Spec(value_rule(_variable), effects=("create_variable",)),
    "constant": Spec(value_rule(_constant)),
    "shape": Spec(value_rule(_backend_shape), op=True),
    "ndim": Spec(value_rule(_rank, "unknown")),
    **group("conv1d conv2d conv3d", op(floating("x"), convolution_shape)),
    **group("pool2d pool3d", op(floating("x"), pool_shape)),
    "binary_crossentropy": op(floating("output"), crossentropy_shape(False)),
    "categorical_crossentropy": op(floating("output"), crossentropy_shape(True)),
    "sparse_categorical_crossentropy": op(floating("output"), crossentropy_shape(True)),
    "batch_normalization": op(floating("x"), like("x")),
    "epsilon": Spec(lambda call: prim("float").value),
}


def _einsum_dtype(a: Args) -> str | None:
    dtypes = {o.dtype for o in einsum_operands(a)}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    return dtype if is_float(dtype) else None


def _arange_dtype(a: Args) -> str | None:
    """Integers stay such, though `arange` knows what it is asked for only by position."""
    if a.given("dtype"):
        return a.dtype("dtype")
    kinds = {a.operand(v).python for v in a.call.args[:3]}
    return "int32" if kinds == {"int"} and "step" not in a.call.kwargs else None


_OPS_FLOAT: Final = """
    arccos arccosh arcsin arcsinh arctan arctanh cos cosh erf erfc erfinv exp exp2 expm1 log log10 log1p log2 rsqrt sin
    sinh sqrt tan tanh reciprocal floor ceil round celu elu gelu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu
    log_sigmoid log_softmax relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign squareplus
    tanh_shrink sparse_plus sparse_sigmoid sparsemax threshold nan_to_num deg2rad cbrt batch_normalization
    layer_normalization rms_normalization cholesky inv normalize hard_swish swish trunc
"""

_OPS: Final[dict[str, Spec]] = {
    **group(_OPS_FLOAT, _KEEPING),
    **group(
        "abs absolute negative sign square fliplr flipud copy stop_gradient flip roll sort tril triu conjugate", _SAME
    ),
    **group("cumsum cumprod", op(_like_dtype, lambda a: a.tensor("x").known if a.given("axis") else flat_shape(a))),
    "clip": op(floating("x"), like("x")),
    **group("add subtract multiply maximum minimum power", _BINARY),
    **group("divide true_divide divide_no_nan arctan2 mod floor_divide logaddexp fmax fmin hypot", _DIVIDE),
    **group("equal not_equal greater greater_equal less less_equal isclose", _COMPARE),
    **group("logical_and logical_or logical_xor", _COMPARE),
    **group("logical_not isnan isinf isfinite isneginf isposinf signbit", _TEST),
    **group("nansum nanmean nanmax nanmin nanprod nanstd nanvar", _REDUCE),
    **group("fabs rad2deg sinc i0", _KEEPING),
    **group("bitwise_and bitwise_or bitwise_xor", _BINARY),
    "bitwise_not": _SAME,
    "bitwise_invert": _SAME,
    **group("sum mean max min prod std var amax amin logsumexp median", _REDUCE),
    **group("any all", op(fixed("bool"), reduction("x"))),
    "count_nonzero": op(fixed("int32"), reduction("x")),
    **group("argmax argmin", op(fixed("int32"), arg_extreme_shape(None))),
    "argsort": op(fixed("int32"), lambda a: a.tensor("x").known),
    "concatenate": Spec(value_rule(_concatenate), op=True),
    "stack": Spec(value_rule(_stack), op=True),
    "split": Spec(value_rule(_split), op=True),
    "expand_dims": op(_like_dtype, expand_shape),
    "squeeze": op(_like_dtype, squeeze_shape),
    "transpose": op(_like_dtype, transpose_shape),
    "reshape": op(_like_dtype, reshape_shape),
    "ravel": op(_like_dtype, flat_shape),
    "swapaxes": op(_like_dtype, swapaxes_shape),
    "moveaxis": op(_like_dtype, moved_shape),
    "repeat": op(_like_dtype, repeat_elements_shape),
    "tile": op(_like_dtype, tile_shape),
    "pad": op(_like_dtype, pad_shape),
    "broadcast_to": op(_like_dtype, shaped("shape")),
    "matmul": op(floating("x1", "x2"), matmul_shape),
    "dot": op(floating("x1", "x2"), dot_shape),
    "outer": op(floating("x1", "x2"), outer_shape),
    "einsum": op(_einsum_dtype, einsum_of),
    "arange": op(_arange_dtype, arange),
    "take": op(_like_dtype, take_shape),
    "take_along_axis": op(_like_dtype, lambda a: a.tensor("indices").known if a.given("axis") else no_shape()),
    "one_hot": op(own_float, one_hot_shape),
    "cast": op(lambda a: a.dtype("dtype"), like("x")),
    "saturate_cast": op(lambda a: a.dtype("dtype"), like("x")),
    **group("convert_to_tensor array", op(_like_dtype, like("x"))),
    "convert_to_numpy": Spec(value_rule(lambda a: _as_array(a)), effects=("eager_only",)),
    **group(
        "zeros ones empty", Spec(value_rule(lambda a: tensor(DENSE, own_float(a), a.dims("shape")).value), op=True)
    ),
    **group("zeros_like ones_like full_like", op(_like_dtype, like("x"))),
    "full": op(chosen(None), shaped("shape")),
    "eye": op(own_float, square_shape("N", "M")),
    "identity": op(own_float, square_shape("n")),
    "where": op(agreeing("x1", "x2"), where_shape),
    "moments": Spec(value_rule(_moments), op=True),
    "top_k": Spec(value_rule(_top_k), op=True),
    "shape": Spec(value_rule(_ops_shape, "unknown")),
    "ndim": Spec(value_rule(_rank, "unknown")),
    "conv": op(floating("inputs"), convolution_shape),
    **group("max_pool average_pool", op(floating("inputs"), pool_shape)),
    "dot_product_attention": op(floating("query"), attention_shape),
    "glu": op(floating("x"), glu_shape),
    "binary_crossentropy": op(floating("output"), crossentropy_shape(False)),
    **group(
        "categorical_crossentropy sparse_categorical_crossentropy", op(floating("output"), crossentropy_shape(True))
    ),
    "size": op(fixed(None), scalar),
    "det": op(floating("x"), lambda a: a.tensor("x").known[:-2]),
    "in_top_k": op(fixed("bool"), like("targets")),
}


def _as_array(a: Args) -> Value:
    x = a.tensor("x")
    return tensor(NDARRAY, x.dtype, x.shape).value


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_ACTIVATIONS, _KEEPING, "keras.activations."),
    "keras.activations.glu": op(floating("x"), glu_shape),
    **{f"keras.backend.{name}": spec for name, spec in _BACKEND.items()},
    **{f"keras.ops.{name}": spec for name, spec in _OPS.items()},
    "keras.random.normal": op(own_float, shaped("shape")),
    "keras.random.truncated_normal": op(own_float, shaped("shape")),
    "keras.random.uniform": op(own_float, shaped("shape")),
    "keras.random.randint": op(lambda a: a.dtype("dtype", default="int32"), shaped("shape")),
    "keras.random.dropout": op(floating("inputs"), like("inputs")),
    "keras.random.shuffle": op(same("x"), like("x")),
}
