"""Preprocessing layers: scaling, resizing, augmentation, lookups and text."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE, Value, tensor
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, RAGGED, SPARSE, UNRESOLVED, Dim, Shape
from hybridize.library.keras.dense import normal, same
from hybridize.library.keras.settings import LayerCall, layer, layer_value
from hybridize.library.operands import Unsure
from hybridize.library.spec import Call, ClassSpec, Spec


def _resized(l: LayerCall) -> Shape:
    """Images with another height and width."""
    shape = l.x.known
    if len(shape) not in (3, 4) or l.channels_first():
        raise Unsure
    batch, channels = shape[:-3], shape[-1]
    return (*batch, l.settings.dim("height"), l.settings.dim("width"), channels)


def _cropped(l: LayerCall) -> Shape:
    """Crops; but Keras 3 leaves some images as they are when it is not training."""
    shape = l.x.known
    if len(shape) not in (3, 4) or l.channels_first():
        raise Unsure
    return (*shape[:-3], UNRESOLVED, UNRESOLVED, shape[-1])


def _vary(height: bool, width: bool) -> object:
    def rule(l: LayerCall) -> Shape:
        shape = l.x.known
        if len(shape) not in (3, 4):
            raise Unsure
        dims: list[Dim] = list(shape)
        if height:
            dims[-3] = DYNAMIC
        if width:
            dims[-2] = DYNAMIC
        return tuple(dims)

    return rule


def _tokens(l: LayerCall) -> Dim:
    """How many tokens a lookup knows, where the output has one column for each."""
    try:
        if l.settings.flag("pad_to_max_tokens") and l.settings.given("max_tokens"):
            return l.settings.dim("max_tokens")
    except Unsure:
        pass
    return UNRESOLVED


def _encoded(l: LayerCall, mode: str, size: Dim, shape: Shape) -> Value:
    """One-hot, multi-hot or counts over the tokens. The releases differ about the dtype and about leading dims."""
    if shape is None or l.settings.flag("sparse"):
        raise Unsure
    if mode == "one_hot":
        if len(shape) == 1 or (len(shape) == 2 and shape[-1] == 1):
            return l.result(None, (shape[0], size))
        raise Unsure
    if len(shape) == 2:
        return l.result(None, (shape[0], size))
    raise Unsure


def _lookup(l: LayerCall) -> Value:
    """`StringLookup`, `IntegerLookup`: indices of the input's shape, or encodings of them."""
    mode = l.settings.word("output_mode", "int")
    x = l.x
    if RAGGED in l.args.kinds or SPARSE in l.args.kinds:
        raise Unsure
    if mode == "int":
        if l.settings.flag("invert"):
            return l.result("string" if l.settings.name.endswith("StringLookup") else None, x.shape)
        return l.result("int64", x.shape)
    return _encoded(l, mode, _tokens(l), x.shape)


def _vectorized(l: LayerCall) -> Value:
    """`TextVectorization`: rows of token indices."""
    mode = l.settings.word("output_mode", "int")
    shape = l.x.known
    if l.settings.flag("ragged") or len(shape) not in (0, 1, 2):
        raise Unsure
    if len(shape) == 2 and shape[1] != 1:
        raise Unsure
    if mode != "int":
        raise Unsure
    length: Dim = DYNAMIC
    if l.settings.given("output_sequence_length"):
        length = l.settings.dim("output_sequence_length")
    return l.result("int64", (*shape[:1], length))


def _hashed(l: LayerCall) -> Value:
    if l.settings.word("output_mode", "int") != "int":
        raise Unsure
    x = l.x
    if RAGGED in l.args.kinds or SPARSE in l.args.kinds:
        raise Unsure
    return l.result(None, x.shape)


def _binned(l: LayerCall) -> Value:
    """`Discretization`: the number of the bin; the releases differ about its dtype."""
    if l.settings.word("output_mode", "int") != "int":
        raise Unsure
    return l.result(None, l.x.shape)


def _category(l: LayerCall) -> Value:
    """`CategoryEncoding`: one column for each token."""
    mode = l.settings.word("output_mode", "multi_hot")
    return _encoded(l, mode, l.settings.dim("num_tokens"), l.x.shape)


def _nothing(call: Call) -> Value:
    return NONE.value


def _vocabulary(call: Call) -> Value:
    return call.list_of(NONE.value if False else _strings(), "list", "vocabulary")


def _strings() -> Value:
    from hybridize.domain.objects import STR_V

    return STR_V


_ADAPT: Final[dict[str, Spec]] = {
    "adapt": Spec(_nothing, effects=("eager_only",)),
    "set_vocabulary": Spec(_nothing, effects=("eager_only",)),
    "get_vocabulary": Spec(_vocabulary, effects=("eager_only",)),
    "vocabulary_size": Spec(lambda call: _size(call)),
    "reset_state": Spec(_nothing),
    "update_state": Spec(_nothing),
    "finalize_state": Spec(_nothing),
    "load_assets": Spec(_nothing, effects=("io",)),
    "save_assets": Spec(_nothing, effects=("io",)),
}


def _size(call: Call) -> Value:
    from hybridize.domain.objects import INT_V

    return INT_V


_AUGMENTING: Final = "RandomBrightness RandomContrast RandomFlip RandomRotation RandomTranslation RandomZoom"

CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.layers.Rescaling": layer(same, "compute"),
    "keras.layers.Normalization": layer(same, "compute", methods=_ADAPT),
    "keras.layers.Resizing": layer(_resized, "compute", properties=normal(settings="height width")),
    "keras.layers.CenterCrop": layer(_resized, "compute", properties=normal(settings="height width")),
    "keras.layers.RandomCrop": layer(_cropped, "compute", properties=normal(settings="height width")),
    "keras.layers.RandomHeight": layer(_vary(True, False), "compute"),  # type: ignore[arg-type]
    "keras.layers.RandomWidth": layer(_vary(False, True), "compute"),  # type: ignore[arg-type]
    **{f"keras.layers.{name}": layer(same, "compute") for name in _AUGMENTING.split()},
    "keras.layers.StringLookup": layer_value(_lookup, methods=_ADAPT),
    "keras.layers.IntegerLookup": layer_value(_lookup, methods=_ADAPT),
    "keras.layers.TextVectorization": layer_value(_vectorized, methods=_ADAPT),
    "keras.layers.Hashing": layer_value(_hashed),
    "keras.layers.Discretization": layer_value(_binned, methods=_ADAPT),
    "keras.layers.CategoryEncoding": layer_value(_category),
}

_UNUSED = (DENSE, NDARRAY, tensor)
