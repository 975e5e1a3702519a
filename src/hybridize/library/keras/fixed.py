"""Settings of Keras layers that must be Python values while a graph is made, where eager code may give tensors."""

from __future__ import annotations

from typing import Final

_POOLS: Final = ("MaxPooling", "AveragePooling")
_CONVOLUTIONS: Final = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose")
_DIMS: Final = ("1D", "2D", "3D")

#: Layers of Keras 3 that take a tensor for the size that is to be found: alone it serves, and two raise eagerly, too.
OF_KERAS_2: Final = frozenset({"keras.layers.Reshape"})
#: By class the settings, each with place and name. Every line was tried with TensorFlow 2.15 and 2.21: in a graph a
#: tensor, or a tuple that holds one, raises under both, and eagerly it serves under one of them at least.
FIXED: Final[dict[str, tuple[tuple[int, str], ...]]] = {
    f"keras.layers.{name}": settings
    for name, settings in {
        **{f"{pool}{dims}": ((0, "pool_size"), (1, "strides")) for pool in _POOLS for dims in _DIMS},
        **{f"ZeroPadding{dims}": ((0, "padding"),) for dims in _DIMS},
        **{f"Cropping{dims}": ((0, "cropping"),) for dims in _DIMS},
        **{f"UpSampling{dims}": ((0, "size"),) for dims in _DIMS},
        **dict.fromkeys(_CONVOLUTIONS, ((0, "filters"),)),
        "BatchNormalization": ((0, "axis"),),
        "CategoryEncoding": ((0, "num_tokens"),),
        "Concatenate": ((0, "axis"),),
        "Dense": ((0, "units"),),
        "ELU": ((0, "alpha"),),
        "Embedding": ((0, "input_dim"), (1, "output_dim")),
        "LSTM": ((0, "units"),),
        "MultiHeadAttention": ((0, "num_heads"), (1, "key_dim")),
        "Permute": ((0, "dims"),),
        "Reshape": ((0, "target_shape"),),
    }.items()
}
