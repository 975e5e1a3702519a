"""Preprocessing layers: scaling, resizing, augmentation, lookups and text."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import INT_V, NONE, STR_V, Bound, Func, Inst, Value, Wrapper, tensor
from hybridize.domain.tensors import DENSE, DYNAMIC, RAGGED, SPARSE, UNRESOLVED, Dim, Shape
from hybridize.library.convert import PYTHON_TF, type_of_value
from hybridize.library.keras.dense import normal, same
from hybridize.library.keras.models import layer, layer_value
from hybridize.library.keras.settings import LayerCall, Settings, settings_of_receiver
from hybridize.library.operands import Unsure
from hybridize.library.spec import Call, ClassSpec, Spec, nothing, parametrized


def _resized(it: LayerCall) -> Shape:
    """Images with another height and width."""
    shape = it.x.known
    if len(shape) not in (3, 4) or it.channels_first():
        raise Unsure
    batch, channels = shape[:-3], shape[-1]
    return (*batch, it.settings.dim("height"), it.settings.dim("width"), channels)


def _cropped(it: LayerCall) -> Shape:
    """Crops; but Keras 3 leaves some images as they are when it is not training."""
    shape = it.x.known
    if len(shape) not in (3, 4) or it.channels_first():
        raise Unsure
    return (*shape[:-3], UNRESOLVED, UNRESOLVED, shape[-1])


@parametrized
def _vary(it: LayerCall, height: bool, width: bool) -> Shape:
    shape = it.x.known
    if len(shape) not in (3, 4):
        raise Unsure
    dims: list[Dim] = list(shape)
    if height:
        dims[-3] = DYNAMIC
    if width:
        dims[-2] = DYNAMIC
    return tuple(dims)


def _tokens(it: LayerCall) -> Dim:
    """How many tokens a lookup knows, where the output has one column for each."""
    try:
        if it.settings.flag("pad_to_max_tokens") and it.settings.given("max_tokens"):
            return it.settings.dim("max_tokens")
    except Unsure:
        pass
    return UNRESOLVED


def _encoded(it: LayerCall, mode: str, size: Dim, shape: Shape) -> Value:
    """One-hot, multi-hot or counts over the tokens. The releases differ about the dtype and about leading dims."""
    if shape is None or it.settings.flag("sparse"):
        raise Unsure
    if mode == "one_hot":
        if len(shape) == 1 or (len(shape) == 2 and shape[-1] == 1):
            return it.result(None, (shape[0], size))
        raise Unsure
    if len(shape) == 2:
        return it.result(None, (shape[0], size))
    raise Unsure


def _lookup(it: LayerCall) -> Value:
    """`StringLookup`, `IntegerLookup`: indices of the input's shape, or encodings of them."""
    mode = it.settings.word("output_mode", "int")
    x = it.x
    if RAGGED in it.args.kinds or SPARSE in it.args.kinds:
        raise Unsure
    if mode == "int":
        if it.settings.flag("invert"):
            return it.result("string" if it.settings.name.endswith("StringLookup") else None, x.shape)
        return it.result("int64", x.shape)
    return _encoded(it, mode, _tokens(it), x.shape)


def _vectorized(it: LayerCall) -> Value:
    """`TextVectorization`: rows of token indices."""
    _run_steps(it.call, it.settings, tensor(DENSE, "string", it.x.shape).value)
    mode = it.settings.word("output_mode", "int")
    shape = it.x.known
    if it.settings.flag("ragged") or len(shape) not in (0, 1, 2):
        raise Unsure
    if len(shape) == 2 and shape[1] != 1:
        raise Unsure
    if mode != "int":
        raise Unsure
    length: Dim = DYNAMIC
    if it.settings.given("output_sequence_length"):
        length = it.settings.dim("output_sequence_length")
    return it.result("int64", (*shape[:1], length))


