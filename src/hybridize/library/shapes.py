"""The algebra of shapes: what reductions, reshapes, concatenations, contractions and windows make of dims.

Functions take and give dims and shapes; the factories at the end make shape rules of them. A dim that depends on the
data is DYNAMIC, one that depends on a fixed number that we do not know UNRESOLVED; `unsized` picks one of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from hybridize.domain.tensors import BATCH, DYNAMIC, UNRESOLVED, Dim, Shape, blurred, is_batch, is_dynamic
from hybridize.library.arithmetic import broadcast
from hybridize.library.operands import INFER, Args, Impossible, ShapeRule, Unsure
from hybridize.library.spec import parametrized

Dims = tuple[Dim, ...]


def unsized(*dims: Dim) -> Dim:
    """A dim that is computed from these, at least one of which is not a number."""
    return DYNAMIC if any(map(is_dynamic, dims)) else UNRESOLVED


def product_of(dims: Iterable[Dim]) -> Dim:
    """The product of dims."""
    found = tuple(dims)
    if 0 in found:
        return 0
    known = [d for d in found if d != 1]
    if len(known) == 1:
        return known[0]
    return prod(found) if all(d >= 0 for d in found) else unsized(*found)


def sum_of(dims: Iterable[Dim]) -> Dim:
    """The sum of dims."""
    found = tuple(dims)
    return sum(found) if all(d >= 0 for d in found) else unsized(*found)


def either(a: Dim, b: Dim) -> Dim:
    """A dim that must equal both: the known one."""
    if a >= 0 and b >= 0 and a != b:
        raise Impossible
    if is_batch(a) and is_batch(b):
        return a if a == b else BATCH
    return a if a == b else max(a, b) if a >= 0 or b >= 0 else unsized(a, b)


def merge(a: Shape, b: Shape) -> Shape:
    """The shape of two tensors that must have the same one."""
    if a is None or b is None:
        return a if b is None else b
    if len(a) != len(b):
        raise Impossible
    return tuple(map(either, a, b))


def axis_of(rank: int, axis: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise Impossible
    return axis % rank


def reduced(shape: Dims, axes: Iterable[int] | None, keepdims: bool) -> Dims:
    """The shape after a reduction over axes, None meaning all."""
    dropped = set(range(len(shape))) if axes is None else {axis_of(len(shape), a) for a in axes}
    if keepdims:
        return tuple(1 if i in dropped else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in dropped)


def reshaped(shape: Shape, target: Dims) -> Dims:
    """The shape after a reshape to dims of which one may be INFER."""
    if INFER not in target:
        unknown = [i for i, d in enumerate(target) if d < 0]
        # Sizes agree, so that one dim that is unknown follows from the others.
        if len(unknown) == 1 and shape is not None and all(d >= 0 for d in shape):
            size = prod(d for d in target if d >= 0)
            if size and prod(shape) % size == 0:
                return tuple(prod(shape) // size if d < 0 else d for d in target)
        return target
    at = target.index(INFER)
    rest = [d for i, d in enumerate(target) if i != at]
    return (*target[:at], _inferred(shape, rest), *target[at + 1 :])


def _inferred(shape: Shape, rest: list[Dim]) -> Dim:
    if shape is None:
        return unsized(*rest)
    left = list(shape)
    for d in list(rest):  # equal dims on both sides cancel, unknown ones only if there is just one of each
        if d in left and (d > 0 or is_batch(d) or (d < 0 and left == [d] and rest.count(d) == 1)):
            left.remove(d)
            rest.remove(d)
    if all(d >= 0 for d in (*left, *rest)):
        size = prod(rest)
        if not size or prod(left) % size:
            raise Unsure
        return prod(left) // size
    if not rest or all(d == 1 for d in rest):
        return product_of(left)
    return unsized(*left, *rest)


def concatenated(shapes: Sequence[Shape], axis: int) -> Dims:
    """The shape of a concatenation."""
    known = [s for s in shapes if s is not None]
    if not known:
        raise Unsure
    rank = len(known[0])
    at = axis_of(rank, axis)
    if any(len(s) != rank for s in known):
        raise Impossible
    dims = list(known[0])
    for s in known[1:]:
        dims = [either(a, b) if i != at else a for i, (a, b) in enumerate(zip(dims, s, strict=True))]
    dims[at] = sum_of(s[at] for s in known) if len(known) == len(shapes) else UNRESOLVED
    return tuple(dims)


def stacked(shapes: Sequence[Shape], axis: int) -> Dims:
    """The shape of a stack."""
    inner: Shape = None
    for s in shapes:
        inner = merge(inner, s)
    if inner is None:
        raise Unsure
    at = axis_of(len(inner) + 1, axis)
    return (*inner[:at], len(shapes), *inner[at:])


def expanded(shape: Dims, axis: int) -> Dims:
    """The shape with a new axis of size one."""
    at = axis_of(len(shape) + 1, axis)
    return (*shape[:at], 1, *shape[at:])


def squeezed(shape: Dims, axes: Sequence[int] | None) -> Dims:
    """The shape without axes of size one; all such by default."""
    if axes:
        return reduced(shape, axes, False)
    if any(d < 0 for d in shape):
        raise Unsure
    return tuple(d for d in shape if d != 1)


def permuted(shape: Dims, perm: Sequence[int] | None) -> Dims:
    """The transposed shape."""
    if perm is None:
        return shape[::-1]
    if len(perm) != len(shape):
        raise Impossible
    return tuple(shape[axis_of(len(shape), p)] for p in perm)


def tiled(shape: Dims, times: Dims) -> Dims:
    """The shape with each dim so many times, counted from the last; the shorter of the two begins with ones."""
    rank = max(len(shape), len(times))
    shape, times = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(times)) + times
    return tuple(product_of(pair) for pair in zip(shape, times, strict=True))


def replaced(shape: Dims, axis: int, *dims: Dim) -> Dims:
    """The shape with one axis replaced by others."""
    at = axis_of(len(shape), axis)
    return (*shape[:at], *dims, *shape[at + 1 :])


def swapped(shape: Dims) -> Dims:
    """The shape with its two last dims exchanged."""
    if len(shape) < 2:
        raise Impossible
    return (*shape[:-2], shape[-1], shape[-2])


def matrix_product(a: Dims, b: Dims) -> Dims:
    """The shape of a product of (batches of) matrices."""
    if len(a) < 2 or len(b) < 2:
        raise Impossible
    return (*batch_of(a[:-2], b[:-2]), a[-2], b[-1])


def batch_of(*shapes: Shape) -> Dims:
    """The dims of the batches that operands stand in, broadcast."""
    batch = broadcast_all(shapes)
    if batch is None:
        raise Unsure
    return batch


def broadcast_all(shapes: Iterable[Shape]) -> Shape:
    """The shape that shapes broadcast to."""
    result: Shape = ()
    for shape in shapes:
        result = broadcast(result, shape)
    return result


def window(size: Dim, kernel: Dim, stride: int, dilation: int, padding: str) -> Dim:
    """The size of a windowed dim (convolution, pooling)."""
    if padding == "SAME":
        return size if stride == 1 else -(-size // stride) if size >= 0 else blurred(size)
    if size < 0:
        return size if kernel == stride == 1 else blurred(size)
    if kernel < 0:
        return kernel
    return max(0, -(-(size - (kernel - 1) * dilation) // stride))


# Factories of shape rules --------------------------------------------------------------------------------------------


def like(*names: str) -> ShapeRule:
    """The shape of an operand, of the first one by default."""
    if not names:
        return lambda a: a.tensor(a.first).shape
    return lambda a: a.tensor(*names).shape


def broadcasting(*names: str) -> ShapeRule:
    """The operands' shapes, broadcast."""
    return lambda a: broadcast_all(a.tensor(n).shape for n in names if a.given(n))


def shaped(name: str = "shape") -> ShapeRule:
    """The shape that an argument spells."""
    return lambda a: a.dims(name)


def scalar(a: Args) -> Shape:
    """No dims."""
    return ()


def fits(*dims: Dim) -> ShapeRule:
    """Always these dims."""
    return lambda a: dims


@parametrized
def reduction(a: Args, name: str = "", axis: str = "axis", keepdims: str = "keepdims") -> Shape:
    """A reduction over axes; unknown axes keep the rank where dims are kept."""
    given = a.tensor(name or a.first)
    keep = a.flag(keepdims)
    if given.shape is None and not keep and a.integers(axis) is None:
        return ()
    shape = given.known
    try:
        axes = a.integers(axis)
    except Unsure:
        if keep:
            return (UNRESOLVED,) * len(shape)
        raise
    return reduced(shape, axes, keep)
