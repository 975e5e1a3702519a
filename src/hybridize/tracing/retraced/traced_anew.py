"""Whether a further call of a hybrid function may be traced anew by what it passes."""

from __future__ import annotations

from hybridize.domain.objects import NONE, Lit, Obj, Prim, Tensor, Value
from hybridize.domain.tensors import VARIABLE
from hybridize.tracing.views import FunctionView


def is_traced_anew(function: FunctionView) -> bool:
    """Whether what else a call passes may be of another size, or another number: that call reads the new value.

    The first axis is that of batches, which are mostly alike.
    """
    places = range(len(function.code.params))
    return any(_is_another(frozenset(o for frame in function.frames for o in frame.args[i])) for i in places)


def is_unsized(function: FunctionView) -> bool:
    """Whether nothing is known of the sizes of what some call passes: that call may be traced anew."""
    values = (o for frame in function.frames for value in frame.args for o in value)
    return any(isinstance(o, Tensor) and o.kind != VARIABLE and o.shape is None for o in values)


def _is_another(value: Value) -> bool:
    """Whether calls may pass arguments of several sizes for one parameter, or several numbers."""
    constants = len(value) > 1 and any(isinstance(o, Lit) and o is not NONE for o in value)
    return constants or any(map(_varies, value))


def _varies(obj: Obj) -> bool:
    """Whether an argument may be of another size in each call, or another number."""
    if isinstance(obj, Tensor):
        return obj.kind != VARIABLE and obj.shape is not None and any(size < 0 for size in obj.shape[1:])
    return isinstance(obj, (Prim, Lit)) and obj.varies
