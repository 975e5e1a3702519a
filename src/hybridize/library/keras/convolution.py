"""Convolutions, transposed, separable, depthwise and local ones; pooling; padding, cropping and upsampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.objects import Value
from hybridize.domain.tensors import DYNAMIC, UNRESOLVED, Dim, Shape, blurred, is_dynamic
from hybridize.library.keras.dense import activated, normal
from hybridize.library.keras.models import WeightRule, Weights, layer, layer_value, single
from hybridize.library.keras.settings import LayerCall
from hybridize.library.operands import Impossible, Unsure
from hybridize.library.shapes import product_of, sum_of, window
from hybridize.library.spec import ClassSpec, parametrized

Spatial = tuple[Dim, ...]


def split(it: LayerCall, rank: int) -> tuple[Dim, Spatial, Dim]:
    """Batch, spatial dims and channels of an input with so many spatial dims."""
    shape = it.x.known
    if len(shape) != rank + 2:
        raise Impossible
    if it.channels_first():
        return shape[0], shape[2:], shape[1]
    return shape[0], shape[1:-1], shape[-1]


def joined(it: LayerCall, batch: Dim, spatial: Spatial, channels: Dim) -> Shape:
    """The shape with these parts, in the layer's data format."""
    return (batch, channels, *spatial) if it.channels_first() else (batch, *spatial, channels)


def _kernel(it: LayerCall, name: str, rank: int, default: int | None = None) -> tuple[Dim, ...]:
    return it.settings.sizes(name, rank, default)


def _windows(it: LayerCall, spatial: Spatial, size: str, *, pooling: bool = False) -> Spatial:
    rank = len(spatial)
    stepping = pooling and not it.settings.given("strides")
    strides = _kernel(it, size, rank, 2) if stepping else it.settings.sizes("strides", rank, 1)
    if it.settings.word("padding", "valid") in ("same", "causal"):
        # Padded: the kernel's size and dilation do not matter.
        return tuple(window(s, 1, t, 1, "SAME") for s, t in zip(spatial, strides, strict=True))
    kernel = _kernel(it, size, rank, 2 if pooling else None)
    dilation = (1,) * rank if pooling else it.settings.sizes("dilation_rate", rank, 1)
    if it.settings.word("padding", "valid") != "valid":
        raise Unsure
    return tuple(window(s, k, t, d, "VALID") for s, k, t, d in zip(spatial, kernel, strides, dilation, strict=True))


@parametrized
def _ranked(it: LayerCall, rank: int, rule: Callable[[LayerCall], Shape]) -> Shape:
    """A rule that keeps the number of dims: where settings are not known, that much still is."""
    try:
        return rule(it)
    except Unsure:
        known = it.x.known
        if len(known) != rank + 2:
            raise Impossible from None
        return (known[0], *(DYNAMIC if is_dynamic(d) else UNRESOLVED for d in known[1:]))


@parametrized
def _conv_shape(it: LayerCall, rank: int) -> Shape:
    batch, spatial, _ = split(it, rank)
    return joined(it, batch, _windows(it, spatial, "kernel_size"), it.settings.dim("filters"))


@parametrized
def _conv_weights(it: LayerCall, rank: int) -> Weights:
    _, _, channels = split(it, rank)
    groups = it.settings.integer("groups", default=1)
    inner = channels // groups if channels >= 0 else channels
    filters = it.settings.dim("filters")
    return _with_bias(it, {"kernel": (*_kernel(it, "kernel_size", rank), inner, filters)}, filters)


def _with_bias(it: LayerCall, weights: Weights, size: Dim) -> Weights:
    if it.settings.default("use_bias", True):
        weights["bias"] = (size,)
    return weights


