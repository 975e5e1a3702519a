"""Functions of the project that Keras calls on weights: initializers, regularizers, constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import NONE, Inst, Lib, LibInst, Lit, Obj, Tensor, Unknown, Value, literal
from hybridize.domain.tensors import Shape
from hybridize.library.convert import shape_value
from hybridize.library.spec import Call

_ROLES: Final = ("initializer", "regularizer", "constraint")


def run_weight_hooks(call: Call, weights: Mapping[str, Value]) -> None:
    """Calls what a library layer was made with for its weights (`kernel_initializer=f`), if the project defines it."""
    obj = call.receiver
    if not isinstance(obj, (LibInst, Inst)):
        return
    prefix = "" if isinstance(obj, LibInst) else "$"
    for name, weight in weights.items():
        for role in _ROLES:
            cell = obj.fields.get(f"{prefix}{name}_{role}")
            if cell is not None:
                run_weight_hook(call, role, call.read(cell), weight)


def has_weight_hooks(obj: Obj | None) -> bool:
    """Whether a layer was made with anything for its weights."""
    if not isinstance(obj, (LibInst, Inst)):
        return False
    return any(isinstance(key, str) and key.endswith(_ROLES) for key in obj.fields)


def run_weight_hook(call: Call, role: str, func: Value, weight: Value) -> None:
    """An initializer sees the shape of a weight and its dtype, the others the weight itself."""
    for obj in func:
        if obj is NONE or isinstance(obj, (Lit, Lib, LibInst, Unknown, Tensor)):
            continue
        if role == "initializer":
            for made in weight:
                if isinstance(made, Tensor):
                    _initialize(call, obj, made.dtype, made.shape)
        else:
            call.call(obj.value, weight, how=How.KERAS)


def _initialize(call: Call, obj: Obj, dtype: str | None, shape: Shape) -> None:
    call.call(obj.value, shape_value(shape, "tuple"), how=How.KERAS, dtype=literal(dtype or "float32").value)
