"""Shape rules of array functions that join arrays, or multiply them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.objects import NONE, Container, Stream, Tensor
from hybridize.domain.tensors import UNRESOLVED, Dim, Shape
from hybridize.library.arithmetic import contraction
from hybridize.library.lengths import length_of
from hybridize.library.operands import Args, Operand, Unsure
from hybridize.library.shapes import concatenated, product_of, stacked, sum_of
from hybridize.library.spec import parametrized

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


def element(a: Args) -> Operand:
    """What stands for each array of a sequence of unknown length."""
    (obj,) = a.call.args[0] if a.call.args and len(a.call.args[0]) == 1 else (NONE,)
    if not isinstance(obj, (Container, Stream)):
        raise Unsure
    found = a.operand(a.call.elements(obj.value))
    if found.shape is None:
        raise Unsure
    return found


def dtypes(a: Args) -> list[Operand]:
    """The arrays of the sequence, or one for all of them."""
    try:
        return operands(a)
    except Unsure:
        return [element(a)]


@parametrized
def _over(a: Args, rule: Callable[[Args, list[Shape]], Shape]) -> Shape:
    """A rule over the arrays of a sequence; where their number is not known, the dim that it changes is not, either."""
    try:
        return rule(a, [o.shape for o in operands(a)])
    except Unsure:
        one = element(a).shape
    first, second = rule(a, [one]), rule(a, [one, one])
    if first is None or second is None:
        raise Unsure
    count = length_of(a.call.engine, a.call.frame, a.call.args[0])
    # Each further array adds as much as the second one does.
    return tuple(
        d if d == e else UNRESOLVED if count is None or d < 0 or e < 0 else d + (count - 1) * (e - d)
        for d, e in zip(first, second, strict=True)
    )


def _concatenate(a: Args, shapes: list[Shape]) -> Shape:
    if "axis" in a.call.kwargs or len(a.call.args) > 1:
        if not a.given("axis"):
            return (sum_of(product_of(s) if s is not None else UNRESOLVED for s in shapes),)
        return concatenated(shapes, a.integer("axis"))
    return concatenated(shapes, 0)


def _stack(a: Args, shapes: list[Shape]) -> Shape:
    return stacked(shapes, a.integer("axis", default=0) if a.given("axis") else 0)


def _known(shapes: list[Shape]) -> list[Dims]:
    if any(s is None for s in shapes):
        raise Unsure
    return [s for s in shapes if s is not None]


def _vstack(a: Args, shapes: list[Shape]) -> Shape:
    return concatenated([s if len(s) > 1 else (1, *s) if s else (1, 1) for s in _known(shapes)], 0)


def _hstack(a: Args, shapes: list[Shape]) -> Shape:
    known = [s or (1,) for s in _known(shapes)]
    return concatenated(known, 0 if len(known[0]) == 1 else 1)


def _dstack(a: Args, shapes: list[Shape]) -> Shape:
    deep = [s if len(s) > 2 else (*s, 1) if len(s) == 2 else (1, *s, 1) if s else (1, 1, 1) for s in _known(shapes)]
    return concatenated(deep, 2)


concatenate: Final = _over(_concatenate)
stack: Final = _over(_stack)
vstack: Final = _over(_vstack)
hstack: Final = _over(_hstack)
dstack: Final = _over(_dstack)
column_stack: Final = _over(lambda a, shapes: concatenated([s if len(s) > 1 else (*s, 1) for s in _known(shapes)], 1))


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
