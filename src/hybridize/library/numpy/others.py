"""NumPy functions that TensorFlow has no copy of: sets, statistics, matrices, transforms, files, writers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.objects import BOOL_V, NONE_V, STR_V, Tensor, Value, tensor, tup, unknown
from hybridize.domain.tensors import DYNAMIC, NDARRAY, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.convert import shape_value
from hybridize.library.numpy import joining, shaping
from hybridize.library.numpy.analysis import array, inexact, other
from hybridize.library.numpy.core import on_host
from hybridize.library.numpy.promotion import both, combined, divided, floating, of, real, summed
from hybridize.library.operands import Args, Unsure, fixed, tensor_rule
from hybridize.library.shapes import axis_of, broadcast_all, product_of, reduced, replaced, swapped, unsized
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, nothing, parametrized

_SCALAR_TYPES: Final = """
    float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128
"""


def _unique(a: Args) -> Value:
    x = a.nth(0)
    if a.given("axis"):
        raise Unsure
    flags = [n for n in ("return_index", "return_inverse", "return_counts") if a.flag(n)]
    first = a.result(x.dtype, (DYNAMIC,))
    if not flags:
        return first
    if "return_inverse" in flags and x.shape is not None and len(x.shape) != 1:
        raise Unsure  # NumPy 2 keeps the shape
    sizes = {"return_inverse": (product_of(x.known),)}
    return tup([first, *(a.result("int64", sizes.get(n, (DYNAMIC,))) for n in flags)]).value


def _histogram(a: Args) -> Value:
    try:
        bins = a.integer("bins", default=10) if a.given("bins") else 10
        sizes = (bins, bins + 1)
    except Unsure:
        edges = a.tensor("bins")
        if edges.shape is None or len(edges.shape) != 1:
            raise
        sizes = (edges.shape[0] - 1, edges.shape[0]) if edges.shape[0] > 0 else (UNRESOLVED, UNRESOLVED)
        return tup([a.result(None, sizes[:1]), a.result(None, sizes[1:])]).value
    dtype = None if a.given("weights") or a.given("density") else "int64"
    ends = "float64" if a.nth(0).dtype in ("float64", "int32", "int64") else None
    return tup([a.result(dtype, sizes[:1]), a.result(ends, sizes[1:])]).value


def _quantile(a: Args) -> Shape:
    q = a.nth(1).known
    keep = a.flag("keepdims") if a.given("keepdims") else False
    return (*q, *reduced(a.nth(0).known, a.integers("axis"), keep))


def _float64(a: Args) -> str | None:
    return "float64" if a.nth(0).dtype in ("float64", "int32", "int64", "bool") else None


def _bincount(a: Args) -> str | None:
    return "float64" if a.given("weights") else "int64"


def _solve(a: Args) -> Shape:
    left, right = a.nth(0).known, a.nth(1).known
    if len(left) != 2:
        raise Unsure
    return (left[1], *right[1:])


def _eigh(a: Args) -> Value:
    x = a.nth(0)
    dtype = inexact(a)
    return tup([a.result(real(dtype), x.known[:-1]), a.result(dtype, x.known)], "EighResult").value


def _svd(a: Args) -> Value:
    *batch, m, n = a.nth(0).known
    dtype = inexact(a)
    small = min(m, n) if min(m, n) >= 0 else unsized(m, n)
    s = a.result(real(dtype), (*batch, small))
    if not a.flag("compute_uv", default=True):
        return s
    full = a.flag("full_matrices", default=True)
    u, v = (*batch, m, m if full else small), (*batch, n if full else small, n)
    return tup([a.result(dtype, u), s, a.result(dtype, v)], "SVDResult").value


def _qr(a: Args) -> Value:
    *batch, m, n = a.nth(0).known
    if a.given("mode"):
        raise Unsure
    dtype = inexact(a)
    small = min(m, n) if min(m, n) >= 0 else unsized(m, n)
    return tup([a.result(dtype, (*batch, m, small)), a.result(dtype, (*batch, small, n))], "QRResult").value


def _convolved(a: Args) -> Shape:
    x, y = a.nth(0).known[0], a.nth(1).known[0]
    mode = a.constant("mode", default=None) if a.given("mode") else None
    default = "full" if a.name == "np.convolve" else "valid"
    if min(x, y) < 0:
        return (unsized(x, y),)
    return ({"full": x + y - 1, "same": max(x, y), "valid": max(x, y) - min(x, y) + 1}[mode or default],)


def _indices(a: Args) -> Value:
    rank = 2
    return tup([a.result("int64", (DYNAMIC,))] * rank).value


def _unraveled(a: Args) -> Value:
    """An array of the shape of the indices for each dim of what they point into."""
    return tup([a.result("int64", a.nth(0).shape)] * len(a.dims("shape"))).value


def _gradient(a: Args) -> Value:
    x = a.nth(0)
    dtype = x.dtype if x.dtype in ("float32", "float64") else divided(x.dtype)
    if x.rank == 1 or a.given("axis"):
        return a.result(dtype, x.known)
    raise Unsure


@parametrized
def _writing(call: Call, index: int, rule: Rule | None = None) -> Value:
    """A function that changes one of its arguments."""
    for obj in call.arg(index):
        if isinstance(obj, Tensor):
            call.effect("mutate", call.name, obj)
    return rule(call) if rule is not None else NONE_V


def _broadcast_shapes(a: Args) -> Value:
    shapes = [a.dims_of(next(iter(v))) for v in a.call.args]
    return shape_value(broadcast_all(shapes), "tuple")


def _scalar_type(name: str) -> Spec:
    return Spec(on_host(tensor_rule(fixed(name), lambda a: a.operand(a.call.args[0]).shape if a.call.args else ())))


_TEXT: Final = "array2string array_str array_repr base_repr binary_repr format_float_positional format_float_scientific"
_QUESTIONS: Final = "can_cast issubdtype may_share_memory shares_memory array_equiv iterable isfortran"
_SETS: Final = "union1d intersect1d setdiff1d setxor1d"
_FILES: Final = "load loadtxt genfromtxt fromfile memmap"


@parametrized
def _bits(a: Args, packed: Callable[[Dim], Dim]) -> Shape:
    """`packbits` and `unpackbits`: eight times fewer or more elements, of all or along an axis."""
    shape = a.tensor(a.first).known
    if a.given("count"):
        raise Unsure
    if not a.given("axis"):
        return (packed(product_of(shape)),)
    at = axis_of(len(shape), a.integer("axis"))
    return replaced(shape, at, packed(shape[at]))


FUNCTIONS: Final[dict[str, Spec]] = {
    "np.packbits": Spec(tensor_rule(fixed("uint8"), _bits(lambda d: -(-d // 8) if d >= 0 else blurred(d)))),
    "np.unpackbits": Spec(tensor_rule(fixed("uint8"), _bits(lambda d: d * 8 if d >= 0 else blurred(d)))),
    **{f"np.{name}": _scalar_type(name) for name in _SCALAR_TYPES.split()},
    "np.bool_": _scalar_type("bool"),
    **{f"np.{n}": Spec(on_host(lambda call: BOOL_V)) for n in _QUESTIONS.split()},
    **{f"np.{n}": Spec(on_host(lambda call: STR_V)) for n in _TEXT.split()},
    **{f"np.{n}": array(both, shaping.unknown_size) for n in _SETS.split()},
    "np.unique": other(_unique),
    "np.argwhere": array(fixed("int64"), lambda a: (DYNAMIC, a.nth(0).rank)),
    "np.flatnonzero": array(fixed("int64"), shaping.unknown_size),
    "np.searchsorted": array(fixed("int64"), shaping.nth(1)),
    "np.digitize": array(fixed("int64"), shaping.nth(0)),
    "np.bincount": array(_bincount, shaping.unknown_size),
    "np.histogram": other(_histogram),
    **{f"np.{n}": array(fixed("bool"), shaping.nth(0)) for n in ("isin", "in1d", "isnat")},
    "np.median": array(of(divided), shaping.reduction),
    "np.nanmedian": array(of(divided), shaping.reduction),
    **{f"np.{n}": array(_float64, _quantile) for n in ("percentile", "quantile", "nanpercentile", "nanquantile")},
    **{f"np.{n}": array(of(lambda d: real(divided(d))), shaping.reduction) for n in ("nanstd", "nanvar")},
    **{f"np.{n}": array(of(lambda d: d), shaping.reduction) for n in ("nanmax", "nanmin")},
    **{f"np.{n}": array(fixed("int64"), shaping.reduction) for n in ("nanargmax", "nanargmin")},
    **{f"np.{n}": array(of(summed), shaping.accumulated) for n in ("nancumsum", "nancumprod")},
    "np.nan_to_num": array(of(lambda d: d), shaping.nth(0)),
    "np.radians": array(of(floating), shaping.nth(0)),
    "np.degrees": array(of(floating), shaping.nth(0)),
    "np.invert": array(of(lambda d: d), shaping.nth(0)),
    "np.copysign": array(lambda a: floating(both(a)), shaping.broadcasting(0, 1)),
    **{f"np.{n}": array(both, shaping.broadcasting(0, 1)) for n in ("fmax", "fmin", "fmod")},
    "np.interp": array(fixed("float64"), shaping.nth(0)),
    **{f"np.{n}": array(both, _convolved) for n in ("convolve", "correlate")},
    "np.row_stack": array(lambda a: combined(joining.dtypes(a)), joining.vstack),
    "np.gradient": other(_gradient),
    "np.broadcast_shapes": other(_broadcast_shapes),
    **{f"np.{n}": other(_indices) for n in ("triu_indices", "tril_indices")},
    "np.unravel_index": other(_unraveled),
    "np.linalg.norm": array(lambda a: real(inexact(a)) if not a.given("ord") else None, shaping.reduction),
    "np.linalg.inv": array(inexact, shaping.nth(0)),
    "np.linalg.cholesky": array(inexact, shaping.nth(0)),
    "np.linalg.matrix_power": array(of(lambda d: d), shaping.nth(0)),
    "np.linalg.det": array(inexact, lambda a: a.nth(0).known[:-2]),
    "np.linalg.pinv": array(inexact, lambda a: swapped(a.nth(0).known)),
    "np.linalg.solve": array(inexact, _solve),
    "np.linalg.eigh": other(_eigh),
    "np.linalg.eigvalsh": array(lambda a: real(inexact(a)), lambda a: a.nth(0).known[:-1]),
    "np.linalg.svd": other(_svd),
    "np.linalg.qr": other(_qr),
    "np.fft.fftshift": array(of(lambda d: d), shaping.nth(0)),
    "np.fft.ifftshift": array(of(lambda d: d), shaping.nth(0)),
    "np.fft.fftfreq": array(fixed("float64"), lambda a: (shaping.count_at(a, "n"),)),
    **{
        f"np.{n}": array(fixed("float64"), lambda a: (shaping.count_at(a, "M"),))
        for n in ("hanning", "hamming", "blackman", "bartlett")
    },
    **{f"np.{n}": Spec(lambda call: tensor(NDARRAY).value, effects=("io",)) for n in _FILES.split()},
    **{f"np.{n}": Spec(nothing, effects=("io",)) for n in ("save", "savetxt", "savez", "savez_compressed")},
    **{f"np.{n}": Spec(_writing(0)) for n in ("put", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis")},
    **{f"np.{n}": Spec(lambda call: unknown("settings").value, effects=("state",)) for n in ("seterr", "seterrcall")},
    **{f"np.{n}": Spec(nothing, effects=("state",)) for n in ("set_printoptions", "setbufsize")},
    "np.frombuffer": array(lambda a: a.dtype("dtype", default="float64"), shaping.unknown_size),
    "np.fromstring": array(lambda a: a.dtype("dtype", default="float64"), shaping.unknown_size),
    "np.fromiter": array(lambda a: a.dtype("dtype"), shaping.unknown_size),
}

_EMPTY: Final = tensor_rule(lambda a: a.dtype("dtype", default="float64"), shaping.dims_at(0, "shape"), kind=NDARRAY)
CLASSES: Final[dict[str, ClassSpec]] = {"np.ndarray": ClassSpec(make=_EMPTY)}
