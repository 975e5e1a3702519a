"""How many elements a sequence has, where its elements are not known one by one: `[f(x) for x in range(4)]`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from hybridize.domain.objects import Container, Lit, Obj, Stream, Tensor, Tup, Value

#: The length of a container that was changed after it was made: it stays unknown.
LOST: Final = -1


def length_of(engine: Any, frame: Any, value: Value) -> int | None:
    """The number of elements that iterating over a value gives, if it is one number."""
    if len(value) != 1:
        return None
    (obj,) = value
    return _length(engine, frame, obj)


def _length(engine: Any, frame: Any, obj: Obj) -> int | None:
    match obj:
        case Tup():
            return len(obj.items)
        case Container():
            if engine.is_exact(frame, obj):
                return len(obj.fields)
            obj.reshaped[frame] = frame.runs
            return obj.count if obj.count is not None and obj.count >= 0 else None
        case Stream():
            return obj.count if obj.count is not None and obj.count >= 0 else None
        case Tensor() if obj.shape and obj.shape[0] >= 0:
            return obj.shape[0]
        case Lit(const=str() as text):
            return len(text)
    return None


def shortest(engine: Any, frame: Any, values: Iterable[Value]) -> int | None:
    """The number of elements that sequences have together, side by side."""
    found = [length_of(engine, frame, value) for value in values]
    known = [length for length in found if length is not None]
    return min(known) if known and len(known) == len(found) else None


def hold_alike(engine: Any, container: Container) -> None:
    """Makes a container one whose elements are not known by position, where it is made."""
    if container.exact:
        container.exact = False
        engine.wake(container.reshaped)


def note_length(engine: Any, container: Container, length: int | None) -> None:
    """Sets the length of a container where it is made; one that differs from before, or was lost, is unknown."""
    new = LOST if length is None or container.count not in (None, length) else length
    if new != container.count:
        known, container.count = container.count is not None, new
        if known:
            engine.wake(container.reshaped)
