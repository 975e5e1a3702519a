"""How many elements a sequence has, where its elements are not known one by one: `[f(x) for x in range(4)]`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from hybridize.domain.objects import Container, Lit, Obj, Stream, Tensor, Tup, Value
from hybridize.library.engine import EngineApi

#: The length of a container that was changed after it was made: it stays unknown.
LOST: Final = -1
#: A list has its elements by position while they are not more.
_MOST_PLACED: Final = 48
#: Where `Container.order` has the length of a list before its counted appends.
_BASE: Final = "base"


def length_of(engine: EngineApi, frame: Any, value: Value) -> int | None:
    """The number of elements that iterating over a value gives, if it is one number."""
    if len(value) != 1:
        return None
    (obj,) = value
    return _length(engine, frame, obj)


def _length(engine: EngineApi, frame: Any, obj: Obj) -> int | None:
    match obj:
        case Tup():
            return len(obj.items)
        case Container():
            if engine.cells.is_exact(frame, obj):
                return len(obj.fields)
            obj.reshaped[frame.step] = frame.step.runs
            return obj.count if obj.count is not None and obj.count >= 0 else None
        case Stream():
            return obj.count if obj.count is not None and obj.count >= 0 else None
        case Tensor() if obj.shape and obj.shape[0] >= 0:
            return obj.shape[0]
        case Lit(const=str() as text):
            return len(text)
    return None


def shortest(engine: EngineApi, frame: Any, values: Iterable[Value]) -> int | None:
    """The number of elements that sequences have together, side by side."""
    found = [length_of(engine, frame, value) for value in values]
    known = [length for length in found if length is not None]
    return min(known) if known and len(known) == len(found) else None


def hold_alike(engine: EngineApi, container: Container) -> None:
    """Makes a container one whose elements are not known by position, where it is made."""
    if container.exact:
        container.exact = False
        engine.cells.wake(container.reshaped)


def note_length(engine: EngineApi, container: Container, length: int | None) -> None:
    """Sets the length of a container where it is made; one that differs from before, or was lost, is unknown."""
    new = LOST if length is None or container.count not in (None, length) else length
    if new != container.count:
        known, container.count = container.count is not None, new
        if known:
            engine.cells.wake(container.reshaped)


def append_counted(engine: EngineApi, frame: Any, owner: Container, items: list[Value], pos: int) -> bool:
    """Appends elements where the place is reached once in each turn of its loops (`program.growth`); false elsewhere.

    Where the loops are followed turn by turn the elements have positions; else they are so many as there are turns.
    """
    growth = frame.code.appends.get(pos)
    if growth is None or owner.kind != "list" or owner.frame != frame.uid:
        return False
    frame.volatile = True  # where an element goes rests on the loops around, and on what this run has appended
    if growth.depth == len(frame.turn) and not growth.peeked and not frame.doubts:
        return _append_in_turn(engine, frame, owner, items, pos)
    return not growth.guarded and _append_many(engine, frame, owner, items, pos)


def _append_in_turn(engine: EngineApi, frame: Any, owner: Container, items: list[Value], pos: int) -> bool:
    if not engine.cells.is_exact(frame, owner) or len(owner.fields) + len(items) > _MOST_PLACED:
        return False
    for i, item in enumerate(items):
        key = (pos, frame.turn, i)
        place = owner.order.get(key)
        run, last = owner.order.get(None, (0, 0))
        if place is None:
            if owner.order and (run, last) != (frame.runs, len(owner.fields) - 1):
                return False  # an element that comes between others
            place = owner.order[key] = len(owner.fields)
            engine.cells.wake(owner.reshaped)
        owner.order[None] = frame.runs, place
        engine.cells.write(frame, owner.cell(place), item, pos)
    return True


def _append_many(engine: EngineApi, frame: Any, owner: Container, items: list[Value], pos: int) -> bool:
    growth = frame.code.appends[pos]
    total = len(items)
    for turns in frame.around[growth.outer : growth.depth]:
        if turns is None:
            return False
        total *= turns
    if len(frame.around) < growth.depth:
        return False
    if owner.exact:
        if owner.order:
            return False
        owner.order[_BASE] = len(owner.fields)
        owner.exact = False
    elif owner.count in (None, LOST) or _BASE not in owner.order or owner.order.get(pos, total) != total:
        return False
    owner.order[pos] = total
    count = sum(owner.order.values())
    if count != owner.count:
        owner.count = count
        engine.cells.wake(owner.reshaped)
    for item in items:
        engine.cells.write(frame, owner.rest_cell(), item, pos)
    return True
