"""Shape rules of array functions, by position of arguments, so that NumPy and TensorFlow's copy of it share them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil

from hybridize.domain.objects import NONE, Lit, Obj, Value
from hybridize.domain.tensors import DYNAMIC, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.arithmetic import broadcast
from hybridize.library.operands import Args, Impossible, ShapeRule, Unsure
from hybridize.library.shapes import (
    axis_of,
    broadcast_all,
    permuted,
    product_of,
    reduced,
    replaced,
    reshaped,
    sum_of,
    tiled,
    unsized,
)
from hybridize.library.spec import parametrized

Dims = tuple[Dim, ...]


def nth(index: int = 0) -> ShapeRule:
    """The shape of an argument."""
    return lambda a: a.nth(index).shape


def broadcasting(*indices: int) -> ShapeRule:
    """Arguments, broadcast."""
    return lambda a: broadcast_all(a.nth(i).shape for i in indices)


def reduction(a: Args) -> Shape:
    """A reduction over `axis`, all by default."""
    keep = a.flag("keepdims") if a.given("keepdims") else False
    return reduced(a.nth(0).known, a.integers("axis"), keep)


def accumulated(a: Args) -> Shape:
    """`cumsum` and its like flatten without an axis."""
    shape = a.nth(0).known
    return shape if a.given("axis") else (product_of(shape),)


@parametrized
def dims_at(a: Args, index: int, *names: str) -> Shape:
    """The shape that an argument spells."""
    if index < len(a.call.args):
        return a.dims_of(_only(a, index))
    return a.dims(*names)


def reshape(a: Args) -> Shape:
    """The shape that `reshape` gives."""
    target = dims_at(1, "newshape", "shape")(a)
    return reshaped(a.nth(0).shape, target or ())


def broadcast_to(a: Args) -> Shape:
    """The shape that `broadcast_to` gives."""
    return dims_at(1, "shape")(a)


def transpose(a: Args) -> Shape:
    """The shape that `transpose` gives."""
    return permuted(a.nth(0).known, a.integers("axes"))


def expand(a: Args) -> Shape:
    """The shape that `expand_dims` gives."""
    shape = a.nth(0).known
    axes = a.integers("axis") or ()
    rank = len(shape) + len(axes)
    new = {axis_of(rank, x) for x in axes}
    rest = iter(shape)
    return tuple(1 if i in new else next(rest) for i in range(rank))


def squeeze(a: Args) -> Shape:
    """The shape that `squeeze` gives."""
    shape = a.nth(0).known
    if a.given("axis"):
        return reduced(shape, a.integers("axis"), False)
    if any(d < 0 for d in shape):
        raise Unsure
    return tuple(d for d in shape if d != 1)


def ravel(a: Args) -> Shape:
    """The shape that `ravel` gives."""
    return (product_of(a.nth(0).known),)


def swapaxes(a: Args) -> Shape:
    """The shape that `swapaxes` gives."""
    shape = a.nth(0).known
    first, second = (axis_of(len(shape), _at(a, i)) for i in (1, 2))
    dims = list(shape)
    dims[first], dims[second] = dims[second], dims[first]
    return tuple(dims)


def _only(a: Args, index: int) -> Obj:
    """What stands at a place of a call, if that is one thing."""
    value = a.call.args[index]
    return next(iter(value)) if len(value) == 1 else NONE


def _at(a: Args, index: int) -> int:
    if index < len(a.call.args):
        return a.integers_of(_only(a, index))[0]
    name = next((p for p, (i, _) in a.slots.items() if i == index), "")
    return a.integer(name)


def moveaxis(a: Args) -> Shape:
    """The shape that `moveaxis` gives."""
    shape = a.nth(0).known
    rank = len(shape)
    source = [axis_of(rank, x) for x in a.integers("source") or ()]
    target = [axis_of(rank, x) for x in a.integers("destination") or ()]
    order = [i for i in range(rank) if i not in source]
    for where, what in sorted(zip(target, source, strict=True)):
        order.insert(where, what)
    return tuple(shape[i] for i in order)


@parametrized
def atleast(a: Args, rank: int) -> Shape:
    """The shape that `atleast_1d` and its like gives."""
    if len(a.call.args) != 1:
        raise Unsure
    shape = a.nth(0).known
    if len(shape) >= rank:
        return shape
    if rank == 3:
        return (1, *shape, 1) if len(shape) == 1 else (*shape, 1) if shape else (1, 1, 1)
    return (1,) * (rank - len(shape)) + shape


def repeat(a: Args) -> Shape:
    """The shape that `repeat` gives."""
    shape = a.nth(0).known
    if not a.given("axis"):
        shape, axis = (product_of(shape),), 0
    else:
        axis = axis_of(len(shape), a.integer("axis"))
    times = a.nth(1)
    if times.shape not in ((), (1,)):
        return replaced(shape, axis, sum_of(times.content) if times.content else UNRESOLVED)
    return replaced(shape, axis, product_of((shape[axis], times.content[0] if times.content else UNRESOLVED)))


def tile(a: Args) -> Shape:
    """The shape that `tile` gives."""
    return tiled(a.nth(0).known, dims_at(1, "reps")(a) or ())


def pad(a: Args) -> Shape:
    """The shape that `pad` gives."""
    shape = a.nth(0).known
    obj = a.object("pad_width")
    if obj is None:
        raise Impossible
    items = a.items_of(obj)
    if not all(items):
        raise Unsure
    rows = [a.integers_of(next(iter(v))) for v in items]
    if len(rows) == 1 and len(rows[0]) == 1:
        rows = [rows[0] * 2] * len(shape)
    elif len(rows) == 2 and all(len(r) == 1 for r in rows):
        rows = [rows[0] + rows[1]] * len(shape)
    elif len(rows) == 1 and len(rows[0]) == 2:
        rows = rows * len(shape)
    if len(rows) != len(shape) or any(len(r) != 2 for r in rows):
        raise Unsure
    return tuple(d if not any(r) else sum_of((d, *r)) for d, r in zip(shape, rows, strict=True))


def diag(a: Args) -> Shape:
    """The shape that `diag` gives."""
    shape = a.nth(0).known
    k = _at(a, 1) if len(a.call.args) > 1 or "k" in a.call.kwargs else 0
    if len(shape) == 1:
        side = sum_of((shape[0], abs(k)))
        return (side, side)
    return (_diagonal(shape[0], shape[1], k),)


def _diagonal(rows: Dim, columns: Dim, k: int) -> Dim:
    if min(rows, columns) < 0:
        return unsized(rows, columns)
    return max(0, min(rows + min(k, 0), columns - max(k, 0)))


def diagflat(a: Args) -> Shape:
    """The shape that `diagflat` gives."""
    k = _at(a, 1) if len(a.call.args) > 1 or "k" in a.call.kwargs else 0
    side = sum_of((product_of(a.nth(0).known), abs(k)))
    return (side, side)


def _axes_pair(a: Args, rank: int) -> tuple[int, int]:
    first = a.integer("axis1", default=0)
    second = a.integer("axis2", default=1)
    return axis_of(rank, first), axis_of(rank, second)


def diagonal(a: Args) -> Shape:
    """The shape that `diagonal` gives."""
    shape = a.nth(0).known
    first, second = _axes_pair(a, len(shape))
    rest = (d for i, d in enumerate(shape) if i not in (first, second))
    return (*rest, _diagonal(shape[first], shape[second], a.integer("offset", default=0)))


def trace(a: Args) -> Shape:
    """The shape that `trace` gives."""
    shape = a.nth(0).known
    pair = _axes_pair(a, len(shape))
    return tuple(d for i, d in enumerate(shape) if i not in pair)


def take(a: Args) -> Shape:
    """The shape that `take` gives."""
    shape, indices = a.nth(0).known, a.nth(1).known
    if not a.given("axis"):
        return indices
    at = axis_of(len(shape), a.integer("axis"))
    return (*shape[:at], *indices, *shape[at + 1 :])


def number(value: Value) -> int | float:
    """A number that is known."""
    if len(value) == 1:
        (obj,) = value
        if isinstance(obj, Lit) and isinstance(obj.const, (int, float)):
            return obj.const
    raise Unsure


def arange(a: Args) -> Shape:
    """The shape that `arange` gives."""
    try:
        numbers = [number(v) for v in a.call.args[:3]]
        step = number(a.call.kwargs["step"]) if "step" in a.call.kwargs else numbers[2] if len(numbers) > 2 else 1
    except Unsure:
        return (UNRESOLVED,)
    if "start" in a.call.kwargs or "stop" in a.call.kwargs or not numbers or step == 0:
        return (UNRESOLVED,)
    first, last = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    return (max(0, ceil((last - first) / step)),)


def count_at(a: Args, *names: str) -> Dim:
    """A dim that an argument gives."""
    found = a.dims(*names)
    if len(found) != 1:
        raise Unsure
    return max(found[0], UNRESOLVED)


def linspace(a: Args) -> Shape:
    """The shape that `linspace` gives."""
    inner_shape = broadcast(a.nth(0).shape, a.nth(1).shape)
    if inner_shape is None:
        raise Unsure
    count = count_at(a, "num") if a.given("num") else 50
    at = axis_of(len(inner_shape) + 1, a.integer("axis", default=0))
    return (*inner_shape[:at], count, *inner_shape[at:])


def eye(a: Args) -> Shape:
    """The shape that `eye` and `identity` gives."""
    rows = count_at(a, "N", "n")
    return (rows, count_at(a, "M") if a.given("M") else rows)


def vander(a: Args) -> Shape:
    """The shape that `vander` gives."""
    size = product_of(a.nth(0).known)
    return (size, count_at(a, "N") if a.given("N") else size)


def diff(a: Args) -> Shape:
    """The shape that `diff` gives."""
    if a.given("prepend") or a.given("append"):
        raise Unsure
    shape = a.nth(0).known
    at = axis_of(len(shape), a.integer("axis", default=-1))
    size = shape[at]
    return replaced(shape, at, max(0, size - a.integer("n", default=1)) if size >= 0 else blurred(size))


def rot90(a: Args) -> Shape:
    """The shape that `rot90` gives."""
    shape = a.nth(0).known
    first, second = a.integers("axes", default=(0, 1)) or (0, 1)
    if a.integer("k", default=1) % 2 == 0:
        return shape
    dims = list(shape)
    dims[first], dims[second] = dims[second], dims[first]
    return tuple(dims)


def where(a: Args) -> Shape:
    """The shape that `where` gives."""
    return broadcast_all(a.nth(i).shape for i in range(3))


def cross(a: Args) -> Shape:
    """The shape that `cross` gives."""
    left, right = a.nth(0).known, a.nth(1).known
    if len(a.call.args) > 2 or a.call.kwargs or left[-1:] != (3,) or right[-1:] != (3,):
        raise Unsure
    return broadcast(left, right)


@parametrized
def sections(a: Args, index_axis: Callable[[Args, int], int] | None = None, axis: int | None = None) -> list[Dims]:
    """The shapes of the parts of a split."""
    shape = a.nth(0).known
    at = axis if axis is not None else a.integer("axis", default=0) if a.given("axis") else 0
    if axis == 1 and len(shape) == 1:
        at = 0
    at = axis_of(len(shape), at)
    size = shape[at]
    given = a.nth(1)
    if given.shape == ():
        if not given.content or size < 0 or given.content[0] == 0:
            raise Unsure
        count = given.content[0]
        base, extra = divmod(size, count)
        sizes = [base + (i < extra) for i in range(count)]
    else:
        if given.content is None or size < 0:
            raise Unsure
        bounds = [0, *(min(c, size) for c in given.content), size]
        sizes = [max(0, high - low) for low, high in pairwise(bounds)]
    return [replaced(shape, at, s) for s in sizes]


def unknown_size(a: Args) -> Shape:
    """One dim that depends on the data."""
    return (DYNAMIC,)