def _run_steps(call: Call, settings: Settings, text: Value) -> None:
    """The project's own functions among the steps of `TextVectorization`: each sees what the one before gives."""
    for name in ("standardize", "split"):
        try:
            step = settings.value(name)
        except Unsure:
            return
        if any(isinstance(obj, (Func, Bound, Wrapper, Inst)) for obj in step):
            text = call.call(step, text, how=How.KERAS) or text
        elif name == "split" or not text:
            return


def _adapted(call: Call) -> Value:
    """`adapt(data)`: vectorization runs its steps on the data, with an axis of one more where there is only one."""
    obj = call.receiver
    given = type_of_value(call, call.arg(0, "data"), PYTHON_TF)[1]
    shape = (given[0], 1) if given is not None and len(given) == 1 else given
    if obj is not None:
        _run_steps(call, settings_of_receiver(call), tensor(DENSE, "string", shape).value)
    return NONE.value


def _hashed(it: LayerCall) -> Value:
    if it.settings.word("output_mode", "int") != "int":
        raise Unsure
    x = it.x
    if RAGGED in it.args.kinds or SPARSE in it.args.kinds:
        raise Unsure
    return it.result(None, x.shape)


def _binned(it: LayerCall) -> Value:
    """`Discretization`: the number of the bin; the releases differ about its dtype."""
    if it.settings.word("output_mode", "int") != "int":
        raise Unsure
    return it.result(None, it.x.shape)


def _category(it: LayerCall) -> Value:
    """`CategoryEncoding`: one column for each token."""
    mode = it.settings.word("output_mode", "multi_hot")
    return _encoded(it, mode, it.settings.dim("num_tokens"), it.x.shape)


_ADAPT: Final[dict[str, Spec]] = {
    "adapt": Spec(nothing, effects=("eager_only", "mutate")),
    "set_vocabulary": Spec(nothing, effects=("eager_only", "mutate")),
    "get_vocabulary": Spec(lambda call: call.list_of(STR_V, "list", "vocabulary"), effects=("eager_only",)),
    "vocabulary_size": Spec(lambda call: INT_V),
    "reset_state": Spec(nothing),
    "update_state": Spec(nothing),
    "finalize_state": Spec(nothing),
    "load_assets": Spec(nothing, effects=("io",)),
    "save_assets": Spec(nothing, effects=("io",)),
}


_AUGMENTING: Final = """
    RandomBrightness RandomContrast RandomFlip RandomRotation RandomTranslation RandomZoom RandomShear RandomPerspective
    RandomColorDegeneration RandomColorJitter RandomErasing RandomGaussianBlur RandomGrayscale RandomHue RandomInvert
    RandomPosterization RandomSaturation RandomSharpness Solarization AutoContrast Equalization AugMix RandAugment
"""

CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.layers.Rescaling": layer(same, "compute"),
    "keras.layers.Normalization": layer(same, "compute", methods=_ADAPT),
    "keras.layers.Resizing": layer(_resized, "compute", properties=normal(settings="height width")),
    "keras.layers.CenterCrop": layer(_resized, "compute", properties=normal(settings="height width")),
    "keras.layers.RandomCrop": layer(_cropped, "compute", properties=normal(settings="height width")),
    "keras.layers.RandomHeight": layer(_vary(True, False), "compute"),
    "keras.layers.RandomWidth": layer(_vary(False, True), "compute"),
    **{f"keras.layers.{name}": layer(same, "compute") for name in _AUGMENTING.split()},
    "keras.layers.StringLookup": layer_value(_lookup, methods=_ADAPT),
    "keras.layers.IntegerLookup": layer_value(_lookup, methods=_ADAPT),
    "keras.layers.TextVectorization": layer_value(
        _vectorized, methods={**_ADAPT, "adapt": Spec(_adapted, effects=("eager_only", "mutate"))}
    ),
    "keras.layers.Hashing": layer_value(_hashed),
    "keras.layers.Discretization": layer_value(_binned, methods=_ADAPT),
    "keras.layers.CategoryEncoding": layer_value(_category),
}
