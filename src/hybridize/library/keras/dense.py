"""Core layers: dense ones, embeddings, activations, noise, regularization, normalization."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Lib, Lit, Value
from hybridize.domain.tensors import DYNAMIC, SYMBOLIC, UNRESOLVED, Shape
from hybridize.library.keras.models import WeightRule, Weights, layer, layer_value, setting, single, weight_properties
from hybridize.library.keras.named import activations
from hybridize.library.keras.settings import LayerCall
from hybridize.library.operands import Impossible, Unsure
from hybridize.library.spec import Call, ClassSpec, Rule, parametrized


def same(it: LayerCall) -> Shape:
    """The input's shape."""
    return it.x.shape


def activated(it: LayerCall, value: Value) -> Value:
    """Calls the project's activation function, if the layer has one; its result is the layer's."""
    given = it.settings.value("activation")
    result = BOTTOM
    for obj in given:
        if isinstance(obj, (Lit, Lib)):
            result = join(result, value)
        else:
            result = join(result, it.call.call(obj.value, value, how=How.KERAS))
    return result or value


def _dense_shape(it: LayerCall) -> Shape:
    shape = it.x.known
    if not shape:
        raise Impossible
    return (*shape[:-1], it.settings.dim("units"))


def _dense_weights(it: LayerCall) -> Weights:
    units = it.settings.dim("units")
    found: Weights = {"kernel": (it.x.known[-1], units)}
    if it.settings.default("use_bias", True):
        found["bias"] = (units,)
    return found


def _embedding_weights(it: LayerCall) -> Weights:
    return {"embeddings": (it.settings.dim("input_dim"), it.settings.dim("output_dim"))}


def einsum_dims(equation: str, rank: int) -> tuple[str, str, str]:
    """The input, kernel and output letters of a layer's equation; an ellipsis becomes capital letters."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    source, comma, kernel = left.partition(",")
    if not arrow or not comma:
        raise Impossible
    if "..." in source:
        extra = rank - len(source.replace("...", ""))
        if extra < 0:
            raise Impossible
        letters = "".join(chr(0x100 + i) for i in range(extra))
        source, output = source.replace("...", letters), output.replace("...", letters)
    if len(source) != rank:
        raise Impossible
    return source, kernel, output


def _einsum_output(it: LayerCall, output: str) -> list[int | None]:
    """The dims that `output_shape` says, aligned with the output's letters; None where it says nothing."""
    given = it.settings.dims("output_shape")
    dims: list[int | None] = [d if d >= 0 else None for d in given]
    missing = len(output) - len(dims)
    if missing < 0:
        raise Impossible
    return [None] * missing + dims


def _einsum_sizes(it: LayerCall) -> tuple[str, str, dict[str, int]]:
    equation = it.settings.constant("equation")
    if not isinstance(equation, str):
        raise Unsure
    shape = it.x.known
    source, kernel, output = einsum_dims(equation, len(shape))
    sizes = dict(zip(source, shape, strict=True))
    aligned = _einsum_output(it, output)
    symbolic = SYMBOLIC in it.args.kinds
    for letter, dim in zip(output, aligned, strict=True):
        if letter not in sizes:
            sizes[letter] = dim if dim is not None else UNRESOLVED
        elif symbolic and dim is None:
            sizes[letter] = DYNAMIC  # symbolic shapes say what `output_shape` says
    return kernel, output, sizes


def _einsum_shape(it: LayerCall) -> Shape:
    _, output, sizes = _einsum_sizes(it)
    return tuple(sizes.get(letter, UNRESOLVED) for letter in output)


def _einsum_weights(it: LayerCall) -> Weights:
    kernel, output, sizes = _einsum_sizes(it)
    found: Weights = {"kernel": tuple(sizes.get(letter, UNRESOLVED) for letter in kernel)}
    if it.settings.given("bias_axes"):
        axes = it.settings.constant("bias_axes")
        first = min(output.find(c) for c in axes)
        found["bias"] = tuple(sizes.get(c, UNRESOLVED) if c in axes else 1 for c in output[first:])
    return found


def _activation_value(it: LayerCall) -> Value:
    made = single(it, same, "cast", True)
    functions = [o for o in it.settings.value("activation") if not isinstance(o, (Lit, Lib))]
    if functions:
        return activated(it, made)
    return made


