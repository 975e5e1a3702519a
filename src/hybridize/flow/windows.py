"""Slices that move with a loop over a range: `x[i : i + n]` has n rows at each turn if it has at the first and last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hybridize.domain.objects import BOTTOM, NONE_V, Lit, Prim, Stream, Value, literal, tup
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import Index, index_of

if TYPE_CHECKING:
    from collections.abc import Sequence

#: So many copies and reads of a variable are looked through.
_STEPS: Final = 4


def window_of(frame: Frame, instr: ir.Slice, values: Sequence[Value]) -> Value:
    """The first start, the last start and the length of such a slice; bottom for any other."""
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
