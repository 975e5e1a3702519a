"""What calls cost, in microseconds: the figures of semantics.md ("Cost-model numbers") as a model that reproduces them.

Eagerly every operation is dispatched from Python; in a graph only the call is, and its operations cost little more than
what they compute. The unit of `dispatches` is one small dispatched operation (`a + b`): a Keras layer is many, because
the Python code of its `__call__` counts as well. `operations` are those of the graph. They were measured by single
calls beside that of `a + b`, in one process, with Keras 2.15 (the figures here) and Keras 3.15 (about twice as many).
"""

from __future__ import annotations

from functools import cache
from typing import Final

EAGER_CALL: Final = 30.0
EAGER_OPERATION: Final = 16.0
GRAPH_CALL: Final = 200.0
GRAPH_OPERATION: Final = 2.0
#: For each element that an operation writes; graphs reuse buffers and fuse from the second operation on.
ELEMENT: Final = 3.1e-4
FUSED: Final = 0.55
#: For each multiplication and addition of a contraction (matrix products, convolutions): between the small products of
#: the figures and the training steps measured there.
FLOP: Final = 4e-6
#: The same of a graph that XLA has compiled.
COMPILED_CALL: Final = 170.0
COMPILED_OPERATION: Final = 0.5
COMPILED_FLOP: Final = 1e-5

#: What an optimizer does once and for each variable: eagerly (between gradient descent and Adam), and in a graph.
APPLY: Final = 20.0
APPLY_VARIABLE: Final = 35.0
GRAPH_APPLY_VARIABLE: Final = 8.0
#: The first call of a graph: once, and for each operation; an update of a variable is several.
TRACE: Final = 15_000.0
TRACE_OPERATION: Final = 400.0
TRACE_VARIABLE: Final = 30.0
#: Forward and backward, in units of forward.
GRADIENT: Final = 3.0
#: How often a loop runs whose length is not known; one over a dataset.
ITERATIONS: Final = 10
BATCHES: Final = 100
#: The steps of a sequence of unknown length, and the operations of a recurrent cell.
STEPS: Final = 20

#: Where a call is worth much more eagerly than the operations that it runs.
_DISPATCHES: Final[dict[str, float]] = {
    "keras.Model": 8,
    "keras.Sequential": 40,
    "keras.layers.Layer": 4,
    "keras.layers.Dense": 10,
    "keras.layers.EinsumDense": 12,
    "keras.layers.Embedding": 10,
    "keras.layers.BatchNormalization": 50,
    "keras.layers.LayerNormalization": 40,
    "keras.layers.GroupNormalization": 40,
    "keras.layers.MultiHeadAttention": 80,
    "keras.layers.Dropout": 30,
    "keras.layers.Conv2DTranspose": 30,
    "keras.losses.": 28,
    "keras.metrics.Mean": 20,
    "keras.metrics.AUC": 80,
    "keras.metrics.": 35,
    "keras.layers.Conv": 12,
    "keras.layers.SeparableConv": 20,
    "keras.layers.DepthwiseConv": 15,
    "keras.layers.": 6,
    "tf.getitem": 5,
    "tf.gather": 5,
    "tf.reshape": 3,
    "tf.one_hot": 5,
    "tf.nn.moments": 12,
    "tf.nn.conv": 6,
    "tf.nn.sparse_softmax_cross_entropy_with_logits": 7,
    "tf.nn.softmax_cross_entropy_with_logits": 7,
    "tf.random.": 6,
    "tf.random.Generator.": 25,
}
#: The longest beginning of a name counts.
_BEGINNINGS: Final = sorted(
    (name for name in _DISPATCHES if name.endswith((".", "Conv", "conv"))), key=len, reverse=True
)
#: A recurrent cell takes so many times the dispatches of its operations for each step.
_RECURRENT_DISPATCHES: Final = 3.5
_OPERATIONS: Final[dict[str, float]] = {
    "keras.Model": 8,
    "keras.Sequential": 30,
    "keras.layers.Layer": 3,
    "keras.layers.Dense": 4,
    "keras.layers.EinsumDense": 5,
    "keras.layers.Embedding": 2,
    "keras.layers.BatchNormalization": 6,
    "keras.layers.LayerNormalization": 8,
    "keras.layers.GroupNormalization": 12,
    "keras.layers.MultiHeadAttention": 30,
    "keras.layers.Attention": 10,
    "keras.layers.AdditiveAttention": 12,
    "keras.layers.Activation": 2,
    "keras.layers.Dropout": 3,
    "keras.layers.SeparableConv2D": 7,
    "tf.while_loop": 20,
    "tf.map_fn": 20,
    "tf.scan": 20,
    "tf.foldl": 20,
    "tf.foldr": 20,
    "tf.vectorized_map": 20,
    "tf.cond": 3,
    "tf.einsum": 4,
    "tf.tensordot": 5,
    "tf.where": 2,
    "tf.clip_by_global_norm": 20,
    "tf.clip_by_value": 2,
    "tf.nn.moments": 6,
    "tf.nn.batch_normalization": 5,
    "tf.nn.dropout": 6,
    "tf.nn.nce_loss": 30,
    "tf.nn.sampled_softmax_loss": 30,
    "tf.nn.ctc_loss": 30,
    "tf.nn.l2_normalize": 5,
    "tf.math.l2_normalize": 5,
    "tf.math.reduce_logsumexp": 8,
    "tf.math.reduce_std": 6,
    "tf.math.reduce_variance": 5,
    "tf.one_hot": 1,
    "tf.image.resize": 3,
    "tf.random.normal": 3,
    "tf.random.uniform": 3,
    "tf.signal.stft": 10,
}
_PREFIXES: Final = (
    ("keras.layers.Conv", 5.0),
    ("keras.layers.DepthwiseConv", 5.0),
    ("keras.layers.", 3.0),
    ("keras.losses.", 6.0),
    ("keras.metrics.", 6.0),
    ("keras.initializers.", 2.0),
    ("keras.optimizers.", 2.0),
    ("tf.TensorSpec", 0.0),
    ("tf.GradientTape", 0.0),
    ("tf.io.", 1.0),
)
_NOTHING: Final = frozenset(
    "keras.backend.name_scope keras.backend.dtype tf.compat.dimension_value tf.group tf.dtypes.as_dtype "
    "keras.utils.standardize_dtype tf.name_scope tf.compat.v1.get_collection".split()
)
_RECURRENT: Final = {
    "LSTM": 14.0,
    "Bidirectional": 28.0,
    "GRU": 16.0,
    "SimpleRNN": 6.0,
    "RNN": 14.0,
    "ConvLSTM1D": 20.0,
    "ConvLSTM2D": 20.0,
}
_CONTRACTIONS: Final = frozenset(
    "tf.linalg.matmul tf.math.@ tf.einsum tf.tensordot keras.layers.Dense keras.layers.EinsumDense".split()
)
_CONVOLUTIONS: Final = ("tf.nn.conv", "keras.layers.Conv", "keras.layers.SeparableConv")
_VARIABLES: Final = {
    "keras.Sequential": 6,
    "keras.layers.Embedding": 1,
    "tf.linalg.matmul": 1,
    "tf.math.@": 1,
    "tf.nn.embedding_lookup": 1,
    "keras.layers.MultiHeadAttention": 8,
}
_LAYERS_WITH_WEIGHTS: Final = ("Dense", "Conv", "BatchNorm", "LayerNorm", "LSTM", "GRU", "SimpleRNN", "Separable")


