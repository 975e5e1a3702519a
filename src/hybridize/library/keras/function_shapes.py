"""Shape rules of the functions in `keras.backend` and `keras.ops`."""

from __future__ import annotations

from hybridize.domain.objects import Value
from hybridize.domain.tensors import DYNAMIC, SYMBOLIC, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.keras.reshaping import batch_dot
from hybridize.library.operands import Args, Impossible, Unsure
from hybridize.library.shapes import (
    axis_of,
    broadcast_all,
    expanded,
    matrix_product,
    permuted,
    product_of,
    reduced,
    replaced,
    reshaped,
    squeezed,
    sum_of,
    tiled,
    window,
)
from hybridize.library.spec import parametrized


@parametrized
def arg_extreme_shape(a: Args, default: int | None) -> Shape:
    """Without one axis, or without all."""
    shape = a.tensor("x").known
    keep = a.flag("keepdims")
    if not a.given("axis"):
        return reduced(shape, None if default is None else (default,), keep)
    return reduced(shape, (a.integer("axis"),), keep)


def expand_shape(a: Args) -> Shape:
    """One more axis, the last by default."""
    shape = a.tensor("x").known
    axes = a.integers("axis", default=(-1,))
    if axes is None or len(axes) != 1:
        raise Unsure
    return expanded(shape, axes[0])


def squeeze_shape(a: Args) -> Shape:
    """Without axes of size one."""
    return squeezed(a.tensor("x").known, a.integers("axis"))


def transpose_shape(a: Args) -> Shape:
    """Axes in another order."""
    return permuted(a.tensor("x").known, a.integers("axes", "pattern"))


def reshape_shape(a: Args) -> Shape:
    """Dims that an argument spells, -1 for the rest."""
    return reshaped(a.tensor("x").shape, a.dims("shape", "newshape"))


def flat_shape(a: Args) -> Shape:
    """One dim for all."""
    return (product_of(a.tensor("x").known),)


def batch_flat_shape(a: Args) -> Shape:
    """One dim for all but the first; symbolic shapes do not say its size."""
    shape = a.tensor("x").known
    if a.tensor("x").kind == SYMBOLIC:
        return (shape[0], DYNAMIC)
    return (shape[0], product_of(shape[1:]))


def batch_dot_shape(a: Args) -> Shape:
    """A product of two batches over one axis of each."""
    first, second = a.tensor("x").known, a.tensor("y").known
    axes = a.integers("axes") or (len(first) - 1, len(second) - 2 if len(second) > 2 else len(second) - 1)
    if len(axes) == 1:
        axes = (axes[0], axes[0])
    return batch_dot(first, second, axes)


def dot_shape(a: Args) -> Shape:
    """A product over the last axis of the first and the last but one of the second."""
    x, y = a.tensor("x", "x1").known, a.tensor("y", "x2").known
    if len(x) < 2 or len(y) < 2:
        raise Unsure
    return (*x[:-1], *y[:-2], y[-1])


def gather_shape(a: Args) -> Shape:
    """Rows by index."""
    x, indices = a.tensor("reference").known, a.tensor("indices").known
    return (*indices, *x[1:])


def take_shape(a: Args) -> Shape:
    """Slices of an axis by index; of all elements without one."""
    x, indices = a.tensor("x").known, a.tensor("indices").known
    if not a.given("axis"):
        return indices
    return replaced(x, a.integer("axis"), *indices)


def one_hot_shape(a: Args) -> Shape:
    """One more axis for the classes."""
    shape = a.tensor("indices", "x").known
    axis = a.integer("axis", default=-1)
    at = axis_of(len(shape) + 1, axis)
    try:
        classes: Dim = a.integer("num_classes")
    except Unsure:
        classes = UNRESOLVED
    return (*shape[:at], classes, *shape[at:])


def tile_shape(a: Args) -> Shape:
    """Dims times their counts."""
    times = a.integers("n", "repeats")
    if times is None:
        raise Impossible
    return tiled(a.tensor("x").known, times)


def repeat_elements_shape(a: Args) -> Shape:
    """An axis as many times, or all elements."""
    shape = a.tensor("x").known
    count = a.integer("rep", "repeats")
    if not a.given("axis"):
        return (product_of((*shape, count)),)
    at = axis_of(len(shape), a.integer("axis"))
    return replaced(shape, at, product_of((shape[at], count)))


def repeat_rows_shape(a: Args) -> Shape:
    """Each row of a matrix repeated along a new axis."""
    shape = a.tensor("x").known
    if len(shape) != 2:
        raise Impossible
    return (shape[0], a.integer("n"), shape[1])


