"""Which arguments of a method are tensors because a library calls it back so: the other half of its contract.

Places count from 0 after `self`; `*` is every argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

#: By the name of a class, or of a package with a dot at the end: lines of places and below them the methods.
_TABLES: Final = {
    "keras.layers.Layer": "0: call __call__ compute_mask",
    "keras.Model": "0: train_step test_step predict_step; 0,1,2: compute_loss compute_metrics",
    "keras.losses.Loss": "0,1: call __call__",
    "keras.metrics.Metric": "*: update_state",
    "keras.regularizers.Regularizer": "0: __call__",
    "keras.constraints.Constraint": "0: __call__",
    "keras.optimizers.Optimizer": "0,1: update_step; 0: apply apply_gradients",
    "keras.optimizers.legacy.Optimizer": "0,1: _resource_apply_dense _resource_apply_sparse; 0: apply_gradients",
    "tf.compat.v1.train.Optimizer": "0,1: _apply_dense _apply_sparse _resource_apply_dense _resource_apply_sparse",
    "keras.optimizers.schedules.LearningRateSchedule": "0: __call__",
    "tf.linalg.LinearOperator": "0: _matmul _matvec _solve _solvevec matmul matvec solve solvevec",
    "tf.compat.v1.nn.rnn_cell.RNNCell": "0,1: call __call__",
    "tensorflow_probability.": (
        "0: _log_prob _prob _cdf _log_cdf _survival_function _log_survival_function _quantile _forward _inverse "
        "_forward_log_det_jacobian _inverse_log_det_jacobian _matrix _call_log_prob _call_prob _call_cdf "
        "_call_forward _call_inverse _call_forward_log_det_jacobian _call_inverse_log_det_jacobian "
        "_log_unnormalized_prob; "
        "0,1: _apply one_step; 0: bootstrap_results"
    ),
    "sonnet.": "0: __call__ _build",
    "gpflow.kernels.": "0,1: K; 0: K_diag",
    "gpflow.mean_functions.": "0: __call__",
}
_ALL: Final = frozenset({-1})
#: Methods that are given shapes, names or settings.
_NEVER: Final = frozenset(
    "build compute_output_shape compute_output_signature get_config from_config add_weight count_params "
    "on_epoch_begin on_epoch_end on_batch_begin on_batch_end on_train_batch_begin on_train_batch_end set_params".split()
)


@cache
def _table(text: str) -> Mapping[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for line in text.split(";"):
        places, names = line.split(":")
        at = _ALL if places.strip() == "*" else frozenset(map(int, places.split(",")))
        found.update(dict.fromkeys(names.split(), at))
    return found


def gets_tensor(chain: Sequence[str], method: str, place: int) -> str | None:
    """The class of a library that calls a method with a tensor at a place; None where none is known to.

    Args:
        chain: the library classes that the method's class derives from, canonical names, nearest first.
        method: the name under which it stands in the class.
        place: of the argument, from 0, without `self`.
    """
    for name in chain:
        text = _TABLES.get(name) or next(
            (t for key, t in _TABLES.items() if key[-1] == "." and name.startswith(key)), ""
        )
        places = _table(text).get(method, frozenset()) if text else ()
        if places is _ALL or place in places:
            return name
    return None


def gets_no_tensor(chain: Sequence[str], method: str) -> bool:
    """Whether a library gives a method shapes, numbers or names only."""
    return method in _NEVER and any(name.startswith("keras.") for name in chain)
