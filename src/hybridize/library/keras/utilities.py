"""Initializers, regularizers, constraints, applications, and what `keras.utils` and `keras.preprocessing` have."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import BOTTOM, NONE, Tensor, Value, stream, tensor, tup, unknown
from hybridize.domain.tensors import BATCH, DENSE, DYNAMIC, NDARRAY, SYMBOLIC, UNRESOLVED, Dim, Shape
from hybridize.library.defaults import keep_arguments
from hybridize.library.keras.settings import float_of_inputs, global_float, is_float, make_layer, set_global
from hybridize.library.operands import Args, Unsure, expand, group, sure, value_rule
from hybridize.library.spec import Call, ClassSpec, Spec, nothing
from hybridize.library.tensorflow.data_elements import DATASET


def _initializer(call: Call) -> Value:
    """`initializer(shape, dtype)`."""

    def one(inner: Call) -> Value:
        a = Args(inner, "", ("shape", "dtype"))
        dtype = a.dtype("dtype", default=float_of_inputs(inner))
        return tensor(DENSE, dtype, sure(lambda b: b.dims("shape"), a)).value

    return expand(call, one)


def _regularizer(call: Call) -> Value:
    def one(inner: Call) -> Value:
        x = Args(inner, "", ("x",)).tensor("x")
        return tensor(
            SYMBOLIC if x.kind == SYMBOLIC else DENSE, x.dtype if is_float(x.dtype) and not x.weak else None, ()
        ).value

    return expand(call, one)


def _constraint(call: Call) -> Value:
    def one(inner: Call) -> Value:
        x = Args(inner, "", ("w",)).tensor("w")
        return tensor(SYMBOLIC if x.kind == SYMBOLIC else DENSE, x.dtype if is_float(x.dtype) else None, x.shape).value

    return expand(call, one)


# Applications --------------------------------------------------------------------------------------------------------

#: The channels of a model's last feature map.
_FEATURES: Final = {
    "ConvNeXtTiny": 768, "ConvNeXtSmall": 768, "ConvNeXtBase": 1024, "ConvNeXtLarge": 1536, "ConvNeXtXLarge": 2048,
    "DenseNet121": 1024, "DenseNet169": 1664, "DenseNet201": 1920,
    "EfficientNetB0": 1280, "EfficientNetB1": 1280, "EfficientNetB2": 1408, "EfficientNetB3": 1536,
    "EfficientNetB4": 1792, "EfficientNetB5": 2048, "EfficientNetB6": 2304, "EfficientNetB7": 2560,
    "EfficientNetV2B0": 1280, "EfficientNetV2B1": 1280, "EfficientNetV2B2": 1408, "EfficientNetV2B3": 1536,
    "EfficientNetV2L": 1280, "EfficientNetV2M": 1280, "EfficientNetV2S": 1280,
    "InceptionResNetV2": 1536, "InceptionV3": 2048, "NASNetLarge": 4032, "NASNetMobile": 1056,
    "MobileNet": 1024, "MobileNetV2": 1280, "MobileNetV3Large": 960, "MobileNetV3Small": 576,
    "ResNet101": 2048, "ResNet101V2": 2048, "ResNet152": 2048, "ResNet152V2": 2048,
    "ResNet50": 2048, "ResNet50V2": 2048,
    "VGG16": 512, "VGG19": 512, "Xception": 2048,
}  # fmt: skip
#: Models whose features depend on further arguments.
_OTHER_MODELS: Final = (
    *"MobileNet MobileNetV2 MobileNetV3Large MobileNetV3Small".split(),
    *(f"regnet.RegNet{kind}{size:03}" for kind in "XY" for size in (2, 4, 6, 8, 16, 32, 40, 64, 80, 120, 160, 320)),
    *(f"resnet_rs.ResNetRS{size}" for size in (50, 101, 152, 200, 270, 350, 420)),
)


def _reduced_size(name: str, size: Dim) -> Dim:
    """A spatial dim after the five halvings that all models have; those that do not pad lose more."""
    if size < 0:
        return DYNAMIC
    return size // 32 if size % 32 == 0 and not name.startswith(("Inception", "NASNet", "Xception")) else UNRESOLVED


def _application(name: str) -> Spec:
    def shape(a: Args) -> Shape:
        if a.flag("include_top", default=True):
            try:
                return (BATCH, a.integer("classes", default=1000))
            except Unsure:
                return (BATCH, UNRESOLVED)
        features = UNRESOLVED if a.given("alpha") else _FEATURES.get(name, UNRESOLVED)
        if a.given("pooling"):
            return (BATCH, features)
        sizes = a.dims("input_shape")[:2] if a.given("input_shape") else (DYNAMIC, DYNAMIC)
        if a.given("input_tensor"):
            sizes = (DYNAMIC, DYNAMIC)
        spatial: tuple[Dim, ...] = tuple(_reduced_size(name, d) for d in sizes)
        return (BATCH, *spatial, features)

    def rule(call: Call) -> Value:
        if any(not v for v in (*call.args, *call.kwargs.values())):
            return BOTTOM
        made = call.made("keras.Model")
        call.keep(made, "$outputs", tensor(SYMBOLIC, global_float(call), sure(shape, Args(call))).value)
        return made.value

    return Spec(rule, effects=("io",), parameters=())


def _preprocess(keeps: bool) -> Spec:
    """`preprocess_input(x)`: the same shape, as floats; for some models x itself."""

    def one(a: Args) -> Value:
        value = a.value("x")
        (obj,) = value if len(value) == 1 else (None,)
        if not isinstance(obj, Tensor):
            raise Unsure
        if keeps:
            return value
        kind = obj.kind if obj.kind in (NDARRAY, SYMBOLIC) else DENSE
        if obj.dtype is None:
            return tensor(kind, None, obj.shape).value
        return tensor(kind, obj.dtype if is_float(obj.dtype) else "float32", obj.shape).value

    return Spec(value_rule(one), op=True)


_PREPROCESS: Final = """
    densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 nasnet resnet resnet50 resnet_v2
    vgg16 vgg19 xception
