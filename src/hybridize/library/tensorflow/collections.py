"""Sparse and ragged tensors, sets, quantization, and the operations that fit nowhere else."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE_V, Container, Tup, Value, tensor
from hybridize.domain.tensors import DENSE, DYNAMIC, RAGGED, SPARSE, UNRESOLVED, Shape
from hybridize.library.arithmetic import broadcast
from hybridize.library.operands import (
    INFER,
    Args,
    Impossible,
    Unsure,
    agreed,
    common,
    fixed,
    group,
    op,
    record,
    same,
    sure,
    value_rule,
)
from hybridize.library.shapes import broadcast_all, concatenated, like, reduced, scalar
from hybridize.library.spec import Spec, parametrized
from hybridize.library.tensorflow.shaping import each_of


@parametrized
def _sparse(a: Args, dtype_from: str = "", shape_from: str = "") -> Value:
    """A sparse tensor with the dtype and shape of an argument."""
    x = a.tensor(dtype_from or a.first)
    shape = a.tensor(shape_from or dtype_from or a.first).shape
    return tensor(SPARSE, x.dtype, shape).value


def _sparse_reshape(a: Args) -> Value:
    return tensor(
        SPARSE, a.tensor("sp_input").dtype, tuple(UNRESOLVED if d == INFER else d for d in a.dims("shape"))
    ).value


def _sparse_transpose(a: Args) -> Value:
    x = a.tensor("sp_input")
    if x.shape is None:
        return tensor(SPARSE, x.dtype).value
    if a.given("perm"):
        perm = a.integers("perm") or ()
        return tensor(SPARSE, x.dtype, tuple(x.shape[p] for p in perm)).value
    return tensor(SPARSE, x.dtype, x.shape[::-1]).value


def _sparse_expand(a: Args) -> Value:
    x = a.tensor("sp_input")
    if x.shape is None:
        return tensor(SPARSE, x.dtype).value
    axis = a.integer("axis", default=-1) if a.given("axis") else -1
    at = axis % (len(x.shape) + 1)
    return tensor(SPARSE, x.dtype, (*x.shape[:at], 1, *x.shape[at:])).value


def _sparse_eye(a: Args) -> Value:
    rows = a.integer("num_rows")
    columns = a.integer("num_columns") if a.given("num_columns") else rows
    return tensor(SPARSE, a.dtype("dtype", default="float32"), (rows, columns)).value


def _to_dense(a: Args) -> Value:
    x = a.tensor("sp_input")
    return tensor(DENSE, x.dtype, x.shape).value


def _filled_rows(a: Args) -> Value:
    """Each row has an entry now: which ones had none, is a flag for each."""
    x = a.tensor("sp_input")
    return record("tuple", (), tensor(SPARSE, x.dtype, x.shape).value, tensor(DENSE, "bool", x.known[:1]).value)


def _indicator(a: Args) -> Value:
    """The last axis is that of the entries' values."""
    return tensor(DENSE, "bool", (*a.tensor("sp_input").known[:-1], a.integer("vocab_size"))).value


def _sparse_product(a: Args) -> Value:
    x, y = a.tensor("sp_a"), a.tensor("b")
    left, right = x.known, y.known
    if a.flag("adjoint_a"):
        left = left[::-1]
    if a.flag("adjoint_b"):
        right = right[::-1]
    return tensor(DENSE, x.dtype or y.dtype, (left[0], right[1])).value


def _sparse_reduced(a: Args) -> Value:
    x = a.tensor("sp_input")
    if a.flag("output_is_sparse"):
        return tensor(SPARSE, x.dtype).value
    keep = a.flag("keepdims") if a.given("keepdims") else False
    return tensor(DENSE, x.dtype, reduced(x.known, a.integers("axis"), keep)).value


def _sparse_plus(a: Args) -> Value:
    x, y = a.tensor("a"), a.tensor("b")
    kind = SPARSE if (x.kind, y.kind) == (SPARSE, SPARSE) else DENSE
    dtype = x.dtype if x.dtype == y.dtype else None
    return tensor(kind, dtype, broadcast(x.shape, y.shape)).value


