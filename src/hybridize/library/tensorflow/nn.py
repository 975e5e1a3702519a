"""Neural-network operations: convolutions, pooling, normalization, losses."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value
from hybridize.domain.tensors import DYNAMIC, Dim, Shape, blurred
from hybridize.library.operands import INFER, Args, Unsure, agreed, common, fixed, group, op, record, same, value_rule
from hybridize.library.shapes import axis_of, broadcast_all, like, product_of, reduced, scalar, window
from hybridize.library.spec import Spec, parametrized

Dims = tuple[Dim, ...]


def _padding(a: Args) -> str | list[tuple[int, int]]:
    """SAME, VALID, or explicit amounts per dim of the whole tensor."""
    obj = a.object("padding")
    const = getattr(obj, "const", "VALID" if obj is None else None)
    if isinstance(const, str):
        return const.upper()
    if obj is None:
        raise Unsure
    rows = [a.integers_of(next(iter(item))) for item in a.items_of(obj)]
    return [(r[0], r[1]) for r in rows]


def _channels_first(a: Args, rank: int) -> bool:
    default = {3: "NWC", 4: "NHWC", 5: "NDHWC"}.get(rank)
    found = a.constant("data_format", default=default) or default
    return isinstance(found, str) and found.startswith("NC")


def _spread(values: tuple[int, ...] | None, count: int, first: bool) -> tuple[int, ...]:
    """Strides, dilations or sizes per spatial dim, from one int, one per dim, or one per dim of the whole tensor."""
    if values is None:
        return (1,) * count
    if len(values) == 1:
        return values * count
    if len(values) == count + 2:
        return values[2:] if first else values[1:-1]
    if len(values) != count:
        raise Unsure
    return values


def windowed(a: Args, shape: Dims, kernel: Dims, strides: Dims, dilations: Dims, channels: Dim) -> Dims:
    """The shape after a window has been moved over the spatial dims."""
    count = len(kernel)
    first = _channels_first(a, len(shape))
    spatial = list(shape[2:] if first else shape[1:-1])
    if len(spatial) != count:
        raise Unsure  # several batch dims
    padding = _padding(a)
    if not isinstance(padding, str):
        extra = padding[2:] if first else padding[1:-1]
        spatial = [
            (d if low == high == 0 else blurred(d)) if d < 0 else d + low + high
            for d, (low, high) in zip(spatial, extra, strict=True)
        ]
        padding = "VALID"
    out = [window(d, k, s, r, padding) for d, k, s, r in zip(spatial, kernel, strides, dilations, strict=True)]
    return (shape[0], channels, *out) if first else (shape[0], *out, channels)


@parametrized
def _convolution(a: Args, rank: int = 0) -> Shape:
    shape, filters = a.tensor("input").known, a.tensor("filters", "filter").known
    count = rank or len(filters) - 2
    if len(shape) != count + 2:
        raise Unsure
    first = _channels_first(a, len(shape))
    strides = _spread(a.integers("strides", "stride"), count, first)
    dilations = _spread(a.integers("dilations"), count, first)
    return windowed(a, shape, filters[:count], strides, dilations, filters[-1])


def _depthwise(a: Args) -> Shape:
    filters = a.tensor("filter").known
    return _by_channel(a, filters, product_of(filters[2:]))


def _separable(a: Args) -> Shape:
    return _by_channel(a, a.tensor("depthwise_filter").known, a.tensor("pointwise_filter").known[-1])


def _by_channel(a: Args, filters: tuple[Dim, ...], channels: Dim) -> Shape:
    first = _channels_first(a, 4)
    strides = _spread(a.integers("strides"), 2, first)
    dilations = _spread(a.integers("dilations"), 2, first)
    return windowed(a, a.tensor("input").known, filters[:2], strides, dilations, channels)


def _atrous(a: Args) -> Shape:
    shape, filters = a.tensor("value").known, a.tensor("filters").known
    rate = a.integer("rate")
    return windowed(a, shape, filters[:2], (1, 1), (rate, rate), filters[-1])


def _transposed(a: Args) -> Shape:
    target = a.dims("output_shape")
    shape = a.tensor("input").known
    if len(target) == len(shape):
        return target
    raise Unsure


@parametrized
def _pooling(a: Args, count: int) -> Shape:
    shape = a.tensor("input").known
    spatial = count or len(shape) - 2
    first = _channels_first(a, len(shape))
    kernel = _spread(a.integers("ksize", "window_shape"), spatial, first)
    strides = _spread(a.integers("strides"), spatial, first)
    dilations = _spread(a.integers("dilations") if count == 0 else None, spatial, first)
    return windowed(a, shape, kernel, strides, dilations, shape[1] if first else shape[-1])


def _morphology(a: Args) -> Shape:
    shape = a.tensor("input", "value").known
    filters = a.tensor("filters").known
    strides = _spread(a.integers("strides"), 2, False)
    dilations = _spread(a.integers("dilations"), 2, False)
    return windowed(a, shape, filters[:2], strides, dilations, shape[-1])


def _with_argmax(a: Args) -> Value:
    x = a.tensor("input")
    shape = _pooling(2)(a)
    index = a.dtype("output_dtype", default="int64")
    return record("tuple", (), a.result(x.dtype, shape), a.result(index, shape))


def _batch_normalization(a: Args) -> Shape:
    return broadcast_all([a.tensor("x").shape, a.tensor("mean").shape, a.tensor("variance").shape])


def _softmax_loss(a: Args) -> Shape:
    shape = a.tensor("logits").known
    axis = a.integer("axis", default=-1) if a.given("axis") else -1
    return reduced(shape, (axis_of(len(shape), axis),), False)


def _ctc_loss(a: Args) -> Shape:
    shape = a.tensor("logits").known
    return (shape[1] if a.flag("logits_time_major", default=True) else shape[0],)


def _normalized_moments(a: Args) -> Value:
    mean, variance = a.tensor("mean_ss"), a.tensor("variance_ss")
    return record("tuple", (), a.result(mean.dtype, mean.shape), a.result(variance.dtype, variance.shape))


@parametrized
def _given_sizes(a: Args, name: str) -> Shape:
    found = a.dims(name)
    return tuple(DYNAMIC if d == INFER else d for d in found)


_POOL: Final = {"1d": 1, "2d": 2, "3d": 3}

FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.nn.conv1d": op(agreed("input", "filters"), _convolution(1)),
    "tf.nn.conv2d": op(agreed("input", "filters"), _convolution(2)),
    "tf.nn.conv3d": op(agreed("input", "filters"), _convolution(3)),
    "tf.nn.convolution": op(agreed("input", "filters"), _convolution()),
    "tf.nn.depthwise_conv2d": op(agreed("input", "filter"), _depthwise),
    "tf.nn.separable_conv2d": op(agreed("input", "depthwise_filter"), _separable),
    "tf.nn.atrous_conv2d": op(agreed("value", "filters"), _atrous),
    "tf.nn.atrous_conv2d_transpose": op(same("value"), _given_sizes("output_shape")),
    **group(
        "tf.nn.conv1d_transpose tf.nn.conv2d_transpose tf.nn.conv3d_transpose tf.nn.conv_transpose",
        op(same("input"), _transposed),
    ),
    **{
        f"tf.nn.{how}_pool{suffix}": op(same("input"), _pooling(count))
        for how in ("max", "avg")
        for suffix, count in _POOL.items()
    },
    **group("tf.nn.max_pool tf.nn.avg_pool", op(same("input"), _pooling(0))),
    "tf.nn.pool": op(same("input"), _pooling(0)),
    "tf.nn.max_pool_with_argmax": Spec(value_rule(_with_argmax, "unknown"), op=True),
    "tf.nn.dilation2d": op(same("input"), _morphology),
    "tf.nn.erosion2d": op(same("value"), _morphology),
    "tf.nn.depthwise_conv2d_backprop_input": op(same("out_backprop"), _given_sizes("input_sizes")),
    "tf.nn.depthwise_conv2d_backprop_filter": op(same("input"), _given_sizes("filter_sizes")),
    "tf.nn.batch_normalization": op(lambda a: common([a.tensor("x")]), _batch_normalization),
    "tf.nn.batch_norm_with_global_normalization": op(same("input"), like("input")),
    "tf.nn.normalize_moments": Spec(value_rule(_normalized_moments, "unknown"), op=True),
    "tf.nn.softmax_cross_entropy_with_logits": op(same("logits"), _softmax_loss),
    "tf.nn.sparse_softmax_cross_entropy_with_logits": op(same("logits"), like("labels")),
    "tf.nn.sigmoid_cross_entropy_with_logits": op(agreed("logits", "labels"), like("logits")),
    "tf.nn.weighted_cross_entropy_with_logits": op(agreed("logits", "labels"), like("logits")),
    "tf.nn.log_poisson_loss": op(same("log_input"), like("log_input")),
    "tf.nn.ctc_loss": op(fixed("float32"), _ctc_loss),
    "tf.nn.compute_average_loss": op(same("per_example_loss"), scalar),
    "tf.nn.scale_regularization_loss": op(same("regularization_loss"), like("regularization_loss")),
}
