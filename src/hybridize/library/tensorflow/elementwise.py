"""Operations that work element by element: unary, broadcasting, comparing, casting."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value, tensor
from hybridize.domain.tensors import RAGGED, SPARSE, VARIABLE, Shape
from hybridize.library.operands import (
    Args,
    DtypeRule,
    Operand,
    Unsure,
    agreed,
    chosen,
    common,
    fixed,
    group,
    op,
    real_of,
    record,
    same,
    value_rule,
)
from hybridize.library.shapes import broadcast_all, broadcasting, like, merge
from hybridize.library.spec import Spec, parametrized

_UNARY: Final = """
    tf.math.negative tf.math.sign tf.math.square tf.math.sqrt tf.math.rsqrt tf.math.exp tf.math.expm1 tf.math.log
    tf.math.log1p tf.math.log_sigmoid tf.math.sigmoid tf.math.sin tf.math.cos tf.math.tan tf.math.asin tf.math.acos
    tf.math.atan tf.math.sinh tf.math.cosh tf.math.tanh tf.math.asinh tf.math.acosh tf.math.atanh tf.math.ceil
    tf.math.floor tf.math.rint tf.math.round tf.math.reciprocal tf.math.reciprocal_no_nan tf.math.erf tf.math.erfc
    tf.math.erfinv tf.math.erfcinv tf.math.ndtri tf.math.lgamma tf.math.digamma tf.math.conj tf.math.bessel_i0
    tf.math.bessel_i0e tf.math.bessel_i1 tf.math.bessel_i1e tf.math.softplus tf.math.l2_normalize tf.math.cumsum
    tf.math.cumprod tf.math.cumulative_logsumexp tf.math.invert_permutation
    tf.math.special.bessel_j0 tf.math.special.bessel_j1 tf.math.special.bessel_k0 tf.math.special.bessel_k0e
    tf.math.special.bessel_k1 tf.math.special.bessel_k1e tf.math.special.bessel_y0 tf.math.special.bessel_y1
    tf.math.special.dawsn tf.math.special.expint tf.math.special.fresnel_cos tf.math.special.fresnel_sin
    tf.math.special.spence tf.bitwise.invert
    tf.nn.relu tf.nn.relu6 tf.nn.elu tf.nn.selu tf.nn.gelu tf.nn.silu tf.nn.leaky_relu tf.nn.softsign tf.nn.softmax
    tf.nn.log_softmax tf.nn.dropout tf.nn.experimental.stateless_dropout tf.nn.experimental.general_dropout
    tf.nn.local_response_normalization tf.nn.bias_add
    tf.identity tf.stop_gradient tf.guarantee_const tf.clip_by_norm tf.debugging.assert_all_finite
    tf.debugging.check_numerics tf.random.shuffle tf.random.experimental.stateless_shuffle tf.reverse tf.roll
    tf.reverse_sequence tf.sort tf.linalg.band_part tf.linalg.cholesky tf.linalg.inv tf.linalg.expm tf.linalg.logm
    tf.linalg.sqrtm tf.linalg.set_diag tf.tensor_scatter_nd_add tf.tensor_scatter_nd_max tf.tensor_scatter_nd_min
    tf.tensor_scatter_nd_sub tf.tensor_scatter_nd_update
    tf.quantization.fake_quant_with_min_max_args tf.quantization.fake_quant_with_min_max_vars
    tf.quantization.fake_quant_with_min_max_vars_per_channel tf.quantization.quantize_and_dequantize
    tf.quantization.quantize_and_dequantize_v2 tf.quantization.fake_quant_with_min_max_args_gradient
    tf.signal.fftshift tf.signal.ifftshift
"""
_BINARY: Final = """
    tf.math.add tf.math.subtract tf.math.multiply tf.math.maximum tf.math.minimum tf.math.pow tf.math.floordiv
    tf.math.floormod tf.math.squared_difference tf.math.divide_no_nan tf.math.multiply_no_nan tf.math.xlogy
    tf.math.xdivy tf.math.xlog1py tf.truncatediv tf.truncatemod tf.realdiv tf.bitwise.bitwise_and
    tf.bitwise.bitwise_or tf.bitwise.bitwise_xor tf.bitwise.left_shift tf.bitwise.right_shift
"""
_COMPARE: Final = """
    tf.math.equal tf.math.not_equal tf.math.less tf.math.less_equal tf.math.greater tf.math.greater_equal
    tf.math.logical_and tf.math.logical_or tf.math.logical_xor
