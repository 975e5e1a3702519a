"""NumPy's own functions: arrays, on the host; a tensor that is passed to them is read, which only eager code can do."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Obj, Tensor, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.library.index import lookup
from hybridize.library.numpy import functions
from hybridize.library.operands import tensor_rule, value_rule
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


def _table() -> dict[str, Spec]:
    made: dict[str, Spec] = {}
    for name, (dtype, shape) in functions.table().items():
        if lookup(f"np.{name}") is not None:
            made[f"np.{name}"] = Spec(on_host(tensor_rule(dtype, shape, kind=NDARRAY)))
    for name, rule in functions.values().items():
        if lookup(f"np.{name}") is not None:
            made[f"np.{name}"] = Spec(on_host(value_rule(rule, "unknown")))
    return made


FUNCTIONS: Final[dict[str, Spec]] = _table()