def _spatial(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    return shape[1:-1]


def _numbers(a: Args, name: str, rank: int, default: int) -> tuple[int, ...]:
    found = a.integers(name, default=(default,)) or (default,)
    return found * rank if len(found) == 1 else found


def _channels_last(a: Args) -> None:
    if a.given("data_format") and a.constant("data_format") != "channels_last":
        raise Unsure


def convolution_shape(a: Args) -> Shape:
    """A convolution with channels last."""
    _channels_last(a)
    shape, kernel = a.tensor("x", "inputs").known, a.tensor("kernel").known
    rank = len(shape) - 2
    if len(kernel) != rank + 2 or rank < 1:
        raise Impossible
    padding = str(a.constant("padding", default="valid")).upper()
    if padding not in ("VALID", "SAME"):
        raise Unsure
    steps = zip(
        _spatial(shape),
        kernel,
        _numbers(a, "strides", rank, 1),
        _numbers(a, "dilation_rate", rank, 1),
        strict=False,
    )
    return (shape[0], *(window(s, k, t, d, padding) for s, k, t, d in steps), kernel[-1])


def pool_shape(a: Args) -> Shape:
    """Pooling with channels last."""
    _channels_last(a)
    shape = a.tensor("x", "inputs").known
    rank = len(shape) - 2
    size = _numbers(a, "pool_size", rank, 2)
    strides = _numbers(a, "strides", rank, 1)
    if not a.given("strides") and a.name.startswith("keras.ops"):
        strides = size
    padding = str(a.constant("padding", default="valid")).upper()
    dims = [window(s, k, t, 1, padding) for s, k, t in zip(_spatial(shape), size, strides, strict=True)]
    return (shape[0], *dims, shape[-1])


def matmul_shape(a: Args) -> Shape:
    """A product of (batches of) matrices or vectors."""
    x, y = a.tensor("x1").known, a.tensor("x2").known
    if len(x) == 1 or len(y) == 1:
        if len(x) == len(y) == 1:
            return ()
        return (*y[:-2], y[-1]) if len(x) == 1 else x[:-1]
    return matrix_product(x, y)


def outer_shape(a: Args) -> Shape:
    """All elements of one by all of the other."""
    return (product_of(a.tensor("x1").known), product_of(a.tensor("x2").known))


def pad_shape(a: Args) -> Shape:
    """Dims with what is put before and after."""
    shape = a.tensor("x").known
    obj = a.object("pad_width")
    if obj is None:
        raise Impossible
    rows = [[_number(v) for v in a.items_of(next(iter(item)))] for item in a.items_of(obj) if len(item) == 1]
    if len(rows) != len(shape) or any(len(r) != 2 for r in rows):
        raise Unsure
    return tuple(sum_of((d, *r)) for d, r in zip(shape, rows, strict=True))


def _number(value: Value) -> int:
    const = getattr(next(iter(value), None), "const", None)
    if len(value) != 1 or not isinstance(const, int):
        raise Unsure
    return const


def where_shape(a: Args) -> Shape:
    """The three operands, broadcast."""
    if not a.given("x1"):
        raise Unsure
    return broadcast_all(a.tensor(n).shape for n in ("condition", "x1", "x2"))


def swapaxes_shape(a: Args) -> Shape:
    """Two axes exchanged."""
    shape = list(a.tensor("x").known)
    i, j = axis_of(len(shape), a.integer("axis1")), axis_of(len(shape), a.integer("axis2"))
    shape[i], shape[j] = shape[j], shape[i]
    return tuple(shape)


def moved_shape(a: Args) -> Shape:
    """One axis put elsewhere."""
    shape = a.tensor("x").known
    source, target = a.integers("source"), a.integers("destination")
    if source is None or target is None or len(source) != 1 or len(target) != 1:
        raise Unsure
    order = [i for i in range(len(shape)) if i != axis_of(len(shape), source[0])]
    order.insert(axis_of(len(shape), target[0]), axis_of(len(shape), source[0]))
    return permuted(shape, order)


@parametrized
def square_shape(a: Args, *names: str) -> Shape:
    """A matrix of one or two sizes."""
    first = a.integer(names[0])
    second = a.integer(names[1]) if len(names) > 1 and a.given(names[1]) else first
    return (first, second)


def glu_shape(a: Args) -> Shape:
    """Half an axis."""
    shape = a.tensor("x").known
    at = axis_of(len(shape), a.integer("axis", default=-1))
    return replaced(shape, at, shape[at] // 2 if shape[at] >= 0 else blurred(shape[at]))


def attention_shape(a: Args) -> Shape:
    """The query's dims with the value's last one."""
    return (*a.tensor("query").known[:-1], a.tensor("value").known[-1])


@parametrized
def crossentropy_shape(a: Args, reduce: bool) -> Shape:
    """The output's dims, or those without the classes."""
    shape = a.tensor("output").known
    if not reduce:
        return broadcast_all((shape, a.tensor("target").shape))
    return reduced(shape, (a.integer("axis", default=-1),), False)


def no_shape() -> Shape:
    """For a case that no rule covers."""
    raise Unsure
