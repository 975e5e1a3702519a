"""Whether an operation raises for certain, by the static types of its operands alone: what a graph refuses when traced.

The shape rules of the models say so where they can (`Impossible`); the checks here are for what those rules let pass,
since a type is of use even where the operation fails. Nobody is accused where a dim or rank is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import prod
from typing import Any, Final, TypeAlias

from hybridize.domain.objects import BOTTOM, NONE, Bound, Class, Func, Inst, LibInst, Lit, Obj, Tensor, Tup, Value
from hybridize.domain.tensors import NDARRAY, RAGGED, SPARSE, SYMBOLIC, Shape
from hybridize.library import registry
from hybridize.library.arguments import INFER, Args, Impossible, Operand, Unsure
from hybridize.library.engine import EngineApi
from hybridize.library.shapes import axis_of
from hybridize.library.spec import Call, parametrized

Check: TypeAlias = "Callable[[Args], None]"


class _Probe(Call):
    """A call that is looked at once more, after the program has been solved: it changes nothing."""

    __slots__ = ("refused",)

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.refused = False

    def refuse(self) -> None:
        self.refused = True

    def effect(self, kind: str, detail: str = "", target: Obj | None = None) -> None:
        """Effects have been noted."""


def call_fails(
    engine: EngineApi,
    frame: Any,
    pos: int,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
    receiver: Obj | None,
) -> bool:
    """Whether a call of a library function raises for certain; each argument must be one object."""
    if not _may_ask(args, kwargs):
        return False
    probe = _Probe(engine, frame, pos, name, args, kwargs, receiver)
    check = CHECKS.get(name)
    try:
        if check is not None:
            check(Args(probe))
        rule = _rule(name, receiver)
        if rule is not None:
            rule(probe)
    except Impossible:
        return True
    except Unsure:
        return False
    return probe.refused


def call_result(
    engine: EngineApi,
    frame: Any,
    pos: int,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
    receiver: Obj | None,
) -> Value:
    """What a call of a library function on other arguments would give; empty where that is not known, or it raises."""
    rule = _rule(name, receiver)
    if rule is None or not _may_ask(args, kwargs):
        return BOTTOM
    probe = _Probe(engine, frame, pos, name, args, kwargs, receiver)
    try:
        found: Value = rule(probe)
    except (Impossible, Unsure):
        return BOTTOM
    return BOTTOM if probe.refused else found


def _may_ask(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Whether each argument is one object, which no rule calls, and no tensor of a kind that the checks do not know."""
    values = [*args, *kwargs.values()]
    if any(len(v) != 1 for v in values) or any(isinstance(o, _ACTIVE) for v in values for o in v):
        return False
    return not any(isinstance(o, Tensor) and o.kind in _OTHERS for v in values for o in v)


#: What a rule may call, so that it is not asked again.
_ACTIVE: Final = (Func, Bound, Class, Inst, LibInst)
_OTHERS: Final = frozenset({RAGGED, SPARSE, SYMBOLIC})


def _rule(name: str, receiver: Obj | None) -> Any:
    """The rule of an operation, or of a layer of Keras that calls nothing of the program's."""
    if isinstance(receiver, LibInst):
        inner = [o for cell in receiver.fields.values() for o in cell.value]
        if not name.startswith("keras.layers.") or any(isinstance(o, _ACTIVE) for o in inner):
            return None
        spec = registry.call_spec(receiver.cls)
    elif receiver is None and name.startswith("tf."):
        spec = registry.function_spec(name)
    else:
        return None
    return spec.rule if spec is not None and spec.op else None


# Shapes --------------------------------------------------------------------------------------------------------------