"""


@parametrized
def quotient(a: Args, rule: DtypeRule) -> str | None:
    """The dtype of a true division."""
    found = rule(a)
    if found is None or not found.startswith(("int", "uint")):
        return found
    return "float32" if found in ("int8", "uint8", "int16", "uint16") else "float64"


def _complex(a: Args) -> str | None:
    return {"float32": "complex64", "float64": "complex128"}.get(common([a.tensor("real"), a.tensor("imag")]) or "")


def _cast(a: Args) -> Value:
    x = a.tensor(a.first)
    dtype = a.dtype("dtype")
    if x.kind == VARIABLE and dtype == x.dtype:
        return a.value(a.first)  # nothing to cast: the variable itself
    if x.kind in (RAGGED, SPARSE):
        return tensor(x.kind, dtype, x.shape).value
    content = x.content if dtype and dtype.startswith(("int", "uint")) and not x.python else None
    return a.result(dtype, x.shape, content)


def _identity(a: Args) -> Value:
    x = a.tensor("input")
    if x.kind in (RAGGED, SPARSE):
        return tensor(x.kind, x.dtype, x.shape).value
    return a.result(x.dtype, x.shape, None if x.python else x.content)


def _ensured(a: Args) -> Shape:
    dims = a.dims("shape")
    shape = a.tensor("x").shape
    return dims if shape is None else merge(shape, dims)


_SIZES: Final = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def _bitcast(a: Args) -> Shape:
    x, target = a.tensor("input"), a.dtype("type")
    old, new = _SIZES.get(x.dtype or ""), _SIZES.get(target or "")
    if old is None or new is None:
        raise Unsure
    if old == new:
        return x.shape
    return (*x.known, old // new) if old > new else x.known[:-1]


def _added(a: Args) -> Shape:
    shape: Shape = None
    for t in _addends(a):
        shape = merge(shape, t.shape)
    return shape


def _addends(a: Args) -> list[Operand]:
    """What is added up, or what all of a list of unknown length have in common."""
    try:
        return a.tensors("inputs")
    except Unsure:
        return [a.every("inputs")]


def _isotonic(a: Args) -> Value:
    x = a.tensor("inputs")
    return record("tuple", (), a.result(x.dtype, x.shape), a.result("int32", x.shape))


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_UNARY, op(same(), like(), ragged=True)),
    **group("tf.math.abs tf.math.real tf.math.imag tf.math.angle", op(real_of(same()), like(), ragged=True)),
    **group("tf.math.is_finite tf.math.is_inf tf.math.is_nan", op(fixed("bool"), like(), ragged=True)),
    **group("tf.math.logical_not", op(fixed("bool"), like(), ragged=True)),
    **group(_BINARY, op(agreed("x", "y"), broadcasting("x", "y"), ragged=True)),
    **group(_COMPARE, op(fixed("bool"), broadcasting("x", "y"), ragged=True)),
    **group("tf.math.divide tf.math.truediv", op(quotient(agreed("x", "y")), broadcasting("x", "y"), ragged=True)),
    "tf.math.atan2": op(agreed("y", "x"), broadcasting("y", "x"), ragged=True),
    "tf.math.nextafter": op(agreed("x1", "x2"), broadcasting("x1", "x2")),
    **group("tf.math.igamma tf.math.igammac", op(agreed("a", "x"), broadcasting("a", "x"))),
    "tf.math.polygamma": op(agreed("a", "x"), broadcasting("a", "x")),
    "tf.math.zeta": op(agreed("x", "q"), broadcasting("x", "q")),
    "tf.math.betainc": op(agreed("a", "b", "x"), broadcasting("a", "b", "x")),
    "tf.math.scalar_mul": op(same("x"), like("x")),
    "tf.math.polyval": op(same("x"), lambda a: broadcast_all(o.shape for o in (a.tensor("x"), *a.tensors("coeffs")))),
    **group("tf.math.add_n tf.math.accumulate_n", op(lambda a: common(_addends(a)), _added)),
    "tf.clip_by_value": op(same("t"), like("t"), ragged=True),
    "tf.dtypes.complex": op(_complex, broadcasting("real", "imag")),
    "tf.cast": Spec(value_rule(_cast), op=True),
    "tf.dtypes.saturate_cast": op(chosen(None), like("value"), ragged=True),
    "tf.identity": Spec(value_rule(_identity), op=True),
    "tf.ensure_shape": op(same("x"), _ensured),
    "tf.nn.isotonic_regression": Spec(value_rule(_isotonic, "unknown"), op=True),
    "tf.raw_ops.Bucketize": op(fixed("int32"), like("input")),
    "tf.bitcast": op(lambda a: a.dtype("type"), _bitcast),
}
