"""How operations on a variable of a loop change its shape, as a sentence about it."""

from __future__ import annotations

from hybridize.domain.objects import NONE_V, Lit, Prim, Tensor, Value
from hybridize.domain.tensors import DYNAMIC, NDARRAY, Shape
from hybridize.program import ir
from hybridize.tracing.control import Control


def grown(flow: Control, shape: tuple[int, ...], call: ir.Call, is_concat: bool) -> str | None:
    """What a function that makes tensors longer does to a shape."""
    axis = 0
    if is_concat:
        slots = [s for s, _ in call.arguments[1:2]] + [s for name, s in call.keywords if name == "axis"]
        value = flow.view.value(slots[0]) if slots else frozenset()
        constants = [o.const for o in value if isinstance(o, Lit) and isinstance(o.const, int)]
        if len(constants) != 1:
            return None
        axis = constants[0]
    if -len(shape) <= axis < len(shape) and shape[axis] != DYNAMIC:
        return "its shape grows"
    return None


def rank_by_index(flow: Control, index: int) -> str | None:
    """Whether an index adds more dims (`None`) than it takes away (numbers), or fewer."""
    made = flow.view.definition(index)
    slots = [slot for slot, _ in made.elements] if isinstance(made, ir.Tuple) else [index]
    more = fewer = 0
    for slot in slots:
        value = flow.view.value(slot)
        more += value == NONE_V
        fewer += bool(value) and all(isinstance(o, (Lit, Prim)) and o.kind == "int" for o in value)
    return None if more == fewer else "its rank grows" if more > fewer else "its rank shrinks"


def is_shortened(flow: Control, index: int) -> bool:
    """Whether an index is a slice with a bound."""
    made = flow.view.definition(index)
    if made is None:
        return False
    if isinstance(made, ir.Tuple) and made.elements:
        made = flow.view.definition(made.elements[0][0])
    return isinstance(made, ir.Slice) and (made.lower >= 0 or made.upper >= 0)


def broadcast(before: Value, other: Value) -> str | None:
    """Why a variable that is combined with a tensor does not keep its shape."""
    mine = shape_before(before)
    shapes = [o.shape for o in other if isinstance(o, Tensor) and o.kind != NDARRAY]
    if mine is None or not shapes or len(shapes) != len(other):
        return None
    reasons = [_widens(mine, shape) for shape in shapes]
    return reasons[0] if all(reasons) else None


def _widens(mine: tuple[int, ...], other: Shape) -> str | None:
    if other is None:
        return None
    if len(other) > len(mine):
        return f"a value of rank {len(mine)} is combined with one of rank {len(other)}"
    pairs = zip(mine[::-1], other[::-1], strict=False)
    return "a dimension of 1 is broadcast" if any(a == 1 and b > 1 for a, b in pairs) else None


def shape_before(value: Value) -> tuple[int, ...] | None:
    """The shape of a value before a loop, None where it is not known."""
    if len(value) != 1:
        return None
    (obj,) = value
    if isinstance(obj, Tensor):
        return obj.shape
    return () if isinstance(obj, Lit) and obj.kind in ("int", "float") else None