def _sparse_slice(a: Args) -> Value:
    """At most the size that is asked for, and no more than there is."""
    x, start, size = a.tensor("sp_input"), a.dims("start"), a.dims("size")
    if len(x.known) != len(start) or len(start) != len(size):
        raise Impossible
    dims = zip(x.known, start, size, strict=True)
    shape = tuple(min(n, max(d - s, 0)) if min(d, s, n) >= 0 else UNRESOLVED for d, s, n in dims)
    return tensor(SPARSE, x.dtype, shape).value


def _sparse_concat(a: Args) -> Value:
    parts = a.tensors("sp_inputs")
    if a.given("expand_nonconcat_dims"):
        raise Unsure
    shape = concatenated([o.shape for o in parts], a.integer("axis"))
    return tensor(SPARSE, common(parts), shape).value


def _ragged_constant(a: Args) -> Value:
    found: set[str | None] = set()
    value = a.value("pylist")
    rank = _leaves(a, value, found)
    dtype = a.dtype("dtype") if a.given("dtype") else _leaf_dtype(found)
    if a.given("ragged_rank") or a.given("inner_shape") or rank is None:
        return frozenset((tensor(RAGGED, dtype), tensor(DENSE, dtype)))
    shape = a.operand(value).shape or (UNRESOLVED,)
    if rank < 2:
        return tensor(DENSE, dtype, shape).value
    return tensor(RAGGED, dtype, (shape[0], *(DYNAMIC,) * (rank - 1))).value


def _leaves(a: Args, value: Value, found: set[str | None], depth: int = 0) -> int | None:
    """How deeply nested lists go, adding the dtypes of what is in them; an empty list has none."""
    if depth > 5:
        return None
    ranks: list[int] = []
    for obj in value:
        if isinstance(obj, (Tup, Container)):
            try:
                items = a.items_of(obj)
            except Unsure:
                items = [a.call.elements(obj.value)]
            inner = [_leaves(a, item, found, depth + 1) for item in items]
            if None in inner:
                return None
            ranks.append(1 + max((r for r in inner if r is not None), default=0))
        else:
            leaf = a.operand(obj.value)
            if leaf.shape is None:
                return None
            found.add(leaf.dtype)
            ranks.append(len(leaf.shape))
    return max(ranks, default=None)


def _leaf_dtype(found: set[str | None]) -> str | None:
    if not found:
        return "float32"
    if found == {"int32", "float32"}:
        return "float32"
    return next(iter(found)) if len(found) == 1 else None


def _ragged_range(a: Args) -> Value:
    dtype = a.dtype("dtype") if a.given("dtype") else agreed("starts", "limits", "deltas")(a)
    bounds = [a.tensor(n) for n in ("starts", "limits", "deltas") if a.given(n)]
    rows = broadcast_all(o.shape for o in bounds)
    shape = None if rows is None else (*(rows or (1,)), DYNAMIC)
    return tensor(RAGGED, dtype, shape).value


def _ragged_stack(a: Args) -> Value:
    values = a.tensors("values")
    axis = a.integer("axis", default=0) if a.given("axis") else 0
    dtype = common(values)
    if axis or any(o.kind == RAGGED or not o.shape for o in values):
        return tensor(RAGGED, dtype).value
    return tensor(RAGGED, dtype, (len(values), *(DYNAMIC,) * values[0].rank)).value


def _ragged_mask(a: Args) -> Value:
    data, mask = a.tensor("data"), a.tensor("mask")
    if data.kind == RAGGED or mask.kind == RAGGED or mask.shape is None:
        return frozenset((tensor(RAGGED, data.dtype), tensor(DENSE, data.dtype)))
    return tensor(RAGGED if len(mask.shape) > 1 else DENSE, data.dtype).value


def _gradients_of(a: Args) -> Value:
    x = a.tensor("inputs")
    low = a.result(x.dtype, ())
    return record("tuple", (), a.result(x.dtype, x.shape), low, low)


def _channel_gradients(a: Args) -> Value:
    x = a.tensor("inputs")
    last = a.result(x.dtype, x.known[-1:])
    return record("tuple", (), a.result(x.dtype, x.shape), last, last)


