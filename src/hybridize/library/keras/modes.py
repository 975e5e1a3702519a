"""The mode that Keras runs layers in: what their `call` gets as `training` where the program passes nothing."""

from __future__ import annotations

from typing import Any

from hybridize.domain.lattice import join_all
from hybridize.domain.objects import BOTTOM, NONE_V, Value, literal
from hybridize.library.spec import Call

#: Any mode: a layer of a functional model is traced before there is one, and runs in both.
_ANY = join_all([literal(mode).value for mode in (None, True, False)])


def implied_training(call: Call, method: Value, args: list[Value], *, symbolic: bool) -> Value:
    """What Keras passes as `training` to the `call` of a layer, beside what the program passes; bottom for nothing.

    Source: `Layer.__call__` of Keras 2 and 3: an explicit argument counts, then the mode of the layer around.
    """
    if "training" in call.kwargs or call.rest or not takes_training(method, len(args)):
        return BOTTOM
    around = outer_training(call.frame)
    return around - NONE_V if around else _ANY if symbolic else BOTTOM


def outer_training(frame: Any) -> Value:
    """The `training` of the layer whose `call` a frame runs; bottom where that is unknown, or was not said."""
    if frame.code.name != "call":
        return BOTTOM
    frame.looks_at_arguments()
    slot = next((p.slot for p in frame.code.params if p.name == "training"), None)
    value = frame.vals[slot] if slot is not None else None
    return value if value and value != NONE_V else BOTTOM


def takes_training(method: Value, given: int = 0) -> bool:
    """Whether a method has a parameter `training` that the first `given` arguments leave open."""
    for obj in method:
        func = getattr(obj, "func", obj)
        inner = getattr(func, "inner", None)
        code = getattr(func, "code", None) or (getattr(next(iter(inner)), "code", None) if inner else None)
        if code is None:
            continue
        for i, param in enumerate(code.params):
            if param.is_kwargs or (param.name == "training" and i > given):
                return True
    return False
