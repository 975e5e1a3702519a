"""Where Python and TensorFlow raise by themselves, and what becomes of such an error in a graph.

An operation that its operands' shapes or dtypes don't suit raises `InvalidArgumentError` in eager code. While a
function is traced, the same operation raises `ValueError` or `TypeError`. An operation that fails by the values it
gets raises the same error in both. Of Python's own errors AutoGraph makes some anew (`KeyError`, `ValueError`,
`TypeError`), with a longer text; `IndexError` and `ZeroDivisionError` become a `StagingError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Final, TypeAlias

from hybridize.domain.objects import Container, Lit, Prim, Tensor, Tup, Value
from hybridize.domain.tensors import NDARRAY, SYMBOLIC, Shape
from hybridize.domain.words import NUMBERS
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.records import dataclass
from hybridize.tracing.shapes.meetings import ALIKE, OPERATORS
from hybridize.tracing.values import argument, number
from hybridize.tracing.views import FrameView

_Rule: TypeAlias = "Callable[[Shape, Shape], bool | None]"
INVALID: Final = "tf.errors.InvalidArgumentError"
STAGING: Final = "builtins.Exception"  # what of a `StagingError` a program can name
_VALUE, _TYPE = "builtins.ValueError", "builtins.TypeError"
_DIVISIONS: Final = frozenset({"/", "//", "%"})
#: Operations that want certain shapes of their operands, whatever the rest.
_SHAPED: Final = frozenset(
    "tf.stack tf.split tf.squeeze tf.expand_dims tf.transpose tf.unstack tf.broadcast_to tf.tile tf.einsum tf.pad "
    "tf.tensordot tf.linalg.matvec tf.nn.conv1d tf.nn.conv2d tf.nn.conv3d tf.nn.depthwise_conv2d tf.math.top_k "
    "tf.nn.bias_add tf.ensure_shape tf.linalg.inv tf.linalg.det tf.linalg.cholesky tf.linalg.solve tf.nn.top_k "
    "tf.image.resize tf.nn.softmax_cross_entropy_with_logits tf.nn.sigmoid_cross_entropy_with_logits tf.reverse "
    "tf.boolean_mask tf.where tf.math.reduce_sum tf.math.reduce_mean tf.math.reduce_max tf.math.reduce_min "
    "tf.math.reduce_prod".split()
)
#: Operations that fail by the values they get, in a graph as in eager code.
_BY_VALUE: Final = (
    "tf.debugging.",
    "tf.gather",
    "tf.io.",
    "tf.strings.to_number",
    "tf.linalg.",
    "tf.image.decode",
    "tf.audio.decode",
    "tf.math.floordiv",
    "tf.math.floormod",
    "tf.slice",
    "tf.range",
    "tf.fill",
    "tf.one_hot",
    "tf.math.segment",
    "tf.nn.sparse_softmax",
    "tf.nn.embedding_lookup",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A place that may raise: what, and the canonical names of the errors in eager code and out of a graph."""

    position: int
    said: str
    eager: str
    graph: str
    certain: bool


def failures(view: FrameView) -> list[Failure]:
    """The places of a frame that may raise by themselves."""
    return view.project.shared(("failures", view.frame), lambda: list(_failures(view)))


def fails_by_value(view: FrameView) -> bool:
    """Whether a frame has an operation that raises by the values it gets."""
    for instr in view.instructions():
        if isinstance(instr, ir.Call) and any(name.startswith(_BY_VALUE) for name in view.names(instr.function)):
            return True
        if isinstance(instr, ir.Operator) and instr.operator in ("//", "%") and _tensors(view, instr.right):
            return True
    return False


def _failures(view: FrameView) -> Iterator[Failure]:
    for instr in view.instructions():
        if isinstance(instr, ir.TwoSided):
            if isinstance(instr, ir.Operator) and instr.operator in _DIVISIONS:
                yield from _division(view, instr)
            if instr.operator in OPERATORS:
                rule = _product if instr.operator == "@" else _broadcast
                yield from _pair(view, instr, instr.left, instr.right, rule, f"`{instr.operator}`")
        elif isinstance(instr, ir.Item):
            yield from _item(view, instr)
        elif isinstance(instr, ir.Call) and instr.position in view.frame.ops:
            yield from _operation(view, instr)


# Python ---------------------------------------------------------------------------------------------------------------


def _division(view: FrameView, instr: ir.Operator) -> Iterator[Failure]:
    left, right = view.value(instr.left), view.value(instr.right)
    if not (left and right and _are_numbers(left) and _are_numbers(right)) or number(view, instr.right):
        return
    if any(not isinstance(o, Lit) or not o.const for o in right):
        certain = any(isinstance(o, Lit) for o in right)
        yield Failure(instr.position, f"`{instr.operator}` by zero", "builtins.ZeroDivisionError", STAGING, certain)


def _are_numbers(value: Value) -> bool:
    return all(isinstance(o, (Lit, Prim)) and o.kind in NUMBERS for o in value)


def _item(view: FrameView, instr: ir.Item) -> Iterator[Failure]:
    """`xs[i]` of a list or tuple, `d[k]`, `t[3]`."""
    owner, keys = view.value(instr.source), view.value(instr.index)
    if not keys or not all(isinstance(o, (Lit, Prim)) for o in keys):
        return
    for obj in owner:
        if isinstance(obj, Tensor):
            yield from _element(instr, obj, keys)
            return
        missing = _may_miss(obj, keys)
        if missing is None:
            continue
        if isinstance(obj, Container) and obj.kind.endswith("dict"):
            yield Failure(instr.position, "a missing key", "builtins.KeyError", "builtins.KeyError", missing)
        else:
            yield Failure(instr.position, "an index out of range", "builtins.IndexError", STAGING, missing)
        return


