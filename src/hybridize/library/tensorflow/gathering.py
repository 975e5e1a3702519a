"""Operations that pick elements by index or mask, and those that put them: gather, scatter, where, unique."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value, tensor
from hybridize.domain.tensors import DYNAMIC, RAGGED, Shape
from hybridize.library.operands import (
    Args,
    Impossible,
    ShapeRule,
    Unsure,
    common,
    expand,
    op,
    record,
    same,
    tensor_rule,
    value_rule,
)
from hybridize.library.shapes import axis_of, broadcast_all, merge, product_of, window
from hybridize.library.spec import Call, Spec


def _gather(a: Args) -> Shape:
    params, indices = a.tensor("params").known, a.tensor("indices").known
    batch = a.integer("batch_dims", default=0)
    batch = batch % len(indices) if batch < 0 else batch
    axis = axis_of(len(params), a.integer("axis")) if a.given("axis") else batch
    if axis < batch:
        raise Impossible
    return (*params[:axis], *indices[batch:], *params[axis + 1 :])


def _gather_nd(a: Args) -> Shape:
    params, indices = a.tensor("params").known, a.tensor("indices").known
    batch = a.integer("batch_dims", default=0)
    if not indices or indices[-1] < 0:
        raise Unsure
    return (*indices[:-1], *params[batch + indices[-1] :])


def _embedding(a: Args) -> Shape:
    obj = a.object("params")
    if obj is None:
        raise Impossible
    params = a.tensor("params").known
    if len(params) < 2:
        raise Unsure
    return (*a.tensor("ids").known, *params[1:])


def _boolean_mask(a: Args) -> Shape:
    shape, mask = a.tensor("tensor").known, a.tensor("mask").known
    axis = axis_of(len(shape), a.integer("axis", default=0)) if a.given("axis") else 0
    return (*shape[:axis], DYNAMIC, *shape[axis + len(mask) :])


def _where(a: Args) -> Value:
    condition = a.tensor("condition")
    if not a.given("x") and not a.given("y"):
        return a.result("int64", (DYNAMIC, condition.rank))
    x, y = a.tensor("x"), a.tensor("y")
    return a.result(common((x, y)), broadcast_all((condition.shape, x.shape, y.shape)))


def _unique(a: Args) -> Value:
    x = a.tensor("x")
    index = a.dtype("out_idx", default="int32")
    return record("Unique", ("y", "idx"), a.result(x.dtype, (DYNAMIC,)), a.result(index, x.known))


def _unique_counts(a: Args) -> Value:
    x = a.tensor("x")
    index = a.dtype("out_idx", default="int32")
    first, second = a.result(x.dtype, (DYNAMIC,)), a.result(index, x.known)
    return record("UniqueWithCounts", ("y", "idx", "count"), first, second, a.result(index, (DYNAMIC,)))


def _partition(a: Args) -> Value:
    x, parts = a.tensor("data"), a.tensor("partitions").rank
    part = a.result(x.dtype, (DYNAMIC, *x.known[parts:]))
    return a.call.listed([part] * min(64, a.integer("num_partitions")))


def _stitch(a: Args) -> Shape:
    inner: Shape = None
    for data, indices in zip(a.tensors("data"), a.tensors("indices"), strict=True):
        inner = merge(inner, data.known[indices.rank :])
    if inner is None:
        raise Unsure
    known = [d for o in a.tensors("indices") for d in (o.content or (DYNAMIC,))]
    return (max(known) + 1 if min(known) >= 0 else DYNAMIC, *inner)


def _rows(params: str, indices: str, shape: ShapeRule) -> Spec:
    """Rows by their numbers: of ragged numbers a ragged tensor of rows."""
    plain = tensor_rule(same(params), shape)

    def one(call: Call) -> Value:
        a = Args(call)
        try:
            numbers, table = a.tensor(indices), a.tensor(params)
        except (Unsure, Impossible):
            return plain(call)
        if numbers.kind != RAGGED or table.kind == RAGGED or a.given("axis") or a.given("batch_dims"):
            return plain(call)
        dims = None if numbers.shape is None or table.shape is None else (*numbers.shape, *table.shape[1:])
        return tensor(RAGGED, table.dtype, dims).value

    return Spec(lambda call: expand(call, one), op=True)


def _extract_patches(a: Args) -> Shape:
    n, rows, columns, depth = a.tensor("images").known
    sizes, strides, rates = (a.integers(n) or () for n in ("sizes", "strides", "rates"))
    padding = str(a.constant("padding"))
    out = [
        window(d, k, s, r, padding)
        for d, k, s, r in zip((rows, columns), sizes[1:3], strides[1:3], rates[1:3], strict=True)
    ]
    return (n, *out, product_of((depth, sizes[1] * sizes[2])))


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.gather": _rows("params", "indices", _gather),
    "tf.gather_nd": op(lambda a: a.tensor("params").dtype, _gather_nd),
    "tf.nn.embedding_lookup": _rows("params", "ids", _embedding),
    "tf.boolean_mask": op(same("tensor"), _boolean_mask),
    "tf.where": Spec(value_rule(_where), op=True),
    "tf.scatter_nd": op(same("updates"), lambda a: a.dims("shape")),
    "tf.unique": Spec(value_rule(_unique, "unknown"), op=True),
    "tf.unique_with_counts": Spec(value_rule(_unique_counts, "unknown"), op=True),
    "tf.dynamic_partition": Spec(value_rule(_partition, "unknown"), op=True),
    "tf.dynamic_stitch": op(lambda a: common(a.tensors("data")), _stitch),
    "tf.unravel_index": op(same("indices"), lambda a: (len(a.dims("dims")), *a.tensor("indices").known)),
    "tf.image.extract_patches": op(same("images"), _extract_patches),
}
