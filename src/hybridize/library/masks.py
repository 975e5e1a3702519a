"""The masks that Keras' layers put on the tensors that they give: an attribute, which other layers read.

Each was tried under TensorFlow 2.15 (Keras 2) and 2.21 (Keras 3); what differs is taken to do so in both.
"""

from __future__ import annotations

from typing import Final

#: The layers that make masks, with the setting that says whether they do.
MAKES: Final = {"keras.layers.Embedding": "mask_zero", "keras.layers.Masking": ""}
_RECURRENT: Final = frozenset(f"keras.layers.{n}" for n in "LSTM GRU SimpleRNN RNN ConvLSTM1D ConvLSTM2D".split())
_HANDING_ON: Final = (
    "Dense Dropout Activation ReLU LeakyReLU PReLU ELU LayerNormalization BatchNormalization UnitNormalization "
    "GaussianNoise GaussianDropout AlphaDropout SpatialDropout1D ActivityRegularization TimeDistributed Bidirectional "
    "MultiHeadAttention Add Multiply Average Maximum Minimum Subtract Concatenate Identity Rescaling "
    "GroupNormalization Attention AdditiveAttention"
).split()
#: Those that hand the mask of what they get on, with the setting that says whether they do.
CARRIES: Final = {
    **dict.fromkeys(_RECURRENT, "return_sequences"),
    **{f"keras.layers.{name}": "" for name in _HANDING_ON},
}
#: Those that compute something else where what they get has a mask.
READS: Final = _RECURRENT | frozenset(
    f"keras.layers.{name}"
    for name in "Bidirectional GlobalAveragePooling1D Attention AdditiveAttention MultiHeadAttention".split()
)
#: Losses read the mask of what a model gives.
LOSSES: Final = "keras.losses."
