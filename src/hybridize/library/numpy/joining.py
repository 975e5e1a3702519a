"""Shape rules of array functions that join arrays, or multiply them."""

from __future__ import annotations

from hybridize.domain.objects import NONE, Tensor
from hybridize.domain.tensors import UNRESOLVED, Dim, Shape
from hybridize.library.arithmetic import contraction
from hybridize.library.operands import Args, Operand, Unsure
from hybridize.library.shapes import (
    concatenated,
    product_of,
    stacked,
    sum_of,
)

Dims = tuple[Dim, ...]


def operands(a: Args) -> list[Operand]:
    """The arrays of the sequence that is the first argument."""
    if a.call.args:
        (obj,) = a.call.args[0] if len(a.call.args[0]) == 1 else (NONE,)
        if obj is NONE:
            raise Unsure
        if isinstance(obj, Tensor):
            a.kinds.append(obj.kind)
            if not obj.shape or obj.shape[0] < 0:
                raise Unsure
            return [Operand(obj.dtype, obj.shape[1:], obj.kind)] * obj.shape[0]
        return [a.operand(v) for v in a.items_of(obj)]
    return a.tensors(a.first)


def concatenate(a: Args) -> Shape:
    """The shape that `concatenate` gives."""
    shapes = [o.shape for o in operands(a)]
    if "axis" in a.call.kwargs or len(a.call.args) > 1:
        if not a.given("axis"):
            return (sum_of(product_of(s) if s is not None else UNRESOLVED for s in shapes),)
        return concatenated(shapes, a.integer("axis"))
    return concatenated(shapes, 0)


def stack(a: Args) -> Shape:
    """The shape that `stack` gives."""
    axis = a.integer("axis", default=0) if a.given("axis") else 0
    return stacked([o.shape for o in operands(a)], axis)


def _known(shapes: list[Shape]) -> list[Dims]:
    if any(s is None for s in shapes):
        raise Unsure
    return [s for s in shapes if s is not None]


def vstack(a: Args) -> Shape:
    """The shape that `vstack` gives."""
    shapes = [s if len(s) > 1 else (1, *s) if s else (1, 1) for s in _known([o.shape for o in operands(a)])]
    return concatenated(shapes, 0)


def hstack(a: Args) -> Shape:
    """The shape that `hstack` gives."""
    shapes = [s or (1,) for s in _known([o.shape for o in operands(a)])]
    return concatenated(shapes, 0 if len(shapes[0]) == 1 else 1)


def dstack(a: Args) -> Shape:
    """The shape that `dstack` gives."""
    shapes = []
    for s in _known([o.shape for o in operands(a)]):
        shapes.append(s if len(s) > 2 else (*s, 1) if len(s) == 2 else (1, *s, 1) if s else (1, 1, 1))
    return concatenated(shapes, 2)


def column_stack(a: Args) -> Shape:
    """The shape that `column_stack` gives."""
    shapes = [s if len(s) > 1 else (*s, 1) for s in _known([o.shape for o in operands(a)])]
    return concatenated(shapes, 1)


def dot(a: Args) -> Shape:
    """The shape that `dot` gives."""
    left, right = a.nth(0).known, a.nth(1).known
    if not left or not right:
        return left or right
    if len(right) == 1:
        return left[:-1]
    return (*left[:-1], *right[:-2], right[-1])


def matmul(a: Args) -> Shape:
    """The shape that `matmul` gives."""
    found = contraction(a.nth(0).shape, a.nth(1).shape)
    if found is None:
        raise Unsure
    return found


def inner(a: Args) -> Shape:
    """The shape that `inner` gives."""
    left, right = a.nth(0).known, a.nth(1).known
    return (*left[:-1], *right[:-1]) if left and right else left or right


def outer(a: Args) -> Shape:
    """The shape that `outer` gives."""
    return (product_of(a.nth(0).known), product_of(a.nth(1).known))


def kron(a: Args) -> Shape:
    """The shape that `kron` gives."""
    left, right = a.nth(0).known, a.nth(1).known
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    return tuple(product_of(p) for p in zip(left, right, strict=True))
