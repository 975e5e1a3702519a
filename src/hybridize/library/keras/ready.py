"""What the models of `keras.applications` do in a call: they differ a hundredfold."""

from __future__ import annotations

from typing import Final

from hybridize.records import dataclass

#: Eager dispatches and operations of a graph for a layer.
_DISPATCHES: Final = 17.0
_OPERATIONS: Final = 4.6
#: Of a model that is not listed: layers, multiplications for an image of the usual size, weights, variables.
_OTHER: Final = (175.0, 4e9, 2.5e7, 150.0)
#: By the beginning of the name; the longest one counts. The dense top of VGG, which most leave away, is not counted.
_MODELS: Final = {
    name: (float(layers), mults * 1e9, weights * 1e6, float(variables))
    for name, layers, mults, weights, variables in (
        ("ConvNeXtTiny", 151, 4.5, 29, 180),
        ("DenseNet121", 429, 2.8, 8, 364),
        ("DenseNet169", 597, 3.4, 14, 508),
        ("DenseNet201", 709, 4.3, 20, 604),
        ("EfficientNetB0", 240, 0.4, 5, 213),
        ("EfficientNetB7", 816, 37.0, 67, 711),
        ("EfficientNetV2B0", 273, 0.7, 7, 235),
        ("InceptionResNetV2", 782, 13.2, 56, 490),
        ("InceptionV3", 313, 5.7, 24, 190),
        ("MobileNet", 91, 0.6, 4, 83),
        ("MobileNetV2", 156, 0.3, 4, 158),
        ("MobileNetV3", 270, 0.2, 5, 174),
        ("NASNetLarge", 1041, 23.8, 89, 1018),
        ("NASNetMobile", 771, 0.6, 5, 742),
        ("ResNet101", 347, 7.6, 45, 312),
        ("ResNet152", 517, 11.3, 60, 464),
        ("ResNet50", 177, 3.9, 26, 161),
        ("VGG16", 23, 15.5, 15, 32),
        ("VGG19", 26, 19.6, 20, 38),
        ("Xception", 134, 8.4, 23, 156),
    )
}
_SIDES: Final = {
    "EfficientNetB7": 600,
    "InceptionResNetV2": 299,
    "InceptionV3": 299,
    "NASNetLarge": 331,
    "Xception": 299,
}
_SIDE: Final = 224


@dataclass(frozen=True, slots=True)
class Ready:
    """One call with one image; `weights` are the elements of all variables."""

    dispatches: float
    operations: float
    flops: float
    weights: float
    variables: float


def ready(name: str, area: int | None) -> Ready:
    """A model by its name in `keras.applications`, for images of so many pixels, or of those that it is made for."""
    known = max((each for each in _MODELS if name.startswith(each)), key=len, default="")
    layers, flops, weights, variables = _MODELS.get(known, _OTHER)
    scale = 1.0 if area is None else area / _SIDES.get(known, _SIDE) ** 2
    return Ready(_DISPATCHES * layers, _OPERATIONS * layers, flops * scale, weights, variables)
