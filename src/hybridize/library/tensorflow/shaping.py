"""Operations that rearrange tensors: reshape, transpose, concat, split, pad, tile, blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.objects import NONE, Value, tensor
from hybridize.domain.tensors import DYNAMIC, RAGGED, SPARSE, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.convert import narrowed
from hybridize.library.lengths import length_of
from hybridize.library.operands import (
    INFER,
    Args,
    Impossible,
    Operand,
    Unsure,
    common,
    group,
    op,
    record,
    same,
    sure,
    value_rule,
)
from hybridize.library.shapes import (
    axis_of,
    concatenated,
    expanded,
    permuted,
    product_of,
    replaced,
    reshaped,
    squeezed,
    stacked,
    sum_of,
    unsized,
)
from hybridize.library.spec import Spec


def _reshape(a: Args) -> Shape:
    shape = a.tensor("tensor").shape
    return reshaped(shape, a.dims("shape"))


def _transpose(a: Args) -> Shape:
    shape = a.tensor("a").shape
    try:
        order = a.integers("perm")
        if shape is None and order is not None:
            return (UNRESOLVED,) * len(order)
        return permuted(a.tensor("a").known, order)
    except Unsure:
        return (UNRESOLVED,) * len(a.tensor("a").known)


def _expand(a: Args) -> Value:
    x = a.tensor("input")
    axis = a.integer("axis")
    if x.kind == RAGGED:
        return tensor(RAGGED, x.dtype, expanded(x.known, axis)).value
    if x.kind == SPARSE:
        raise Unsure
    return a.result(x.dtype, expanded(x.known, axis), x.content if x.shape == () and not x.python else None)


def _squeeze(a: Args) -> Shape:
    return squeezed(a.tensor("input").known, a.integers("axis"))


def _kept(operands: list[Operand]) -> Shape:
    """The elements of a vector that is made of vectors or scalars whose elements are known."""
    if any(o.content is None or o.shape is None or len(o.shape) > 1 for o in operands):
        return None
    return tuple(d for o in operands for d in o.content or ())


def _concat(a: Args) -> Value:
    try:
        values = a.tensors("values")
    except Unsure:
        inner = a.every("values")
        if inner.kind in (RAGGED, SPARSE):
            raise
        axis = axis_of(inner.rank, a.integer("axis"))
        count = _length(a)
        joined = [d if i != axis else _times(d, count) for i, d in enumerate(inner.known)]
        return a.result(inner.dtype, tuple(joined))
    if any(o.kind in (RAGGED, SPARSE) for o in values):
        ragged = all(o.kind != SPARSE for o in values)
        return (
            tensor(RAGGED, common(values), _ragged_rows(a, values)).value if ragged else a.result(common(values), None)
        )
    shape = sure(lambda b: concatenated([o.shape for o in values], b.integer("axis")), a)
    if shape is None:
        known = [o.shape for o in values if o.shape is not None]
        shape = (UNRESOLVED,) * len(known[0]) if known else None
    content = _kept(values) if shape is not None and len(shape) == 1 else None
    return a.result(common(values), shape, content)


def _ragged_rows(a: Args, values: list[Operand]) -> Shape:
    """The shape of ragged tensors one after the other: what is not the same in all of them is ragged."""
    shapes = [o.shape for o in values if o.shape is not None]
    axis = sure(lambda b: b.integer("axis"), a)
    if len(shapes) < len(values) or axis is None or len({len(s) for s in shapes}) != 1:
        return None
    at = axis_of(len(shapes[0]), axis)
    columns = [set(column) for column in zip(*shapes, strict=True)]
    dims = [min(c) if len(c) == 1 and min(c) >= 0 else DYNAMIC for c in columns]
    known = all(s[at] >= 0 for s in shapes)
    return (*dims[:at], sum(s[at] for s in shapes) if known else DYNAMIC, *dims[at + 1 :])


def _stack(a: Args) -> Value:
    axis = a.integer("axis", default=0)
    try:
        values = a.tensors("values")
    except Unsure:
        inner = a.every("values")
        if inner.kind in (RAGGED, SPARSE):
            raise
        at = axis_of(inner.rank + 1, axis)
        dtype = narrowed(inner.dtype) if inner.weak else inner.dtype
        return a.result(dtype, (*inner.known[:at], _length(a), *inner.known[at:]))
    if any(o.kind in (RAGGED, SPARSE) for o in values):
        return a.result(common(values), None)
    shape = sure(lambda b: stacked([o.shape for o in values], axis), a)
    content = _kept(values) if shape is not None and len(shape) == 1 else None
    dtype = common(values)
    return a.result(narrowed(dtype) if all(o.weak for o in values) else dtype, shape, content)


def _length(a: Args) -> Dim:
    """How many tensors a list holds whose elements are not known one by one."""
    found = length_of(a.call.engine, a.call.frame, a.value("values"))
    return UNRESOLVED if found is None else found


def _times(dim: Dim, count: Dim) -> Dim:
    """The dim of so many tensors side by side, which may differ in it where it is not known."""
    return dim * count if dim >= 0 and count >= 0 else UNRESOLVED if dim >= 0 else blurred(dim)


def each_of(a: Args, name: str, made: Callable[[Operand], Value]) -> Value:
    """A fresh list of what is made of each tensor of a sequence; of a sequence that is not known a list of as many."""
    try:
        return a.call.listed([made(operand) for operand in a.tensors(name)])
    except Unsure:
        return a.call.list_of(made(a.every(name)))


def _split(a: Args) -> Value:
    x = a.tensor("value")
    if x.shape is None:
        return _parts_of_unknown(a, x)
    axis = axis_of(x.rank, a.integer("axis", default=0))
    size = x.known[axis]
    sizes: list[Dim]
    try:
        given = a.object("num_or_size_splits")
        scalar_given = given is not None and a.operand(given.value).shape == ()
        if scalar_given:
            count = a.integer("num_or_size_splits")
            if size >= 0 and size % count:
                raise Impossible
            sizes = [size // count if size >= 0 else size if count == 1 else blurred(size)] * count
        else:
            dims = a.dims("num_or_size_splits")
            rest = [d for d in dims if d != INFER]
            missing = size - sum(rest) if size >= 0 and all(d >= 0 for d in rest) else unsized(size, *rest)
            sizes = [missing if d == INFER else d for d in dims]
    except Unsure:
        part = a.result(x.dtype, replaced(x.known, axis, UNRESOLVED))
        return a.call.list_of(part)
    return a.call.listed([a.result(x.dtype, replaced(x.known, axis, d)) for d in sizes])


def _parts_of_unknown(a: Args, x: Operand) -> Value:
    """The parts of a tensor of unknown rank: as many as the arguments say."""
    part = a.result(x.dtype, None)
    try:
        given = a.items_of(a.object("num_or_size_splits") or NONE)
        count = a.integer("num_or_size_splits") if len(given) == 1 else len(given)
    except Unsure:
        return a.call.list_of(part)
    return a.call.listed([part] * count) if count <= 64 else a.call.list_of(part)


def _unstack(a: Args) -> Value:
    x = a.tensor("value")
    if x.shape is None:
        return a.call.list_of(a.result(x.dtype, None))
    axis = axis_of(x.rank, a.integer("axis", default=0))
    inner = replaced(x.known, axis)
    count = x.known[axis]
    if a.given("num"):
        count = a.integer("num")
    if count < 0:
        return a.call.list_of(a.result(x.dtype, inner))
    if x.content is not None and len(x.content) == count:
        return a.call.listed([a.result(x.dtype, (), (d,)) for d in x.content])
    return (
        a.call.listed([a.result(x.dtype, inner)] * min(count, 64))
        if count <= 64
        else a.call.list_of(a.result(x.dtype, inner))
    )


def _tile(a: Args) -> Shape:
    multiples = a.dims("multiples")
    shape = a.tensor("input").shape
    shape = (UNRESOLVED,) * len(multiples) if shape is None else shape
    if len(multiples) != len(shape):
        raise Impossible
    return tuple(product_of((d, UNRESOLVED if m == INFER else m)) for d, m in zip(shape, multiples, strict=True))


def _pairs(a: Args, name: str, rank: int | None) -> list[tuple[Dim, Dim]]:
    """Pairs of numbers per dim."""
    obj = a.object(name)
    if obj is None:
        raise Impossible
    try:
        items = a.items_of(obj)
        pairs = [a.dims_of(next(iter(item))) for item in items if len(item) == 1]
    except Unsure:
        if rank is None:
            raise
        return [(UNRESOLVED, UNRESOLVED)] * rank
    if rank not in (None, len(pairs)) or any(len(p) != 2 for p in pairs):
        raise Unsure
    return [(p[0], p[1]) for p in pairs]


def _pad(a: Args) -> Shape:
    shape = a.tensor("tensor").shape
    pairs = _pairs(a, "paddings", None if shape is None else len(shape))
    shape = (UNRESOLVED,) * len(pairs) if shape is None else shape
    return tuple(d if pair == (0, 0) else sum_of((d, *pair)) for d, pair in zip(shape, pairs, strict=True))


def _broadcast_to(a: Args) -> Shape:
    return tuple(UNRESOLVED if d == INFER else d for d in a.dims("shape"))


def _repeat(a: Args) -> Shape:
    shape = a.tensor("input").known
    if not a.given("axis"):
        count = product_of(shape)
        shape, axis = (count,), 0
    else:
        axis = axis_of(len(shape), a.integer("axis"))
    repeats = a.tensor("repeats")
    if repeats.shape not in ((), (1,)):
        total = sum_of(repeats.content) if repeats.content else DYNAMIC
        return replaced(shape, axis, total)
    times = repeats.content[0] if repeats.content else DYNAMIC if not repeats.python else UNRESOLVED
    return replaced(shape, axis, product_of((shape[axis], times)))


def meshgrid(a: Args) -> Value:
    """The grids of the elements of vectors."""
    operands = [a.operand(v) for v in a.call.args]
    if a.call.rest or "sparse" in a.call.kwargs:
        raise Unsure
    sizes = [product_of(o.known) for o in operands]
    indexing = "xy"
    if "indexing" in a.call.kwargs:
        indexing = a.constant("indexing")
    if indexing == "xy" and len(sizes) > 1:
        sizes[:2] = sizes[1::-1]
    return a.call.listed([a.result(o.dtype, tuple(sizes)) for o in operands])


def _depth_to_space(a: Args) -> Shape:
    n, h, w, c = _image_dims(a)
    b = a.integer("block_size")
    return (n, product_of((h, b)), product_of((w, b)), _quotient(c, b * b))


def _space_to_depth(a: Args) -> Shape:
    n, h, w, c = _image_dims(a)
    b = a.integer("block_size")
    return (n, _quotient(h, b), _quotient(w, b), product_of((c, b * b)))


def _image_dims(a: Args) -> tuple[Dim, ...]:
    if a.constant("data_format", default="NHWC") != "NHWC":
        raise Unsure
    shape = a.tensor("input").known
    if len(shape) != 4:
        raise Impossible
    return shape


def _quotient(dim: Dim, by: int) -> Dim:
    return dim if by == 1 else blurred(dim) if dim < 0 else dim // by


def _space_to_batch(a: Args) -> Shape:
    shape = a.tensor("input").known
    block = a.integers("block_shape") or ()
    pads = _pairs(a, "paddings", len(block))
    inner = [
        _quotient(d if pair == (0, 0) else sum_of((d, *pair)), b)
        for d, b, pair in zip(shape[1:], block, pads, strict=False)
    ]
    return (product_of((shape[0], product_of(block))), *inner, *shape[1 + len(block) :])


def _batch_to_space(a: Args) -> Shape:
    shape = a.tensor("input").known
    block = a.integers("block_shape") or ()
    crops = _pairs(a, "crops", len(block))
    inner: list[Dim] = []
    for d, b, (low, high) in zip(shape[1:], block, crops, strict=False):
        grown = product_of((d, b))
        inner.append(grown - low - high if min(grown, low, high) >= 0 else unsized(grown, low, high))
    return (_quotient(shape[0], max(1, product_of(block))), *inner, *shape[1 + len(block) :])


def _slice(a: Args) -> Shape:
    shape = a.tensor("input_").shape
    sizes = a.dims("size")
    if INFER not in sizes:
        return sizes
    if shape is None:
        return tuple(UNRESOLVED if d == INFER else d for d in sizes)
    begins = a.dims("begin")
    return tuple(
        size if size != INFER else d - b if d >= 0 and b >= 0 else d if b == 0 else unsized(d, b)
        for size, d, b in zip(sizes, shape, begins, strict=True)
    )


def _strided(a: Args) -> Shape:
    if any(a.given(n) for n in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")):
        raise Unsure
    shape = a.tensor("input_").known
    begin, end = a.integers("begin") or (), a.integers("end") or ()
    strides = a.integers("strides") or (1,) * len(begin)
    dims = [
        len(range(*slice(b, e, s).indices(d))) if d >= 0 else unsized(d)
        for d, b, e, s in zip(shape, begin, end, strides, strict=False)
    ]
    return (*dims, *shape[len(dims) :])


def _diag_part(a: Args) -> Shape:
    shape = a.tensor("input").known
    if a.given("k") and a.integer("k") != 0:
        raise Unsure
    return (*shape[:-2], min(shape[-2:]) if min(shape[-2:]) >= 0 else unsized(*shape[-2:]))


def _diag(a: Args) -> Shape:
    shape = a.tensor("diagonal").known
    if any(a.given(n) for n in ("num_rows", "num_cols")):
        raise Unsure
    k = a.integer("k", default=0)
    side = sum_of((shape[-1], abs(k)))
    return (*shape[:-1], side, side)


def _crelu(a: Args) -> Shape:
    shape = a.tensor("features").known
    axis = a.integer("axis", default=-1)
    at = axis_of(len(shape), axis)
    return replaced(shape, at, product_of((2, shape[at])))


def _parallel(a: Args) -> Shape:
    return stacked([o.shape for o in a.tensors("values")], 0)


def _identity_n(a: Args) -> Value:
    return each_of(a, "input", lambda o: a.result(o.dtype, o.shape))


def _clip_global(a: Args) -> Value:
    try:
        operands = a.tensors("t_list")
    except (Unsure, Impossible):  # so many as there are, each as it was
        one = a.every("t_list")
        clipped = a.call.list_of(a.call.elements(a.value("t_list")), "list", "clipped")
        return record("tuple", (), clipped, a.result(one.dtype, ()))
    values = a.call.listed([a.result(o.dtype, o.shape) for o in operands])
    return record("tuple", (), values, a.result(common(operands), ()))


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.reshape": op(same("tensor"), _reshape),
    "tf.transpose": op(same("a"), _transpose),
    "tf.expand_dims": Spec(value_rule(_expand), op=True),
    "tf.squeeze": op(same("input"), _squeeze),
    "tf.concat": Spec(value_rule(_concat), op=True),
    "tf.stack": Spec(value_rule(_stack), op=True),
    "tf.parallel_stack": op(lambda a: common(a.tensors("values")), _parallel),
    "tf.split": Spec(value_rule(_split, "unknown"), op=True),
    "tf.unstack": Spec(value_rule(_unstack, "unknown"), op=True),
    "tf.tile": op(same("input"), _tile),
    "tf.pad": op(same("tensor"), _pad),
    "tf.broadcast_to": op(same("input"), _broadcast_to),
    "tf.repeat": op(same("input"), _repeat),
    "tf.meshgrid": Spec(value_rule(meshgrid, "unknown"), op=True),
    "tf.nn.depth_to_space": op(same("input"), _depth_to_space),
    "tf.nn.space_to_depth": op(same("input"), _space_to_depth),
    **group("tf.space_to_batch tf.space_to_batch_nd", op(same("input"), _space_to_batch)),
    "tf.batch_to_space": op(same("input"), _batch_to_space),
    "tf.slice": op(same("input_"), _slice),
    "tf.strided_slice": op(same("input_"), _strided),
    "tf.linalg.diag_part": op(same("input"), _diag_part),
    "tf.linalg.diag": op(same("diagonal"), _diag),
    "tf.linalg.tensor_diag": op(same("diagonal"), lambda a: a.tensor("diagonal").known * 2),
    "tf.linalg.tensor_diag_part": op(same("input"), lambda a: a.tensor("input").known[: a.tensor("input").rank // 2]),
    "tf.nn.crelu": op(same("features"), _crelu),
    "tf.identity_n": Spec(value_rule(_identity_n, "unknown"), op=True),
    "tf.clip_by_global_norm": Spec(value_rule(_clip_global, "unknown"), op=True),
}
