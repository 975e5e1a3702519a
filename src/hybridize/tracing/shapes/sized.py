"""Results that are as large as an argument says: where that is a tensor, a graph does not know the size.

Each was measured with TensorFlow 2.15 and 2.21: eager code knows the size, a graph has None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from hybridize.domain.objects import Lit, Tensor
from hybridize.program import ir
from hybridize.tracing.shapes.opened import Dims
from hybridize.tracing.values import argument, own
from hybridize.tracing.views import FrameView

#: Whether a slot holds what a graph has folded: dims of `tf.shape(x)` that are known.
Folded = Callable[[FrameView, int], bool]
#: Where a number says the size of an axis: the argument, and the axes (from the end of the result where negative).
_NUMBERS: Final[Mapping[str, tuple[int, str, tuple[int, ...]]]] = {
    "tf.linspace": (2, "num", (0,)),
    "tf.eye": (0, "num_rows", (0, 1)),
    "tf.one_hot": (1, "depth", (-1,)),
    "tf.sequence_mask": (1, "maxlen", (-1,)),
    "tf.math.bincount": (0, "arr", (0,)),
    **{f"tf.math.unsorted_segment_{how}": (2, "num_segments", (0,)) for how in "max mean min prod sqrt_n sum".split()},
}
#: Where a list says the whole shape: the argument.
SHAPES: Final[Mapping[str, tuple[int, str]]] = {
    "tf.zeros": (0, "shape"),
    "tf.ones": (0, "shape"),
    "tf.fill": (0, "dims"),
    "tf.random.normal": (0, "shape"),
    "tf.random.uniform": (0, "shape"),
    "tf.random.truncated_normal": (0, "shape"),
    "tf.broadcast_to": (1, "shape"),
    "tf.scatter_nd": (2, "shape"),
    "tf.slice": (2, "size"),
}
#: Where another argument says of which axis the size is meant, that one counts.
_AXIS: Final[Mapping[str, tuple[int, str]]] = {"tf.linspace": (4, "axis"), "tf.one_hot": (4, "axis")}
SIZED: Final = frozenset(_NUMBERS) | frozenset(SHAPES)


def sized(name: str, view: FrameView, call: ir.Call, folded: Folded) -> Dims | None:
    """The dims of a result for which an argument holds a tensor that the graph has not folded; None for none."""

    def asks(slot: int) -> bool:
        return slot >= 0 and bool(own(view, slot, arrays=False)) and not folded(view, slot)

    if name in SHAPES:
        made = view.definition(argument(call, *SHAPES[name]))
        elements = made.elements if isinstance(made, ir.Sequence) else ()
        parts = [slot for slot, _ in elements] if not any(starred for _, starred in elements) else []
        return tuple(i for i, slot in enumerate(parts) if asks(slot)) or None
    place, keyword, axes = _NUMBERS[name]
    if not asks(argument(call, place, keyword)):
        return None
    said = argument(call, *_AXIS[name]) if name in _AXIS else -1
    if said >= 0:
        found = [o.const for o in view.value(said) if isinstance(o, Lit)]
        if len(found) != 1 or type(found[0]) is not int:
            return None
        axes = (found[0],)
    ranks = set(_ranks(view, call.target))
    if any(axis < 0 for axis in axes) and (len(ranks) != 1 or None in ranks):
        return None
    rank = next(iter(ranks), None) or 0
    return tuple(axis if axis >= 0 else axis + rank for axis in axes)


def broadcast(view: FrameView, made: int, operands: list[tuple[int, Dims | None]]) -> Dims | None:
    """The unknown dims of an operation of several operands, each with its own: a size that is known decides an axis."""
    every = [_ranks(view, slot) for slot in (made, *(slot for slot, _ in operands))]
    ranks = [next(iter(each)) if len(set(each)) == 1 else None for each in every]
    open_ones = [dims for _, dims in operands if dims is not None]
    if not open_ones or any(rank is None for rank in ranks) or () in open_ones:
        return next(iter(open_ones), None)
    found: set[int] = set()
    known: set[int] = set()
    for (slot, dims), rank in zip(operands, ranks[1:], strict=True):
        shift = (ranks[0] or 0) - (rank or 0)
        found |= {d + shift for d in dims or ()}
        for shape in _shapes(view, slot):
            known |= {i + shift for i, dim in enumerate(shape) if dim > 1 and i not in (dims or ())}
    return tuple(sorted(found - known)) or None


def _ranks(view: FrameView, slot: int) -> list[int | None]:
    tensors = [o for o in view.value(slot) if isinstance(o, Tensor)]
    return [None if o.shape is None else len(o.shape) for o in tensors] or [0]


def _shapes(view: FrameView, slot: int) -> Iterator[tuple[int, ...]]:
    yield from (o.shape for o in view.value(slot) if isinstance(o, Tensor) and o.shape is not None)