"""
_PREPROCESS_SAME: Final = "convnext efficientnet efficientnet_v2 mobilenet_v3 regnet resnet_rs"

# Data ----------------------------------------------------------------------------------------------------------------


def _images(a: Args) -> Value:
    """`image_dataset_from_directory`: batches of images, with labels unless told otherwise."""
    size = a.integers("image_size", default=(256, 256))
    mode = a.constant("color_mode", default="rgb")
    channels = {"rgb": 3, "rgba": 4, "grayscale": 1}.get(mode, UNRESOLVED)
    if size is None or (a.given("subset") and a.constant("subset") == "both"):
        raise Unsure
    return _labelled(a, tensor(DENSE, "float32", _batched(a, (*size, channels))).value)


def _texts(a: Args) -> Value:
    return _labelled(a, tensor(DENSE, "string", _batched(a, ())).value)


def _batched(a: Args, shape: tuple[Dim, ...]) -> Shape:
    unbatched = a.value("batch_size") == NONE.value
    return shape if unbatched else (BATCH, *shape)


def _labelled(a: Args, data: Value) -> Value:
    labels = a.value("labels")
    mode = a.constant("label_mode", default="int")
    if labels == NONE.value or mode is None:
        return stream(DATASET, data).value
    rest: dict[str, tuple[str, tuple[Dim, ...]]] = {
        "int": ("int32", ()), "binary": ("float32", (1,)), "categorical": ("float32", (UNRESOLVED,))
    }  # fmt: skip
    dtype, shape = rest[mode]
    return stream(DATASET, tup([data, tensor(DENSE, dtype, _batched(a, shape)).value]).value).value


def _sequences(a: Args) -> Value:
    """`pad_sequences`: an array of rows of one length."""
    dtype = a.dtype("dtype", default="int32")
    length: Dim = UNRESOLVED
    if a.given("maxlen"):
        found = sure(lambda b: b.integer("maxlen"), a)
        length = found if found is not None else UNRESOLVED
    count: Dim = UNRESOLVED
    obj = a.object("sequences")
    if obj is not None and not isinstance(obj, Tensor):
        items = sure(lambda b: b.items_of(obj), a)
        count = len(items) if items is not None else UNRESOLVED
    elif isinstance(obj, Tensor) and obj.shape:
        count = obj.shape[0]
    return tensor(NDARRAY, dtype, (count, length)).value


def _categorical(a: Args) -> Value:
    """`to_categorical`: one-hot rows. The releases differ about dtype, and about the kind for tensors."""
    x = a.tensor("x", "y")
    obj = a.object("x", "y")
    classes = sure(lambda b: b.integer("num_classes"), a) if a.given("num_classes") else None
    shape: Shape = None
    if x.shape is not None:
        kept = x.shape[:-1] if len(x.shape) > 1 and x.shape[-1] == 1 else x.shape
        # A last dim that may be one would be dropped.
        if kept is not x.shape or len(x.shape) <= 1 or x.shape[-1] > 1:
            shape = (*kept, classes if classes is not None else UNRESOLVED)
    made = tensor(NDARRAY, None, shape)
    if isinstance(obj, Tensor) and obj.kind != NDARRAY:
        return frozenset((made, tensor(DENSE, None, shape)))
    return made.value


def _image_array(a: Args) -> Value:
    """`img_to_array`: height, width and channels."""
    dtype = a.dtype("dtype", default="float32")
    return tensor(NDARRAY, dtype, (UNRESOLVED, UNRESOLVED, UNRESOLVED)).value


def _normalized(a: Args) -> Value:
    obj = a.object("x")
    if not isinstance(obj, Tensor) or obj.kind != NDARRAY:
        raise Unsure
    return tensor(NDARRAY, obj.dtype if is_float(obj.dtype) else None, obj.shape).value


def _opaque(what: str) -> Spec:
    return Spec(lambda call: unknown(what).value)


_INITIALIZERS: Final = """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform LecunNormal LecunUniform Ones Orthogonal RandomNormal
    RandomUniform TruncatedNormal VarianceScaling Zeros IdentityInitializer Identity
