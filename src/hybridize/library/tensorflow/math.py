"""All operations of TensorFlow that compute on tensors, gathered from the modules beside this one."""

from __future__ import annotations

from typing import Final

from hybridize.library.spec import Spec
from hybridize.library.tensorflow import (
    collections,
    creation,
    elementwise,
    experimental_numpy,
    gathering,
    image,
    linalg,
    nn,
    parsing,
    ragged,
    random_ops,
    reductions,
    shaping,
    signal,
    strings,
)

FUNCTIONS: Final[dict[str, Spec]] = {
    **elementwise.FUNCTIONS,
    **reductions.FUNCTIONS,
    **creation.FUNCTIONS,
    **collections.FUNCTIONS,
    **random_ops.FUNCTIONS,
    **experimental_numpy.FUNCTIONS,
    **image.FUNCTIONS,
    **signal.FUNCTIONS,
    **strings.FUNCTIONS,
    **parsing.FUNCTIONS,
    **linalg.FUNCTIONS,
    **nn.FUNCTIONS,
    **ragged.FUNCTIONS,
    **shaping.FUNCTIONS,
    **gathering.FUNCTIONS,
}