def _quantized(a: Args) -> Value:
    x = a.tensor("input")
    made = a.result("float32", ())
    names = ("output", "output_min", "output_max")
    return record("QuantizeV2", names, a.result(a.dtype("T"), x.shape), made, made)


def _shapes(a: Args) -> Value:
    dtype = a.dtype("out_type", default="int32")
    return each_of(
        a, "input", lambda o: a.result(dtype, (UNRESOLVED,) if o.shape is None else (len(o.shape),), o.shape)
    )


def _kept_structure(a: Args) -> Value:
    return each_of(a, "tensors", lambda o: a.result(o.dtype, o.shape))


def _row_ids(a: Args) -> Shape:
    return (DYNAMIC,)


def _sampler(a: Args) -> Value:
    count = a.integer("num_sampled")
    true = a.tensor("true_classes").known
    names = ("sampled_candidates", "true_expected_count", "sampled_expected_count")
    results = [a.result("int64", (count,)), a.result("float32", true), a.result("float32", (count,))]
    return record("Candidates", names, *results)


def _checked(a: Args) -> Value:
    return NONE_V


def _greedy(a: Args) -> Value:
    x = a.tensor("inputs")
    sparse = tensor(SPARSE, "int64", (DYNAMIC, DYNAMIC)).value
    return record("tuple", (), a.call.listed([sparse]), a.result(x.dtype, (x.known[1], 1)))


def _beams(a: Args) -> Value:
    x = a.tensor("inputs")
    paths = sure(lambda b: b.integer("top_paths"), a) if a.given("top_paths") else 1
    sparse = tensor(SPARSE, "int64", (DYNAMIC, DYNAMIC)).value
    scores = a.result(x.dtype, (x.known[1], UNRESOLVED if paths is None else paths))
    return record("tuple", (), a.call.listed([sparse] * (1 if paths is None else paths)), scores)


def _fractional(a: Args) -> Value:
    x = a.tensor("value")
    names = ("output", "row_pooling_sequence", "col_pooling_sequence")
    shape = (x.known[0], UNRESOLVED, UNRESOLVED, x.known[-1])
    edges = a.result("int64", (UNRESOLVED,))
    return record("FractionalPool", names, a.result(x.dtype, shape), edges, edges)


def _suppressed_scores(a: Args) -> Value:
    return record("tuple", (), a.result("int32", (DYNAMIC,)), a.result(a.tensor("scores").dtype, (DYNAMIC,)))


_ASSERTIONS: Final = """
    Assert assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal assert_near
    assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank
    assert_rank_at_least assert_rank_in assert_scalar assert_shapes assert_type
"""
_SAME_SPARSE: Final = "tf.sparse.reorder tf.sparse.retain tf.sparse.softmax tf.sparse.maximum tf.sparse.minimum"
_SETS: Final = "tf.sets.difference tf.sets.intersection tf.sets.union"
_SAMPLERS: Final = """
    tf.random.uniform_candidate_sampler tf.random.log_uniform_candidate_sampler
    tf.random.learned_unigram_candidate_sampler
"""

FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_ASSERTIONS, Spec(value_rule(_checked), op=True), "tf.debugging."),
    **group(_SAME_SPARSE, Spec(value_rule(_sparse()), op=True)),
    "tf.sparse.from_dense": Spec(value_rule(_sparse()), op=True),
    "tf.sparse.reshape": Spec(value_rule(_sparse_reshape), op=True),
    "tf.sparse.transpose": Spec(value_rule(_sparse_transpose), op=True),
    "tf.sparse.expand_dims": Spec(value_rule(_sparse_expand), op=True),
    "tf.sparse.slice": Spec(value_rule(_sparse_slice), op=True),
    "tf.sparse.concat": Spec(value_rule(_sparse_concat), op=True),
    "tf.sparse.eye": Spec(value_rule(_sparse_eye), op=True),
    "tf.sparse.to_dense": Spec(value_rule(_to_dense), op=True),
    "tf.sparse.to_indicator": Spec(value_rule(_indicator), op=True),
    "tf.sparse.fill_empty_rows": Spec(value_rule(_filled_rows), op=True),
    "tf.sparse.sparse_dense_matmul": Spec(value_rule(_sparse_product), op=True),
    **group("tf.sparse.reduce_sum tf.sparse.reduce_max", Spec(value_rule(_sparse_reduced), op=True)),
    "tf.sparse.add": Spec(value_rule(_sparse_plus), op=True),
    **group(_SETS, Spec(value_rule(lambda a: tensor(SPARSE, a.tensor("a").dtype).value), op=True)),
    "tf.ragged.constant": Spec(value_rule(_ragged_constant), op=True),
    "tf.ragged.range": Spec(value_rule(_ragged_range), op=True),
    "tf.ragged.stack": Spec(value_rule(_ragged_stack), op=True),
    "tf.ragged.boolean_mask": Spec(value_rule(_ragged_mask), op=True),
    "tf.ragged.row_splits_to_segment_ids": op(fixed("int64"), _row_ids),
    "tf.ragged.segment_ids_to_row_splits": op(fixed("int64"), _row_ids),
    "tf.quantization.fake_quant_with_min_max_vars_gradient": Spec(value_rule(_gradients_of, "unknown"), op=True),
    "tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient": Spec(
        value_rule(_channel_gradients, "unknown"), op=True
    ),
    "tf.quantization.quantize": Spec(value_rule(_quantized, "unknown"), op=True),
    "tf.quantization.dequantize": op(fixed("float32"), like("input")),
    "tf.shape_n": Spec(value_rule(_shapes, "unknown"), op=True),
    "tf.tuple": Spec(value_rule(_kept_structure, "unknown"), op=True),
    **group(_SAMPLERS, Spec(value_rule(_sampler, "unknown"), op=True)),
    "tf.nn.ctc_greedy_decoder": Spec(value_rule(_greedy, "unknown"), op=True),
    "tf.nn.ctc_beam_search_decoder": Spec(value_rule(_beams, "unknown"), op=True),
    **group("tf.nn.fractional_max_pool tf.nn.fractional_avg_pool", Spec(value_rule(_fractional, "unknown"), op=True)),
    **group("tf.nn.nce_loss tf.nn.sampled_softmax_loss", op(same("inputs"), lambda a: a.tensor("inputs").known[:1])),
    "tf.image.non_max_suppression_with_scores": Spec(value_rule(_suppressed_scores, "unknown"), op=True),
    "tf.io.decode_json_example": op(fixed("string"), like()),
    "tf.edit_distance": op(fixed("float32"), lambda a: a.tensor("truth").known[:-1]),
    "tf.strings.unicode_encode": op(fixed("string"), lambda a: a.tensor("input").known[:-1]),
    "tf.strings.unsorted_segment_join": op(fixed("string"), lambda a: (a.integer("num_segments"),)),
    "tf.audio.encode_wav": op(fixed("string"), scalar),
    "tf.sparse.segment_sum": op(same("data"), lambda a: (DYNAMIC, *a.tensor("data").known[1:])),
    "tf.sparse.segment_mean": op(same("data"), lambda a: (DYNAMIC, *a.tensor("data").known[1:])),
    "tf.sparse.segment_sqrt_n": op(same("data"), lambda a: (DYNAMIC, *a.tensor("data").known[1:])),
    "tf.experimental.numpy.random.rand": op(fixed("float64"), lambda a: _numbers(a)),
    "tf.experimental.numpy.random.randn": op(fixed("float64"), lambda a: _numbers(a)),
    **group(
        "tf.experimental.numpy.random.random tf.experimental.numpy.random.standard_normal",
        op(fixed("float64"), lambda a: _size(a)),
    ),
    "tf.experimental.numpy.random.uniform": op(fixed("float64"), lambda a: _size(a)),
}


def _numbers(a: Args) -> Shape:
    if a.call.rest:
        raise Unsure
    return tuple(d for v in a.call.args for d in a.dims_of(next(iter(v))))


def _size(a: Args) -> Shape:
    return a.dims("size") if a.given("size") else ()