def _may_miss(obj: object, keys: Value) -> bool | None:
    """Whether a key is certainly missing (it may be: False); None where it can't be, or nobody knows of what."""
    certain = False
    if isinstance(obj, Tup):
        size = len(obj.items)
        present = {*range(-size, size)} if obj.kind in ("tuple", "list") else None
    elif isinstance(obj, Container) and obj.kind in ("list", "dict"):
        size = len(obj.fields)
        present = {*range(-size, size)} if obj.kind == "list" else set(obj.fields)
        if not obj.exact:
            return False if obj.kind == "list" else None
    else:
        return None
    if present is None:
        return None
    for key in keys:
        if isinstance(key, Prim):
            continue
        if isinstance(key, Lit) and key.const not in present:
            certain = True
    if certain:
        return True
    return False if any(isinstance(key, Prim) for key in keys) else None


def _element(instr: ir.Item, obj: Tensor, keys: Value) -> Iterator[Failure]:
    if obj.kind in (NDARRAY, SYMBOLIC) or not all(isinstance(o, Lit) and type(o.const) is int for o in keys):
        return
    size = obj.shape[0] if obj.shape else -1
    places = [o.const for o in keys if isinstance(o, Lit) and isinstance(o.const, int)]
    if size < 0 or any(not -size <= place < size for place in places):
        yield Failure(instr.position, "an index out of range", INVALID, _VALUE, certain=size >= 0)


# TensorFlow -----------------------------------------------------------------------------------------------------------


def _tensors(view: FrameView, slot: int) -> list[Tensor]:
    """The tensors of operations in a slot; none where it may hold anything else."""
    value = view.value(slot)
    found = [o for o in value if isinstance(o, Tensor) and o.kind not in (NDARRAY, SYMBOLIC)]
    return found if len(found) == len(value) else []


def _operation(view: FrameView, instr: ir.Call) -> Iterator[Failure]:
    for name in view.names(instr.function):
        said = f"`{name}`"
        if name in ALIKE:
            slots = [argument(instr, i, p) for i, p in enumerate(ALIKE[name]) if p]
            plain = len(instr.arguments) + len(instr.keywords) == 2  # nothing is transposed
            product = _product if plain and name.endswith("matmul") else _unsure
            rule = product if name.endswith(("matmul", "tensordot")) else _broadcast
            if min(slots) >= 0:
                yield from _pair(view, instr, slots[0], slots[1], rule, said)
        elif name == "tf.reshape":
            yield from _reshape(view, instr)
        elif name in ("tf.concat", "tf.stack") or name in _SHAPED:
            yield Failure(instr.position, f"shapes that don't suit {said}", INVALID, _VALUE, certain=False)


def _pair(view: FrameView, instr: Instr, left: int, right: int, rule: _Rule, said: str) -> Iterator[Failure]:
    """An operation on two tensors, of one dtype and of shapes that fit."""
    ones, others = _tensors(view, left), _tensors(view, right)
    pairs = [(a, b) for a in ones for b in others]
    if any(a.dtype and b.dtype and a.dtype != b.dtype for a, b in pairs):
        yield Failure(instr.position, f"dtypes that don't suit {said}", INVALID, _TYPE, certain=True)
    fit = [rule(a.shape, b.shape) for a, b in pairs]
    if not all(fit):
        yield Failure(instr.position, f"shapes that don't suit {said}", INVALID, _VALUE, certain=False in fit)


def _broadcast(a: Shape, b: Shape) -> bool | None:
    """Whether shapes broadcast; None where nobody knows."""
    if a == () or b == ():
        return True
    if a is None or b is None:
        return None
    pairs = list(zip(reversed(a), reversed(b), strict=False))
    if any(m >= 0 and n >= 0 and m != n and 1 not in (m, n) for m, n in pairs):
        return False
    return None if any((m < 0 or n < 0) and 1 not in (m, n) for m, n in pairs) else True


def _product(a: Shape, b: Shape) -> bool | None:
    if a is None or b is None or len(a) < 2 or len(b) < 2 or a[-1] < 0 or b[-2] < 0:
        return None
    return a[-1] == b[-2]


def _unsure(a: Shape, b: Shape) -> bool | None:
    return None


def _reshape(view: FrameView, instr: ir.Call) -> Iterator[Failure]:
    """`tf.reshape(x, [2, 3])` of something that may have another size."""
    slot = argument(instr, 1, "shape")
    dims: list[int] = []
    for obj in view.value(slot) if slot >= 0 else ():
        cells = obj.items if isinstance(obj, Tup) else ()
        if isinstance(obj, Container) and obj.exact:
            cells = tuple(cell.value for cell in obj.fields.values())
        consts = [o.const for cell in cells for o in cell if isinstance(o, Lit)]
        dims = [c for c in consts if isinstance(c, int)]
        if len(dims) != len(cells):
            dims = []
    fixed = prod(d for d in dims if d >= 0)
    if not dims or dims == [-1] or not fixed:
        return
    for tensor in _tensors(view, argument(instr, 0, "tensor")):
        known = tensor.shape is not None and all(d >= 0 for d in tensor.shape)
        size = prod(tensor.shape or ()) if known else -1
        if not known or (size % fixed if -1 in dims else size != fixed):
            yield Failure(instr.position, "shapes that don't suit `tf.reshape`", INVALID, _VALUE, certain=known)
            return