def _transposed(size: Dim, kernel: int, stride: int, dilation: int, padding: str, extra: int | None) -> Dim:
    """The size that a transposed convolution gives."""
    if size < 0:
        return blurred(size)
    kernel += (kernel - 1) * (dilation - 1)
    if extra is None:
        return size * stride + (max(kernel - stride, 0) if padding == "valid" else 0)
    return (size - 1) * stride + kernel - 2 * (kernel // 2 if padding == "same" else 0) + extra


@parametrized
def _transposed_shape(it: LayerCall, rank: int) -> Shape:
    batch, spatial, _ = split(it, rank)
    kernel = it.settings.sizes("kernel_size", rank)
    strides = it.settings.sizes("strides", rank, 1)
    dilation = it.settings.sizes("dilation_rate", rank, 1)
    padding = it.settings.word("padding", "valid")
    extra: tuple[int | None, ...] = (None,) * rank
    if it.settings.given("output_padding"):
        extra = it.settings.sizes("output_padding", rank)
    dims = [
        _transposed(s, k, t, d, padding, e)
        for s, k, t, d, e in zip(spatial, kernel, strides, dilation, extra, strict=True)
    ]
    return joined(it, batch, tuple(dims), it.settings.dim("filters"))


@parametrized
def _transposed_weights(it: LayerCall, rank: int) -> Weights:
    _, _, channels = split(it, rank)
    filters = it.settings.dim("filters")
    return _with_bias(it, {"kernel": (*_kernel(it, "kernel_size", rank), filters, channels)}, filters)


@parametrized
def _depthwise_shape(it: LayerCall, rank: int) -> Shape:
    batch, spatial, channels = split(it, rank)
    many = it.settings.integer("depth_multiplier", default=1)
    return joined(it, batch, _windows(it, spatial, "kernel_size"), product_of((channels, many)))


@parametrized
def _depthwise_weights(it: LayerCall, rank: int) -> Weights:
    _, _, channels = split(it, rank)
    many = it.settings.integer("depth_multiplier", default=1)
    kernel = (*_kernel(it, "kernel_size", rank), channels, many)
    return _with_bias(it, {"depthwise_kernel": kernel}, product_of((channels, many)))


@parametrized
def _separable_weights(it: LayerCall, rank: int) -> Weights:
    _, _, channels = split(it, rank)
    many = it.settings.integer("depth_multiplier", default=1)
    filters = it.settings.dim("filters")
    found: Weights = {
        "depthwise_kernel": (*_kernel(it, "kernel_size", rank), channels, many),
        "pointwise_kernel": (*(1,) * rank, product_of((channels, many)), filters),
    }
    return _with_bias(it, found, filters)


@parametrized
def _pool_shape(it: LayerCall, rank: int) -> Shape:
    batch, spatial, channels = split(it, rank)
    return joined(it, batch, _windows(it, spatial, "pool_size", pooling=True), channels)


@parametrized
def _global_shape(it: LayerCall, rank: int) -> Shape:
    batch, _, channels = split(it, rank)
    if it.settings.default("keepdims", False):
        return joined(it, batch, (1,) * rank, channels)
    return (batch, channels)


@parametrized
def _adaptive_shape(it: LayerCall, rank: int) -> Shape:
    batch, _, channels = split(it, rank)
    return joined(it, batch, it.settings.sizes("output_size", rank), channels)


def _pairs(it: LayerCall, name: str, rank: int) -> list[tuple[int, int]]:
    """A padding or cropping: one int, one per dim, or a pair per dim."""
    if not it.settings.given(name):
        return _default_pairs(it.settings.default(name), rank)
    obj = it.settings.object(name)
    assert obj is not None
    items = it.settings.items_of(obj)
    rows = [tuple(_ints(it, item)) for item in items]
    if len(rows) == 1 and len(rows[0]) == 1:
        return [(rows[0][0], rows[0][0])] * rank
    if rank == 1:
        flat = [r[0] for r in rows]
        if len(flat) != 2:
            raise Unsure
        return [(flat[0], flat[1])]
    if len(rows) != rank:
        raise Impossible
    return [(r[0], r[-1]) for r in rows]


def _default_pairs(default: object, rank: int) -> list[tuple[int, int]]:
    if isinstance(default, int):
        return [(default, default)] * rank
    if not isinstance(default, tuple):
        raise Unsure
    if rank == 1 and len(default) == 2:
        return [(default[0], default[1])]
    rows = [d if isinstance(d, tuple) else (d, d) for d in default]
    return [(r[0], r[-1]) for r in rows]


def _ints(it: LayerCall, value: Value) -> list[int]:
    if len(value) != 1:
        raise Unsure
    (obj,) = value
    found = []
    for item in it.settings.items_of(obj):
        const = getattr(next(iter(item)), "const", None) if len(item) == 1 else None
        if not isinstance(const, int):
            raise Unsure
        found.append(const)
    return found


@parametrized
def _padding_shape(it: LayerCall, rank: int) -> Shape:
    batch, spatial, channels = split(it, rank)
    dims = [sum_of((s, a, b)) for s, (a, b) in zip(spatial, _pairs(it, "padding", rank), strict=True)]
    return joined(it, batch, tuple(dims), channels)


@parametrized
def _cropping_shape(it: LayerCall, rank: int) -> Shape:
    batch, spatial, channels = split(it, rank)
    dims = [
        max(s - a - b, 0) if s >= 0 else blurred(s)
        for s, (a, b) in zip(spatial, _pairs(it, "cropping", rank), strict=True)
    ]
    return joined(it, batch, tuple(dims), channels)


@parametrized
def _upsampled(it: LayerCall, rank: int) -> Shape:
    batch, spatial, channels = split(it, rank)
    dims = [product_of((s, k)) for s, k in zip(spatial, it.settings.sizes("size", rank, 2), strict=True)]
    return joined(it, batch, tuple(dims), channels)


@parametrized
def _recurrent_convolution(it: LayerCall, rank: int) -> Value:
    """`ConvLSTM`: a convolution at each time step."""
    shape = it.x.known
    if len(shape) != rank + 3:
        raise Impossible
    first = it.channels_first()
    spatial = _windows(it, shape[3:] if first else shape[2:-1], "kernel_size")
    filters = it.settings.dim("filters")
    inner = (filters, *spatial) if first else (*spatial, filters)
    dtype = it.compute_dtype()
    sequences, state = it.settings.default("return_sequences", False), it.settings.default("return_state", False)
    output = it.result(dtype, (shape[0], shape[1], *inner) if sequences else (shape[0], *inner))
    if not state:
        return output
    last = it.result(dtype, (shape[0], *inner))
    return it.call.listed((output, last, last), "states")


_ACTIVATED_SETTINGS: Final = "filters kernel_size strides padding dilation_rate use_bias groups data_format"


def _convolution(
    rank: int, shape: Callable[[LayerCall], Shape], weights: WeightRule, names: str = "kernel bias"
) -> ClassSpec:
    return layer_value(
        lambda it: activated(it, single(it, _ranked(rank, shape), "compute", False)),
        weights,
        properties=normal(names, weights, _ACTIVATED_SETTINGS),
    )


def _rank_layers(rank: int) -> dict[str, ClassSpec]:
    """The layers that exist for each number of spatial dims."""
    pool = layer(_ranked(rank, _pool_shape(rank)), "cast", properties=normal(settings="pool_size strides padding"))
    whole = layer(_global_shape(rank), "cast")
    adaptive = layer(_ranked(rank, _adaptive_shape(rank)), "cast")
    return {
        f"keras.layers.Conv{rank}D": _convolution(rank, _conv_shape(rank), _conv_weights(rank)),
        f"keras.layers.Conv{rank}DTranspose": _convolution(rank, _transposed_shape(rank), _transposed_weights(rank)),
        f"keras.layers.MaxPooling{rank}D": pool,
        f"keras.layers.AveragePooling{rank}D": pool,
        f"keras.layers.GlobalMaxPooling{rank}D": whole,
        f"keras.layers.GlobalAveragePooling{rank}D": whole,
        f"keras.layers.AdaptiveMaxPooling{rank}D": adaptive,
        f"keras.layers.AdaptiveAveragePooling{rank}D": adaptive,
        f"keras.layers.ZeroPadding{rank}D": layer(_ranked(rank, _padding_shape(rank)), "cast"),
        f"keras.layers.Cropping{rank}D": layer(_ranked(rank, _cropping_shape(rank)), "cast"),
        f"keras.layers.UpSampling{rank}D": layer(_ranked(rank, _upsampled(rank)), "cast"),
        f"keras.layers.ConvLSTM{rank}D": layer_value(_recurrent_convolution(rank)),
    }


def _shallow_layers(rank: int) -> dict[str, ClassSpec]:
    """The layers that exist for one and two spatial dims."""
    separable = "depthwise_kernel pointwise_kernel bias"
    return {
        f"keras.layers.DepthwiseConv{rank}D": _convolution(
            rank, _depthwise_shape(rank), _depthwise_weights(rank), "depthwise_kernel bias"
        ),
        f"keras.layers.SeparableConv{rank}D": _convolution(
            rank, _conv_shape(rank), _separable_weights(rank), separable
        ),
        f"keras.layers.LocallyConnected{rank}D": layer_value(
            lambda it: activated(it, single(it, _conv_shape(rank), "compute", False))
        ),
    }


CLASSES: Final[dict[str, ClassSpec]] = {
    **_rank_layers(1),
    **_rank_layers(2),
    **_rank_layers(3),
    **_shallow_layers(1),
    **_shallow_layers(2),
}
