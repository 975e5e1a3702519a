"""Operations that reduce over axes, and those along one axis: argmax, top-k, statistics, segments."""

from __future__ import annotations

from math import prod
from typing import Final

from hybridize.domain.objects import NONE, NONE_V, Tensor, Value, tensor
from hybridize.domain.tensors import DENSE, DYNAMIC, RAGGED, Shape
from hybridize.library.operands import (
    Args,
    DtypeRule,
    Impossible,
    Unsure,
    chosen,
    common,
    expand,
    fixed,
    group,
    op,
    real_of,
    record,
    same,
    sure,
    tensor_rule,
    value_rule,
)
from hybridize.library.shapes import axis_of, broadcast_all, like, reduced, reduction, scalar, swapped, unsized
from hybridize.library.spec import Call, Rule, Spec, parametrized

_REDUCE: Final = """
    tf.math.reduce_sum tf.math.reduce_mean tf.math.reduce_max tf.math.reduce_min
    tf.math.reduce_logsumexp tf.math.reduce_euclidean_norm
"""


def _arg_extreme(a: Args) -> Shape:
    axis = a.integer("axis") if a.given("axis") else 0
    return reduced(a.tensor("input").known, (axis,), False)


def _prod(a: Args) -> Value:
    x = a.tensor("input_tensor")
    shape = sure(reduction("input_tensor"), a)
    content = None
    if shape == () and x.content is not None:
        content = (prod(x.content) if all(d >= 0 for d in x.content) else unsized(*x.content),)
    return a.result(x.dtype, shape, content)


def _count(a: Args) -> Shape:
    return reduction("input", "axis", "keepdims")(a)


def _moments(a: Args) -> Value:
    x = a.tensor("x")
    keep = a.flag("keepdims")
    axes = a.integers("axes")
    made = a.result(x.dtype, reduced(x.known, axes, keep))
    return record("tuple", (), made, made)


def _weighted_moments(a: Args) -> Value:
    x, weights = a.tensor("x"), a.tensor("frequency_weights")
    both = broadcast_all((x.shape, weights.shape))
    if both is None or both != x.shape:
        raise Unsure
    made = a.result(x.dtype, reduced(x.known, a.integers("axes"), a.flag("keepdims")))
    return record("tuple", (), made, made)


def _top_k(a: Args) -> Value:
    x = a.tensor("input")
    try:
        k = a.integer("k", default=1)
    except Unsure:
        k = DYNAMIC
    shape = (*x.known[:-1], k)
    indices = a.dtype("index_type", default="int32")
    return record("TopKV2", ("values", "indices"), a.result(x.dtype, shape), a.result(indices, shape))


def _approx_top(a: Args) -> Value:
    x = a.tensor("operand")
    at = axis_of(x.rank, a.integer("reduction_dimension", default=-1))
    if not a.flag("aggregate_to_topk", default=True):
        raise Unsure
    shape = tuple(a.integer("k") if i == at else d for i, d in enumerate(x.known))
    return record("tuple", (), a.result(x.dtype, shape), a.result("int32", shape))


def _segments(a: Args) -> Shape:
    return (DYNAMIC, *a.tensor("data").known[1:])


def _unsorted(a: Args) -> Shape:
    ids = a.tensor("segment_ids").rank
    try:
        count = a.integer("num_segments")
    except Unsure:
        count = DYNAMIC
    return (count, *a.tensor("data").known[ids:])


def _norm_dtype(a: Args) -> str | None:
    dtype = a.tensor("tensor").dtype
    return None if dtype and dtype.startswith("complex") else dtype  # depends on the order


def _norm(a: Args) -> Shape:
    shape = a.tensor("tensor").known
    axes = a.integers("axis")
    keep = a.flag("keepdims")
    return reduced(shape, axes, keep)


def _normalize(a: Args) -> Value:
    x = a.tensor("tensor")
    ord_ = a.constant("ord", default="euclidean")
    if ord_ not in ("euclidean", 1, 2):
        raise Unsure
    norm = reduced(x.known, a.integers("axis"), True)
    real = real_of(same("tensor"))(a)
    if real != x.dtype:
        raise Unsure
    return record("tuple", (), a.result(x.dtype, x.shape), a.result(real, norm))


def _confusion(a: Args) -> Shape:
    try:
        n = a.integer("num_classes")
    except (Unsure, TypeError):
        n = DYNAMIC
    return (n, n)


def _bincount(a: Args) -> Shape:
    if a.given("axis"):
        raise Unsure
    low = a.constant("minlength") if a.given("minlength") else None
    high = a.constant("maxlength") if a.given("maxlength") else None
    return (low if isinstance(low, int) and low == high else DYNAMIC,)


def _bincount_dtype(a: Args) -> str | None:
    weights = a.optional("weights")
    return weights.dtype if weights else a.dtype("dtype", default="int32")


def _sufficient(a: Args) -> Value:
    x = a.tensor("x")
    made = a.result(x.dtype, reduced(x.known, a.integers("axes"), a.flag("keepdims")))
    if a.given("shift"):
        raise Unsure
    return record("tuple", (), a.result(x.dtype, ()), made, made, NONE_V)


