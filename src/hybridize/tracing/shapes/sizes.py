"""Which arguments may come in other sizes: what flow does not know of the shapes of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import BATCH, DYNAMIC, UNRESOLVED, VARIABLE, Shape

_DEPTH: Final = 2


def is_open(value: Value) -> bool:
    """Whether a value holds tensors of sizes that are not known, or something that may be such a tensor."""
    return any(isinstance(o, Unknown) for o in value) or any(map(_is_open, _tensors(value, _DEPTH)))


def shapes_of(value: Value) -> set[Shape | None]:
    """The shapes of the tensors that a value holds; None: one that is not known."""
    return {tensor.shape for tensor in _tensors(value, _DEPTH)}


def has_computed_sides(value: Value) -> bool:
    """Whether a value holds tensors of known rank of which a size besides the first only a run knows: padded rows."""
    return any(tensor.shape is not None and DYNAMIC in tensor.shape[1:] for tensor in _tensors(value, _DEPTH))


def has_unresolved(value: Value) -> bool:
    """Whether a value holds tensors of which nobody knows whether their sizes are the same each time: no batches."""
    return any(
        each.kind != VARIABLE and (each.shape is None or UNRESOLVED in each.shape) for each in _tensors(value, _DEPTH)
    )


def _is_open(tensor: Tensor) -> bool:
    """A batch has the sizes of the one before, but for the number of its examples."""
    shape = tensor.shape
    if tensor.kind == VARIABLE or shape == ():
        return False
    if shape is None or DYNAMIC in shape:
        return True
    return bool(shape) and shape[0] > BATCH and min(shape) < 0


def _tensors(value: Value, depth: int) -> Iterator[Tensor]:
    for obj in value:
        if isinstance(obj, Tensor):
            yield obj
        elif depth and isinstance(obj, Tup):
            for item in obj.items:
                yield from _tensors(item, depth - 1)
        elif depth and isinstance(obj, Container):
            for cell in (*obj.fields.values(), *([obj.rest] if obj.rest is not None else [])):
                yield from _tensors(cell.value, depth - 1)