def unlike(a: Shape, b: Shape) -> bool:
    """Whether two shapes can't be broadcast, whatever their unknown dims are."""
    if a is None or b is None:
        return False
    return any(m >= 0 and n >= 0 and m != n and 1 not in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def _demand(holds: bool) -> None:
    if not holds:
        raise Impossible


def _known(*dims: int) -> bool:
    return all(d >= 0 for d in dims)


def _shape(a: Args, *names: str) -> tuple[int, ...]:
    """The shape of an operand that is a tensor, or is made one of."""
    return a.tensor(*names).known


def _product(a: Args) -> None:
    left, right = _shape(a, "a"), _shape(a, "b")
    _demand(len(left) >= 2 and len(right) >= 2)
    if a.flag("transpose_a") or a.flag("adjoint_a"):
        left = (*left[:-2], left[-1], left[-2])
    if a.flag("transpose_b") or a.flag("adjoint_b"):
        right = (*right[:-2], right[-1], right[-2])
    products(left, right)
    _same_dtype([a.tensor("a"), a.tensor("b")])


def products(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Two shapes as those of the operands of a product of matrices."""
    _demand(len(left) >= 2 and len(right) >= 2)
    _demand(not _known(left[-1], right[-2]) or left[-1] == right[-2])
    _demand(not unlike(left[:-2], right[:-2]))


def _vector_product(a: Args) -> None:
    left, right = _shape(a, "a"), _shape(a, "b")
    _demand(len(left) >= 2 and len(right) >= 1)
    inner = left[-2] if a.flag("transpose_a") else left[-1]
    _demand(not _known(inner, right[-1]) or inner == right[-1])


def _tensordot(a: Args) -> None:
    left, right = _shape(a, "a"), _shape(a, "b")
    axes = a.constant("axes")
    if isinstance(axes, int) and axes > 0:
        _demand(axes <= min(len(left), len(right)))
        pairs = zip(left[len(left) - axes :], right[:axes], strict=True)
        _demand(all(m == n or not _known(m, n) for m, n in pairs))


def _squeeze(a: Args) -> None:
    shape = _shape(a, "input")
    for axis in a.integers("axis") or ():
        dim = shape[axis_of(len(shape), axis)]
        _demand(dim < 0 or dim == 1)


def _reshape(a: Args) -> None:
    shape, target = _shape(a, "tensor"), a.dims("shape")
    _demand(target.count(INFER) <= 1)
    rest = [d for d in target if d != INFER]
    if _known(*shape, *rest):
        size, wanted = prod(shape), prod(rest)
        _demand(size == wanted if INFER not in target else not wanted or size % wanted == 0)


def _split(a: Args) -> None:
    x = a.tensor("value")
    size = x.known[axis_of(x.rank, a.integer("axis", default=0))]
    given = a.object("num_or_size_splits")
    if isinstance(given, Lit):
        count = a.integer("num_or_size_splits")
        _demand(size < 0 or (count > 0 and size % count == 0))
    elif given is not None:
        dims = a.dims_of(given)
        if size >= 0 and all(d >= 0 for d in dims):
            _demand(sum(dims) == size)


def _unstack(a: Args) -> None:
    x = a.tensor("value")
    size = x.known[axis_of(x.rank, a.integer("axis", default=0))]
    if a.given("num"):
        _demand(size < 0 or size == a.integer("num"))


def _broadcast_to(a: Args) -> None:
    shape, target = _shape(a, "input"), a.dims("shape")
    _demand(len(shape) <= len(target))
    _demand(all(m < 0 or n < 0 or m in (1, n) for m, n in zip(shape[::-1], target[::-1], strict=False)))


def _pad(a: Args) -> None:
    paddings = _shape(a, "paddings")
    _demand(len(paddings) == 2)
    _demand(paddings[0] < 0 or paddings[0] == a.tensor("tensor").rank)


def _slice(a: Args) -> None:
    shape, begins, sizes = _shape(a, "input_"), a.dims("begin"), a.dims("size")
    _demand(len(shape) == len(begins) == len(sizes))
    for dim, begin, size in zip(shape, begins, sizes, strict=True):
        if _known(dim, begin):
            _demand(begin <= dim and (size < 0 or begin + size <= dim))


def _mask(a: Args) -> None:
    shape, mask = _shape(a, "tensor"), _shape(a, "mask")
    axis = a.integer("axis", default=0)
    _demand(len(mask) > 0 and axis + len(mask) <= len(shape))
    if axis >= 0:
        _demand(all(m == n or not _known(m, n) for m, n in zip(shape[axis:], mask, strict=False)))


def _einsum(a: Args) -> None:
    dims: dict[str, int] = {}
    text = next((o.const for o in a.call.args[0] if isinstance(o, Lit)), "") if a.call.args else ""
    terms = str(text).replace(" ", "").partition("->")[0].split(",")
    if "..." in str(text) or len(terms) != len(a.call.args) - 1:
        return
    for term, value in zip(terms, a.call.args[1:], strict=True):
        shape = a.operand(value).shape
        _demand(shape is None or len(shape) == len(term))
        for letter, dim in zip(term, shape or (), strict=False):
            before = dims.setdefault(letter, dim)
            _demand(before == dim or not _known(before, dim) or 1 in (before, dim))


@parametrized
def _convolution(a: Args, rank: int) -> None:
    shape, filters = _shape(a, "input"), _shape(a, "filters", "filter")
    _demand(len(shape) >= rank + 2 and len(filters) == rank + 2)
    if a.constant("data_format", default="N..C") in (None, "N..C", "NWC", "NHWC", "NDHWC"):
        _demand(not _known(shape[-1], filters[-2]) or (filters[-2] > 0 and shape[-1] % filters[-2] == 0))


@parametrized
def _square(a: Args, name: str) -> None:
    shape = _shape(a, name)
    _demand(len(shape) >= 2 and (not _known(*shape[-2:]) or shape[-1] == shape[-2]))


@parametrized
def _at_least(a: Args, rank: int, name: str = "", most: int = 99) -> None:
    _demand(rank <= len(_shape(a, name or a.first)) <= most)


@parametrized
def _alike(a: Args, *names: str) -> None:
    """Operands that are broadcast, and have one dtype."""
    operands = [a.tensor(n) for n in names]
    _demand(all(not unlike(x.shape, y.shape) for x, y in pairwise(operands)))
    _same_dtype(operands)


@parametrized
def _equal(a: Args, first: str, second: str) -> None:
    """Operands of one shape."""
    x, y = _shape(a, first), _shape(a, second)
    _demand(len(x) == len(y) and all(m == n or not _known(m, n) for m, n in zip(x, y, strict=True)))


def _same_dtype(operands: Iterable[Operand]) -> None:
    dtypes = {o.dtype for o in operands if not o.weak and o.python is None and o.kind != NDARRAY}
    _demand(None in dtypes or len(dtypes) <= 1)


def _ensured(a: Args) -> None:
    shape, target = a.tensor("x").shape, a.dims("shape")
    fits(shape, target)


def fits(shape: Shape, target: tuple[int, ...]) -> None:
    """A shape as one that is said of a tensor."""
    if shape is not None:
        _demand(
            len(shape) == len(target) and all(m == n or not _known(m, n) for m, n in zip(shape, target, strict=True))
        )


def _rank_is(a: Args) -> None:
    _demand(a.tensor("x").rank == a.integer("rank"))


def _rank_is_least(a: Args) -> None:
    _demand(a.tensor("x").rank >= a.integer("rank"))


def _matrices(names: str, check: Callable[[str], Check]) -> dict[str, Check]:
    return {name: check(parameter) for name, _, parameter in (each.partition(":") for each in names.split())}


_PAIRS: Final = (
    "add subtract multiply divide truediv floordiv floormod mod pow maximum minimum atan2 squared_difference less "
    "less_equal greater greater_equal divide_no_nan multiply_no_nan xlogy xdivy"
)
#: The checks by the function's name.
CHECKS: Final[dict[str, Check]] = {
    **{f"tf.math.{name}": _alike("x", "y") for name in _PAIRS.split()},
    **_matrices(
        "tf.linalg.inv:input tf.linalg.det:input tf.linalg.cholesky:input tf.linalg.slogdet:input "
        "tf.linalg.eigh:tensor tf.linalg.eigvalsh:tensor tf.linalg.expm:input tf.linalg.logm:input",
        _square,
    ),
    "tf.linalg.matmul": _product,
    "tf.linalg.matvec": _vector_product,
    "tf.tensordot": _tensordot,
    "tf.squeeze": _squeeze,
    "tf.reshape": _reshape,
    "tf.split": _split,
    "tf.unstack": _unstack,
    "tf.broadcast_to": _broadcast_to,
    "tf.pad": _pad,
    "tf.slice": _slice,
    "tf.boolean_mask": _mask,
    "tf.einsum": _einsum,
    "tf.nn.conv1d": _convolution(1),
    "tf.nn.conv2d": _convolution(2),
    "tf.nn.conv3d": _convolution(3),
    "tf.nn.max_pool2d": _at_least(4, most=4),
    "tf.nn.avg_pool2d": _at_least(4, most=4),
    "tf.nn.max_pool1d": _at_least(3, most=3),
    "tf.nn.avg_pool1d": _at_least(3, most=3),
    "tf.nn.bias_add": _at_least(2),
    "tf.nn.softmax_cross_entropy_with_logits": _equal("labels", "logits"),
    "tf.nn.sigmoid_cross_entropy_with_logits": _equal("labels", "logits"),
    "tf.image.resize": _at_least(3, most=4),
    "tf.image.rgb_to_grayscale": _at_least(1),
    "tf.image.flip_left_right": _at_least(3, most=4),
    "tf.image.flip_up_down": _at_least(3, most=4),
    "tf.image.rot90": _at_least(3, most=4),
    "tf.image.transpose": _at_least(3, most=4),
    "tf.image.central_crop": _at_least(3, most=4),
    "tf.linalg.matrix_transpose": _at_least(2),
    "tf.linalg.diag_part": _at_least(2),
    "tf.linalg.band_part": _at_least(2),
    "tf.ensure_shape": _ensured,
    "tf.debugging.assert_rank": _rank_is,
    "tf.debugging.assert_rank_at_least": _rank_is_least,
}


# Operators, items and unpacking ---------------------------------------------------------------------------------------

_OPERATORS: Final = frozenset("+ - * / // % ** < <= > >= & | ^".split())


def operator_fails(op: str, left: Obj, right: Obj) -> bool:
    """Whether a binary operator on two objects, of which one is a tensor, raises for certain."""
    if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        return False
    if left.kind in _OTHERS or right.kind in _OTHERS or left.kind == right.kind == NDARRAY:
        return False
    if op == "@":
        try:
            if left.shape is not None and right.shape is not None:
                products(left.shape, right.shape)
        except Impossible:
            return True
    elif op not in _OPERATORS:
        return False
    elif unlike(left.shape, right.shape):
        return True
    concrete = NDARRAY not in (left.kind, right.kind)
    return concrete and bool(left.dtype and right.dtype) and left.dtype != right.dtype


def item_fails(owner: Obj, key: Obj) -> bool:
    """Whether `owner[key]` of a tensor, or of a tuple or shape, raises for certain."""
    if isinstance(owner, Tup):
        place = _place(key)
        return owner.kind in ("tuple", "TensorShape") and place is not None and not inside(place, len(owner.items))
    if not isinstance(owner, Tensor) or owner.shape is None or owner.kind in _OTHERS:
        return False
    keys: list[Value] = list(key.items) if isinstance(key, Tup) else [frozenset((key,))]
    places = [next(iter(each)) if len(each) == 1 else None for each in keys]
    if any(p is None or (isinstance(p, Tensor) and p.shape != ()) for p in places):
        return False
    return _out_of(owner.shape, places)


def _out_of(shape: tuple[int, ...], places: list[Obj | None]) -> bool:
    """Whether there are more keys than dims, or one of them is beyond its dim."""
    consuming = [p for p in places if p is not NONE and not (isinstance(p, Lit) and p.kind == "ellipsis")]
    if len(consuming) > len(shape):
        return True
    if any(isinstance(p, Lit) and p.kind == "ellipsis" for p in places):
        return False
    numbers = [(_place(p), dim) for p, dim in zip(consuming, shape, strict=False) if p is not None]
    return any(place is not None and dim >= 0 and not inside(place, dim) for place, dim in numbers)


def _place(key: Obj) -> int | None:
    return key.const if isinstance(key, Lit) and type(key.const) is int else None


def inside(place: int, size: int) -> bool:
    """Whether an index, which may count from the end, is one of a sequence of some size."""
    return -size <= place < size


def sizes(value: Value) -> Iterator[int]:
    """How many parts each tuple or shape of a value has; -1 for anything else."""
    for obj in value:
        yield len(obj.items) if isinstance(obj, Tup) else -1


def assignment_fails(variable: Obj, value: Obj) -> bool:
    """Whether `variable.assign(value)` and its like raise for certain: the value has another shape."""
    if not isinstance(variable, Tensor) or not isinstance(value, Tensor):
        return False
    a, b = variable.shape, value.shape
    if a is None or b is None or value.kind in _OTHERS:
        return False
    return len(a) != len(b) or any(m != n and _known(m, n) for m, n in zip(a, b, strict=True))