@cache
def operations(name: str) -> float:
    """How many operations a call of this canonical name is worth."""
    found = _OPERATIONS.get(name)
    if found is not None:
        return found
    if name in _NOTHING or name.endswith((".serialize", ".deserialize", ".get_config")):
        return 0.0
    return next((weight for prefix, weight in _PREFIXES if name.startswith(prefix)), 1.0)


@cache
def dispatches(name: str) -> float:
    """How many small operations an eager call of this canonical name takes as long as."""
    found = _DISPATCHES.get(name)
    if found is None:
        beginning = next((start for start in _BEGINNINGS if name.startswith(start)), None)
        found = _DISPATCHES[beginning] if beginning is not None else 0.0
    return max(found, operations(name)) if operations(name) else 0.0


@cache
def per_step(name: str) -> float:
    """The operations of a recurrent layer for each step of its input's second axis; 0 for everything else."""
    return _RECURRENT.get(name.rpartition(".")[2], 0.0) if name.startswith("keras.layers.") else 0.0


def step_dispatches(name: str) -> float:
    """The same of an eager call."""
    return _RECURRENT_DISPATCHES * per_step(name)


@cache
def variables(name: str) -> int:
    """How many variables a call is likely to train."""
    found = _VARIABLES.get(name)
    if found is not None:
        return found
    layer = name.removeprefix("keras.layers.")
    return 2 if layer is not name and layer.startswith(_LAYERS_WITH_WEIGHTS) else 0


@cache
def contraction(name: str) -> int:
    """How many products each element sums, for each of the input's last axis: 1, 9 for convolutions, else 0."""
    if name in _CONTRACTIONS:
        return 1
    return 9 if name.startswith(_CONVOLUTIONS) else 0


@cache
def differentiates(name: str) -> bool:
    """Whether a call runs the backward pass of what was recorded."""
    return name in ("tf.GradientTape.gradient", "tf.GradientTape.jacobian", "tf.gradients") or _minimizes(name)


@cache
def applies(name: str) -> bool:
    """Whether a call updates variables with gradients."""
    return name.endswith(".apply_gradients") or _minimizes(name)


def assigns(name: str) -> bool:
    """Whether a call is a method of a variable that gives it another value."""
    owner, _, method = name.rpartition(".")
    return owner.lower().endswith(".variable") and method.startswith(("assign", "scatter_", "batch_scatter_"))


def _minimizes(name: str) -> bool:
    return name.endswith("Optimizer.minimize")


#: A graph of more operations than that takes longer to trace than it can win back.
LARGEST_GRAPH: Final = 20_000
#: More updates of variables than that in one graph are a training loop that was unrolled.
MOST_UPDATES: Final = 8
#: Run their function operation by operation when they are called eagerly, once for each element.
REPEATING: Final = frozenset({"tf.while_loop", "tf.map_fn", "tf.scan", "tf.foldl", "tf.foldr"})


def eager_time(count: float, elements: float, flops: float) -> float:
    """Microseconds of one eager call of so many dispatches."""
    return EAGER_CALL + EAGER_OPERATION * count + ELEMENT * elements + FLOP * flops


def graph_time(count: float, elements: float, flops: float) -> float:
    """Microseconds of one call as a graph of so many operations, once it is traced."""
    fused = FUSED + (1 - FUSED) / max(count, 1.0)
    return GRAPH_CALL + GRAPH_OPERATION * count + ELEMENT * fused * elements + FLOP * flops


def compiled_time(count: float, elements: float, flops: float) -> float:
    """Microseconds of one call that XLA has compiled: little per operation, more for contractions (on this CPU)."""
    return COMPILED_CALL + COMPILED_OPERATION * count + ELEMENT * elements + COMPILED_FLOP * flops


def trace_time(nodes: float, updated: float) -> float:
    """Microseconds to make a graph of so many operations, and updates of so many variables."""
    return TRACE + TRACE_OPERATION * (nodes + TRACE_VARIABLE * updated)