"""
_CONSTRAINTS: Final = "MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm"

FUNCTIONS: Final[dict[str, Spec]] = {
    **{f"keras.applications.{name}": _application(name) for name in (*_FEATURES, *_OTHER_MODELS)},
    **group(" ".join(f"{m}.preprocess_input" for m in _PREPROCESS.split()), _preprocess(False), "keras.applications."),
    **group(
        " ".join(f"{m}.preprocess_input" for m in _PREPROCESS_SAME.split()), _preprocess(True), "keras.applications."
    ),
    **group(
        " ".join(f"{m}.decode_predictions" for m in (_PREPROCESS + " " + _PREPROCESS_SAME).split()),
        Spec(lambda call: unknown("decoded predictions").value, effects=("io",)),
        "keras.applications.",
    ),
    "keras.utils.image_dataset_from_directory": Spec(value_rule(_images, "unknown"), effects=("io",)),
    "keras.utils.text_dataset_from_directory": Spec(value_rule(_texts, "unknown"), effects=("io",)),
    "keras.utils.pad_sequences": Spec(value_rule(_sequences, "unknown")),
    "keras.utils.to_categorical": Spec(value_rule(_categorical, "unknown")),
    "keras.utils.img_to_array": Spec(value_rule(_image_array, "unknown")),
    "keras.utils.normalize": Spec(value_rule(_normalized, "unknown")),
    "keras.utils.load_img": Spec(lambda call: unknown("an image").value, effects=("io",)),
    "keras.utils.save_img": Spec(nothing, effects=("io",)),
    "keras.utils.array_to_img": _opaque("an image"),
    "keras.utils.disable_interactive_logging": Spec(nothing, effects=("state",)),
    "keras.utils.enable_interactive_logging": Spec(nothing, effects=("state",)),
    "keras.config.disable_interactive_logging": Spec(nothing, effects=("state",)),
    "keras.config.enable_interactive_logging": Spec(nothing, effects=("state",)),
    "keras.regularizers.l1_l2": Spec(lambda call: keep_arguments(call, "keras.regularizers.L1L2").value),
    "keras.mixed_precision.set_global_policy": Spec(set_global("policy"), effects=("state",)),
    "keras.mixed_precision.experimental.set_policy": Spec(set_global("policy"), effects=("state",)),
    "keras.config.set_dtype_policy": Spec(set_global("policy"), effects=("state",)),
    "keras.backend.set_floatx": Spec(set_global("floatx"), effects=("state",)),
    "keras.config.set_floatx": Spec(set_global("floatx"), effects=("state",)),
    "keras.backend.set_epsilon": Spec(set_global("epsilon"), effects=("state",)),
    "keras.config.set_epsilon": Spec(set_global("epsilon"), effects=("state",)),
    "keras.backend.set_image_data_format": Spec(set_global("image_data_format"), effects=("state",)),
    "keras.config.set_image_data_format": Spec(set_global("image_data_format"), effects=("state",)),
}

CLASSES: Final[dict[str, ClassSpec]] = {
    **{
        f"keras.initializers.{name}": ClassSpec(make=make_layer, call=Spec(_initializer, op=True))
        for name in _INITIALIZERS.split()
    },
    **{
        f"keras.regularizers.{name}": ClassSpec(make=make_layer, call=Spec(_regularizer, op=True))
        for name in ("L1", "L2", "L1L2")
    },
    **{
        f"keras.constraints.{name}": ClassSpec(make=make_layer, call=Spec(_constraint, op=True))
        for name in _CONSTRAINTS.split()
    },
}
