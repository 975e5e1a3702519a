"""Tensor types: dims, shapes and dtypes, and how two of them join.

A dim is an int: zero or more is its size; `DYNAMIC` means that TensorFlow itself would say None (a batch of a dataset);
`UNRESOLVED` means that it is fixed and we could not compute it. Only the first may become None in an input signature
without thought. `BATCH` is dynamic, too, and a symbol: the number of examples in a batch, which is the same for all
tensors of one batch. It lasts while a dim is only moved about; what is computed from it is just dynamic (`blurred`). A
shape is a tuple of dims, or None for unknown rank.

A dim of `at_run_time(n)` is both: TensorFlow says None of it, and every tensor that arrives has n there (the batches of
a dataset whose size is known and divides evenly). It is a symbol as well. A dim of `batch_of(n)` is a `BATCH` of which
it is known how many examples most batches have: the last one may have fewer.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Dim: TypeAlias = int
Shape: TypeAlias = tuple[Dim, ...] | None

DYNAMIC: Final = -1
UNRESOLVED: Final = -2
BATCH: Final = -8

DENSE: Final = "dense"
SPARSE: Final = "sparse"
RAGGED: Final = "ragged"
VARIABLE: Final = "variable"
NDARRAY: Final = "ndarray"
SYMBOLIC: Final = "symbolic"  # a Keras symbolic tensor: a value of functional models, never of a running program


_RUN_TIME: Final = -10
_BATCH_OF: Final = -(1 << 40)


def at_run_time(size: int) -> Dim:
    """The dim that is None in a graph and `size` in every tensor that arrives."""
    return _RUN_TIME - size


def batch_of(size: int) -> Dim:
    """The dim of the batches of a dataset that have `size` examples, but for the last one."""
    return _BATCH_OF - size


def is_batch(dim: Dim) -> bool:
    """Whether a dim is the number of examples in a batch, which differs from batch to batch."""
    return dim == BATCH or dim <= _BATCH_OF


def expected(dim: Dim) -> int | None:
    """The size that a dim has in most tensors that arrive; None where that is not known."""
    if dim >= 0:
        return dim
    return _BATCH_OF - dim if dim <= _BATCH_OF else _RUN_TIME - dim if dim <= _RUN_TIME else None


def arrived(shape: Shape) -> Shape:
    """A shape as that of a tensor that has arrived, outside of any graph."""
    if shape is None or min(shape, default=0) > _RUN_TIME:
        return shape
    return tuple(_RUN_TIME - dim if _BATCH_OF < dim <= _RUN_TIME else dim for dim in shape)


def is_dynamic(dim: Dim) -> bool:
    """Whether TensorFlow says None for a dim."""
    return dim == DYNAMIC or dim <= BATCH


def blurred(dim: Dim) -> Dim:
    """A dim that is computed from one: a symbol is lost."""
    return DYNAMIC if dim <= BATCH else dim


def join_dims(a: Dim, b: Dim) -> Dim:
    """The dim that covers both: equal dims stay, a dynamic one wins over an unresolved one, else unresolved."""
    if a == b:
        return a
    if is_batch(a) and is_batch(b):
        return BATCH
    return DYNAMIC if is_dynamic(a) or is_dynamic(b) else UNRESOLVED


def join_shapes(a: Shape, b: Shape) -> Shape:
    """The shape that covers both; differing ranks give an unknown one."""
    if a is b or a == b:
        return a
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(map(join_dims, a, b))


def public_shape(shape: Shape) -> tuple[int | None, ...] | None:
    """The shape as the reports show it: None for every dim that is not a number."""
    if shape is None:
        return None
    return tuple(dim if dim >= 0 else None for dim in shape)
