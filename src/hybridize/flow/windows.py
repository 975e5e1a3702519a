"""Slices that move: `x[i : i + n]` has n rows but at the end, and at each turn of a loop over a range if it has at the
first and last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from hybridize.domain.objects import BOTTOM, NONE_V, Lib, Lit, Prim, Stream, Value, literal, tup
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import Index, index_of

if TYPE_CHECKING:
    from collections.abc import Sequence

#: So many copies and reads of a variable are looked through.
_STEPS: Final = 4
#: What ends the last slice where the data end.
_LEAST: Final = "builtins.min"


def window_of(frame: Frame, instr: ir.Slice, values: Sequence[Value]) -> Value:
    """The first start, the last start and the length of such a slice, or its length alone; bottom for any other."""
    moving = _of_a_loop(frame, instr, values)
    if moving or values[2] is not NONE_V or instr.lower < 0 or instr.upper < 0:
        return moving
    length = _apart(frame, instr.lower, instr.upper)
    return tup([literal(length).value]).value if length else BOTTOM


def _of_a_loop(frame: Frame, instr: ir.Slice, values: Sequence[Value]) -> Value:
    lower, upper, step = values
    if step is not NONE_V or len(lower) != 1 or len(upper) != 1 or not _is_open(lower) or not _is_open(upper):
        return BOTTOM
    index = index_of(frame.code)
    (source, start), (other, stop) = _moving(frame, index, instr.lower), _moving(frame, index, instr.upper)
    bounds = _bounds(frame, source) if source is not None and source is other and start < stop else None
    if not bounds:
        return BOTTOM
    ends = (min(bounds[0], bounds[-1]) + start, max(bounds[0], bounds[-1]) + start, stop - start)
    return tup([literal(end).value for end in ends]).value if ends[0] >= 0 else BOTTOM


def _moving(frame: Frame, index: Index, slot: int) -> tuple[ir.Iter | None, int]:
    """The fetch of a loop's element that a slot holds, and the constant that was added to it."""
    offset = 0
    for _ in range(_STEPS):
        source = _source(index, slot)
        if source is None or isinstance(source, ir.Iter):
            return source, offset
        left, right = _constant(frame, source.left), _constant(frame, source.right)
        if source.operator == "+" and left is not None:
            offset, slot = offset + left, source.right
        elif source.operator in ("+", "-") and right is not None:
            offset, slot = offset + (right if source.operator == "+" else -right), source.left
        else:
            break
    return None, 0


def _constant(frame: Frame, slot: int) -> int | None:
    value = frame.vals[slot] or BOTTOM
    for obj in value if len(value) == 1 else ():
        if isinstance(obj, Lit) and isinstance(obj.const, int):
            return obj.const
    return None


def _is_open(value: Value) -> bool:
    (obj,) = value
    return isinstance(obj, Prim) and obj.kind == "int"


def _source(index: Index, slot: int) -> ir.Iter | ir.Binary | None:
    """The fetch of a loop's element, or the sum or difference, that a slot holds."""
    for _ in range(_STEPS):
        found = index.definitions.get(slot)
        if found is None or isinstance(found, (ir.Iter, ir.Binary)):
            return found
        if isinstance(found, ir.Global):
            writes = [i for i in index.of(ir.SetGlobal) if i.name == found.name]
            if len(writes) != 1:
                return None
            slot = writes[0].value
        else:
            return None
    return None


def _bounds(frame: Frame, source: ir.Iter) -> range | None:
    """The range that a loop goes over."""
    value = frame.vals[source.source] or BOTTOM
    if len(value) != 1:
        return None
    (obj,) = value
    return obj.bounds if isinstance(obj, Stream) and obj.kind == "range" else None


#: What an int is made of: how often each unknown part, and the constant (under None).
_Sum: TypeAlias = dict[object, int]


def _apart(frame: Frame, lower: int, upper: int) -> int | None:
    """How much larger one slot is than another, at most, if they are the same but for a constant."""
    index = index_of(frame.code)
    made = index.source(upper)
    if isinstance(made, ir.Call) and any(
        isinstance(o, Lib) and o.name == _LEAST for o in frame.vals[made.function] or ()
    ):
        found = [_apart(frame, lower, slot) for slot, starred in made.arguments if not starred]
        return next((length for length in found if length), None)
    parts = _sum(frame, index, upper, _STEPS)
    for part, times in _sum(frame, index, lower, _STEPS).items():
        parts[part] = parts.get(part, 0) - times
    length = parts.pop(None, 0)
    return length if length > 0 and not any(parts.values()) else None


def _sum(frame: Frame, index: Index, slot: int, steps: int) -> _Sum:
    """An int as a sum of parts that are not known, each so often, and a constant."""
    known = _constant(frame, slot)
    if known is not None:
        return {None: known}
    made = index.source(slot)
    if not isinstance(made, ir.Binary) or not steps:
        return {_part(index, slot, _STEPS): 1}
    left, right = _sum(frame, index, made.left, steps - 1), _sum(frame, index, made.right, steps - 1)
    if made.operator in ("+", "-"):
        sign = 1 if made.operator == "+" else -1
        return {part: left.get(part, 0) + sign * right.get(part, 0) for part in {**left, **right}}
    if made.operator == "*" and (left.keys() == {None} or right.keys() == {None}):
        times, parts = (left[None], right) if left.keys() == {None} else (right[None], left)
        return {part: times * count for part, count in parts.items()}
    return {_part(index, slot, _STEPS): 1}


def _part(index: Index, slot: int, steps: int) -> object:
    """What two reads of one variable or field, nothing between them, have in common."""
    made = index.source(slot)
    if isinstance(made, ir.Attr) and steps:
        return made.name, _part(index, made.owner, steps - 1)
    return made.name if isinstance(made, ir.Global) else id(made) if made is not None else slot
