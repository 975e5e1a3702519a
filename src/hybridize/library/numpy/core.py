"""NumPy's own functions: arrays, on the host; a tensor that is passed to them is read, which only eager code can do."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Obj, Tensor, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.library.numpy import functions
from hybridize.library.numpy.promotion import promoted
from hybridize.library.operands import Args, DtypeRule, tensor_rule, value_rule
from hybridize.library.spec import Call, Rule, Spec


def on_host(rule: Rule) -> Rule:
    """Notes what a call does besides: reading tensors, and writing to the array that is given as `out`."""

    def noted(call: Call) -> Value:
        for value in (*call.args, *call.kwargs.values()):
            for obj in value:
                if isinstance(obj, Tensor) and obj.kind != NDARRAY:
                    call.effect("eager_only", call.name, obj)
        for obj in call.kwargs.get("out", ()):
            _written(call, obj)
        return rule(call)

    return noted


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
        made[f"np.{name}"] = Spec(on_host(tensor_rule(_DTYPES.get(name, dtype), shape, kind=NDARRAY)))
    for name, rule in functions.values().items():
        made[f"np.{name}"] = Spec(on_host(value_rule(rule, "unknown")))
    return made


FUNCTIONS: Final[dict[str, Spec]] = _table()
