"""NumPy's own functions: arrays, on the host; a tensor that is passed to them is read, which only eager code can do."""

from __future__ import annotations

from functools import cache
from typing import Final

from hybridize.domain.objects import NONE_V, Obj, Tensor, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.library.arithmetic import promoted
from hybridize.library.numpy import functions
from hybridize.library.numpy.scalars import folded
from hybridize.library.operands import Args, DtypeRule, tensor_rule, value_rule
from hybridize.library.spec import Call, Rule, Spec, parametrized


@parametrized
def on_host(call: Call, rule: Rule) -> Value:
    """Notes what a call does besides: reading tensors, and writing to the array that is given as `out`."""
    for value in (*call.args, *call.kwargs.values()):
        for obj in value:
            if isinstance(obj, Tensor) and obj.kind != NDARRAY:
                call.effect("eager_only", call.name, obj)
    place = _inputs(call.name)
    for obj in call.kwargs.get("out", call.args[place] if place and len(call.args) > place else ()):
        _written(call, obj)
    return rule(call)


@cache
def _inputs(name: str) -> int:
    """How many inputs a universal function has: the argument after them is `out`; 0 for other functions."""
    last = name.rpartition(".")[2]
    return 1 if last in _UNARY else 2 if last in _BINARY else 0


_UNARY: Final = frozenset(
    "negative positive absolute abs fabs sign sqrt square cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin "
    "arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians deg2rad rad2deg floor ceil trunc rint "
    "reciprocal conj conjugate logical_not invert bitwise_not isnan isinf isfinite signbit".split()
)
_BINARY: Final = frozenset(
    "add subtract multiply divide true_divide floor_divide power float_power mod remainder fmod maximum minimum fmax "
    "fmin hypot arctan2 logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift "
    "equal not_equal greater greater_equal less less_equal copysign matmul heaviside logaddexp dot".split()
)


def _written(call: Call, obj: Obj) -> None:
    if isinstance(obj, Tensor):
        call.effect("mutate", call.name, obj)


def _strong(a: Args) -> str | None:
    """Products convert Python scalars to arrays first, which are not weak then."""
    return promoted(a.nth(0).dtype, a.nth(1).dtype)


def _power(a: Args) -> str | None:
    found = _strong(a)
    return None if found is None else "complex128" if found.startswith("complex") else "float64"


#: Where NumPy's dtypes differ from those of TensorFlow's copy.
_DTYPES: Final[dict[str, DtypeRule]] = {
    **dict.fromkeys("dot inner outer kron vdot tensordot cross append".split(), _strong),
    "float_power": _power,
    "vander": lambda a: promoted(a.nth(0).dtype, "int64"),
}


def _table() -> dict[str, Spec]:
    made: dict[str, Spec] = {}
    for name, (dtype, shape) in functions.table().items():
        made[f"np.{name}"] = Spec(on_host(folded(name, tensor_rule(_DTYPES.get(name, dtype), shape, kind=NDARRAY))))
    for name, rule in functions.values().items():
        made[f"np.{name}"] = Spec(on_host(value_rule(rule, "unknown")))
    return made


def _at(call: Call) -> Value:
    """`np.add.at(a, indices, b)`: changes its first argument."""
    for obj in call.arg(0, "a"):
        _written(call, obj)
    return NONE_V


FUNCTIONS: Final[dict[str, Spec]] = {**_table(), **{f"np.{name}.at": Spec(_at) for name in _UNARY | _BINARY}}
