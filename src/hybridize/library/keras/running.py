"""The methods by which Keras runs a model itself, each by the step that it takes over and over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_METHODS: Final = {
    "train_step": "fit fit_generator train_on_batch",
    "test_step": "evaluate evaluate_generator test_on_batch",
    "predict_step": "predict predict_generator predict_on_batch",
}
#: With what the fields of a model begin that `compile` fills.
COMPILED: Final = "$compiled "
#: The method of a model that each of them runs, for each batch.
STEP_OF: Final[Mapping[str, str]] = {name: step for step, names in _METHODS.items() for name in names.split()}
#: Whether a step runs the model as in training.
TRAINS: Final[Mapping[str, bool]] = {step: step == "train_step" for step in _METHODS}
#: Those that compute the loss that the model was compiled with.
WITH_LOSS: Final = frozenset(name for name, step in STEP_OF.items() if step != "predict_step")