def _axes(it: LayerCall) -> list[int]:
    rank = it.x.rank
    axes = it.settings.integers("axis") or (-1,)
    if any(not -rank <= a < rank for a in axes):
        raise Impossible
    return sorted(a % rank for a in axes)


@parametrized
def _scale(it: LayerCall, names: str, statistics: str = "") -> Weights:
    """Weights over the normalized axes, those that are switched off left out."""
    shape = it.x.known
    dims = tuple(shape[a] for a in _axes(it))
    found: Weights = {}
    for name, switch in zip(names.split(), ("scale", "center"), strict=False):
        if it.settings.default(switch, True):
            found[name] = dims
    for name in statistics.split():
        found[name] = dims
    return found


_batch_norm_weights: Final = _scale("gamma beta", "moving_mean moving_variance")
_layer_norm_weights: Final = _scale("gamma beta")


def _group_norm_weights(it: LayerCall) -> Weights:
    axis = it.settings.integer("axis", default=-1)
    dims = (it.x.known[axis],)
    return {n: dims for n, s in (("gamma", "scale"), ("beta", "center")) if it.settings.default(s, True)}


def _prelu_weights(it: LayerCall) -> Weights:
    shape = list(it.x.known[1:])
    for axis in it.settings.integers("shared_axes") or ():
        shape[axis - 1] = 1
    return {"alpha": tuple(shape)}


def settings_of(names: str) -> dict[str, Rule]:
    """Properties that read settings back."""
    return {name: setting(name) for name in names.split()}


def normal(weights: str = "", rule: WeightRule | None = None, settings: str = "") -> dict[str, Rule]:
    """The properties of a layer: its weights and settings."""
    return settings_of(settings) | (weight_properties(rule, weights) if rule is not None else {})


def _same_layers(names: str, dtype: str = "cast", ragged: bool = True) -> dict[str, ClassSpec]:
    return {
        f"keras.layers.{name}": layer(same, dtype, ragged=ragged, properties=settings_of("rate axis"))
        for name in names.split()
    }


def _activation_property(call: Call) -> Value:
    return activations(setting("activation")(call))


CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.layers.Dense": layer_value(
        lambda it: activated(it, single(it, _dense_shape, "compute", True)),
        _dense_weights,
        properties=normal("kernel bias", _dense_weights, "units use_bias") | {"activation": _activation_property},
    ),
    "keras.layers.Embedding": layer(
        lambda it: (*it.x.known, it.settings.dim("output_dim")),
        "compute",
        _embedding_weights,
        ragged=True,
        properties=normal("embeddings", _embedding_weights, "input_dim output_dim mask_zero"),
    ),
    "keras.layers.EinsumDense": layer_value(
        lambda it: activated(it, single(it, _einsum_shape, "compute", False)),
        _einsum_weights,
        properties=normal("kernel bias", _einsum_weights, "equation"),
    ),
    "keras.layers.Activation": layer_value(_activation_value, properties={"activation": _activation_property}),
    **_same_layers(
        "Dropout AlphaDropout GaussianDropout GaussianNoise SpatialDropout1D SpatialDropout2D SpatialDropout3D "
        "ActivityRegularization Identity InputLayer Masking ReLU LeakyReLU ELU ThresholdedReLU Softmax "
        "UnitNormalization"
    ),
    "keras.layers.PReLU": layer(same, "cast", _prelu_weights, properties=normal("alpha", _prelu_weights)),
    "keras.layers.BatchNormalization": layer(
        same,
        "cast",
        _batch_norm_weights,
        properties=normal("gamma beta moving_mean moving_variance", _batch_norm_weights, "momentum epsilon axis"),
    ),
    "keras.layers.experimental.SyncBatchNormalization": layer(same, "cast", _batch_norm_weights),
    "keras.layers.LayerNormalization": layer(
        same, "cast", _layer_norm_weights, properties=normal("gamma beta", _layer_norm_weights, "epsilon")
    ),
    "keras.layers.RMSNormalization": layer(same, "cast"),
    "keras.layers.GroupNormalization": layer(
        same, "cast", _group_norm_weights, properties=normal("gamma beta", _group_norm_weights, "groups")
    ),
}
