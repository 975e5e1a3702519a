"""All layers and functions of Keras, gathered from the modules beside this one."""

from __future__ import annotations

from typing import Final

from hybridize.library.keras import (
    attention,
    convolution,
    dense,
    functions,
    losses,
    preprocessing,
    recurrent,
    reshaping,
    text,
    utilities,
)
from hybridize.library.keras.settings import init_layer, make_layer
from hybridize.library.spec import ClassSpec, Spec

FUNCTIONS: Final[dict[str, Spec]] = {
    **reshaping.FUNCTIONS,
    **losses.FUNCTIONS,
    **functions.FUNCTIONS,
    **utilities.FUNCTIONS,
    **text.FUNCTIONS,
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.layers.Layer": ClassSpec(make=make_layer, methods={"__init__": Spec(init_layer)}),
    **dense.CLASSES,
    **convolution.CLASSES,
    **reshaping.CLASSES,
    **attention.CLASSES,
    **recurrent.CLASSES,
    **preprocessing.CLASSES,
    **losses.CLASSES,
    **utilities.CLASSES,
    **text.CLASSES,
}