def _over_ragged(rule: Rule) -> Rule:
    """Reducing a ragged tensor: all of it, or one axis of a ragged matrix, gives a dense one."""

    def one(call: Call) -> Value:
        a = Args(call)
        found = rule(call)
        try:
            x = a.tensor("input_tensor")
            if x.kind != RAGGED:
                return found
            axes = a.integers("axis")
            keep = a.given("keepdims") and a.flag("keepdims")
        except (Unsure, Impossible):
            return found
        dtypes = {o.dtype for o in found if isinstance(o, Tensor)}
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        if axes is None:
            return tensor(DENSE, dtype, None if keep else ()).value
        if x.shape is not None and len(x.shape) == 2 and not keep and len(axes) == 1:
            return tensor(DENSE, dtype, (x.shape[0],) if axes[0] in (1, -1) else (DYNAMIC,)).value
        if x.shape is not None and not keep and len(axes) == 1:
            ragged = [i for i, d in enumerate(x.shape) if i and d < 0]
            axis = axes[0] % len(x.shape)
            left = tuple(d for i, d in enumerate(x.shape) if i != axis)
            if ragged == [axis]:
                return tensor(DENSE, dtype, left).value
            if ragged and axis > max(ragged):
                return tensor(RAGGED, dtype, left).value
        return found

    return lambda call: expand(call, one)


def _reduces(dtype: DtypeRule) -> Spec:
    return Spec(_over_ragged(tensor_rule(dtype, reduction())), op=True)


@parametrized
def _dtype_of_all(a: Args, name: str) -> str | None:
    """The dtype that all tensors of a sequence have, of unknown length or not."""
    try:
        return common(a.tensors(name))
    except Unsure:
        elements = [a.operand(obj.value) for obj in a.call.elements(a.value(name)) if obj is not NONE]
        dtypes = {o.dtype for o in elements}
        return dtypes.pop() if len(dtypes) == 1 else None


FUNCTIONS: Final[dict[str, Spec]] = {
    **group(_REDUCE, _reduces(same())),
    **group("tf.math.reduce_variance tf.math.reduce_std", _reduces(real_of(same()))),
    **group("tf.math.reduce_all tf.math.reduce_any", _reduces(fixed("bool"))),
    "tf.math.reduce_prod": Spec(value_rule(_prod), op=True),
    "tf.math.count_nonzero": op(chosen("int64"), _count),
    "tf.math.zero_fraction": op(fixed("float32"), scalar),
    **group("tf.math.argmax tf.math.argmin", op(chosen("int64", "output_type"), _arg_extreme)),
    "tf.argsort": op(fixed("int32"), like()),
    "tf.searchsorted": op(chosen("int32", "out_type"), like("values")),
    "tf.math.top_k": Spec(value_rule(_top_k, "unknown"), op=True),
    **group("tf.math.approx_max_k tf.math.approx_min_k", Spec(value_rule(_approx_top, "unknown"), op=True)),
    "tf.math.in_top_k": op(fixed("bool"), lambda a: a.tensor("targets").shape),
    "tf.math.is_non_decreasing": op(fixed("bool"), scalar),
    "tf.math.is_strictly_increasing": op(fixed("bool"), scalar),
    "tf.math.lbeta": op(same("x"), lambda a: a.tensor("x").known[:-1]),
    **group("tf.math.segment_sum tf.math.segment_mean tf.math.segment_max", op(same("data"), _segments)),
    **group("tf.math.segment_min tf.math.segment_prod", op(same("data"), _segments)),
    **group(
        "tf.math.unsorted_segment_sum tf.math.unsorted_segment_mean tf.math.unsorted_segment_max "
        "tf.math.unsorted_segment_min tf.math.unsorted_segment_prod tf.math.unsorted_segment_sqrt_n",
        op(same("data"), _unsorted),
    ),
    "tf.nn.moments": Spec(value_rule(_moments, "unknown"), op=True),
    "tf.nn.weighted_moments": Spec(value_rule(_weighted_moments, "unknown"), op=True),
    "tf.nn.sufficient_statistics": Spec(value_rule(_sufficient, "unknown"), op=True),
    "tf.nn.l2_loss": op(same("t"), scalar),
    **group("tf.norm", op(_norm_dtype, _norm)),
    "tf.linalg.normalize": Spec(value_rule(_normalize, "unknown"), op=True),
    "tf.linalg.global_norm": op(_dtype_of_all("t_list"), scalar),
    "tf.math.confusion_matrix": op(chosen("int32"), _confusion),
    "tf.math.bincount": op(_bincount_dtype, _bincount),
    "tf.linalg.trace": op(same("x"), lambda a: a.tensor("x").known[:-2]),
    **group("tf.linalg.matrix_transpose", op(same("a"), lambda a: swapped(a.tensor("a").known))),
    "tf.linalg.adjoint": op(same("matrix"), lambda a: swapped(a.tensor("matrix").known)),
    "tf.nn.zero_fraction": op(fixed("float32"), scalar),
}
