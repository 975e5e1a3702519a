"""What calls cost, in microseconds: figures of single calls as a model of whole functions.

Eagerly every operation is dispatched from Python; in a graph only the call is, and its operations cost little more than
what they compute. The unit of `dispatches` is one small dispatched operation (`a + b`): a Keras layer is many, because
the Python code of its `__call__` counts as well. `operations` are those of the graph. They were measured by single
calls beside that of `a + b`, in one process (costs.txt).
"""

from __future__ import annotations

from functools import cache
from math import prod
from pathlib import Path
from typing import Final

EAGER_CALL: Final = 30.0
EAGER_OPERATION: Final = 16.0
GRAPH_CALL: Final = 200.0
GRAPH_OPERATION: Final = 1.5
#: For each element that an operation writes; graphs reuse buffers and fuse from the second operation on.
ELEMENT: Final = 3.1e-4
FUSED: Final = 0.55
#: For each multiplication and addition of a contraction (matrix products, convolutions), on one core.
FLOP: Final = 1.3e-5
#: The same of a graph that XLA has compiled.
COMPILED_CALL: Final = 170.0
COMPILED_OPERATION: Final = 0.5
COMPILED_FLOP: Final = 1.7e-5

#: What an optimizer does once and for each variable, eagerly and in a graph: between gradient descent and Adam where
#: the class is not known. It writes each element of the weights a few times.
APPLY: Final = 40.0
APPLY_VARIABLE: Final = 45.0
GRAPH_APPLY_VARIABLE: Final = 17.0
APPLY_WRITES: Final = 6.0
_APPLY_VARIABLES: Final = {"SGD": 17.0, "Adam": 70.0, "AdamW": 75.0, "Nadam": 75.0, "Adamax": 60.0}
#: The first call of a graph: once, and for each operation; an update of a variable is several.
TRACE: Final = 20_000.0
TRACE_OPERATION: Final = 700.0
TRACE_VARIABLE: Final = 30.0
#: Tracing may take so many times as long as is estimated.
TRACING: Final = 2.0
#: Microseconds that graphs of all steps of training must save together, where a program is seen to take so many and no
#: more: importing TensorFlow takes several times as long.
NOTICED: Final = 5e5
#: Forward and backward, in units of forward: of the operations of a graph, their elements and multiplications.
GRADIENT: Final = 3.0
#: A walk back of a derivative that tapes take again, in units of forward, and of each further order; what a graph does
#: of such walks, which have most in common. (Dense networks, 16 to 10,000 rows, up to three derivatives one of another
#: and a step of training over them, TensorFlow 2.15.)
WALK: Final = 1.3
_ORDER: Final = 2.4
WALK_IN_GRAPH: Final = 0.3
#: What derivatives of derivatives are taken of are points, not batches: so many times the examples of one.
POINTS: Final = 12.0
#: The share of what it computes that a graph does once more where eager tapes take so many derivatives one of another:
#: each goes through graphs of its own, which compute anew what the ones before had. (Dense networks of 4 and 8 layers,
#: 100 to 10,000 rows, TensorFlow 2.15 and 2.21.)
DERIVED_AGAIN: Final = (0.0, 0.0, 0.22, 0.37, 0.5)
#: What recording and walking back cost eagerly: once, and for each operation of the forward pass. Python code of layers
#: does not run again.
TAPE: Final = 15.0
BACKWARD: Final = 3.3
#: Dispatches of the call of a model of the library, besides its layers; with the operations, where they are not known.
MODEL_CALL: Final = 15.0
UNKNOWN_MODEL: Final = (60.0, 30.0)
#: How often a loop runs whose length is not known; one over a list (of layers, mostly); one over a dataset; and at most
#: one over the elements of a tensor, or of what `len` is asked of: a batch, mostly.
ITERATIONS: Final = 10
HELD: Final = 4
BATCHES: Final = 100
BATCH: Final = 32
#: What rests on guessed sizes may take so many times as long: batches, images and clouds of points are mostly larger.
GUESSED: Final = 10.0
#: So many times as long it is likely to take: a small, a middle and a large one of what other people's programs did.
#: (Six functions of the develop half of 27 November: 12, 28, 37, 47, 81 and 152 times, by what was measured.)
LIKELY: Final = (8.0, 40.0, 200.0)
#: The share of that where something else than the number of examples is guessed, which is larger then: nothing is known
#: of a shape, or the sides of images.
UNSEEN: Final = 0.125
#: Microseconds of a call of which it is not known what it does, beside what is known: it reads, simulates, draws.
OUTSIDE: Final = 1_000.0
#: What a call of a model's own loops takes beside what it computes (data sets, callbacks): one row through one dense
#: layer, TensorFlow 2.15 and 2.21. Measured again beside other work, in processor time: 42 to 59, 48 to 65 and 49 to 74
#: milliseconds. `train_on_batch` and its relatives take no longer than eager calls do.
LIBRARY_LOOPS: Final = {"predict": 40_000.0, "evaluate": 65_000.0, "fit": 45_000.0}
#: The steps of a sequence of unknown length, and the operations of a recurrent cell.
STEPS: Final = 20

#: A recurrent cell takes so many times the dispatches of its operations for each step: between TensorFlow 2.15 (2.9 for
#: an LSTM) and 2.21 (5.6).
_RECURRENT_DISPATCHES: Final = 4.2
#: How entries end that stand for all names that begin with them.
_OPEN: Final = (".", "Conv", "conv", "Separable", "Depthwise", "Random", "Dropout", "Tape", "Spec")
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


#: Of single calls: by name, dispatches of an eager one and operations of a graph.
_MEASURED: Final = Path(__file__).with_name("costs.txt")


@cache
def _table() -> dict[str, tuple[float, float]]:
    rows = (line.split() for line in _MEASURED.read_text("utf-8").splitlines() if line[0] != "#")
    return {name: (float(eager), float(graph)) for name, eager, graph in rows}


@cache
def _cost(name: str) -> tuple[float, float]:
    """Dispatches and operations of a call: its own entry, else the longest beginning of its name that has one."""
    table = _table()
    found = table.get(name)
    if found is not None:
        return found
    if name in _NOTHING or name.endswith((".serialize", ".deserialize", ".get_config")):
        return 0.0, 0.0
    beginnings = (name[:end] for end in range(len(name) - 1, len("tf."), -1))
    return next((table[start] for start in beginnings if start.endswith(_OPEN) and start in table), (1.0, 1.0))


def operations(name: str) -> float:
    """How many operations a call of this canonical name is worth."""
    return _cost(name)[1]


def dispatches(name: str) -> float:
    """How many small operations an eager call of this canonical name takes as long as."""
    return _cost(name)[0]


#: What functions of images dispatch, and add to a graph, beside that where the image holds whole numbers: they convert
#: it, and back. Measured under TensorFlow 2.15 and 2.21.
_CONVERTED: Final = {
    "tf.image.adjust_brightness": (16.0, 5.0),
    "tf.image.adjust_contrast": (17.0, 5.0),
    "tf.image.adjust_hue": (7.0, 4.0),
    "tf.image.adjust_saturation": (8.0, 4.0),
    "tf.image.random_brightness": (17.0, 5.0),
    "tf.image.random_contrast": (17.0, 5.0),
    "tf.image.random_hue": (10.0, 4.0),
    "tf.image.random_saturation": (9.0, 4.0),
    "tf.image.rgb_to_grayscale": (6.0, 4.0),
}


def converting(name: str) -> tuple[float, float]:
    """Dispatches and operations that a call with whole numbers has beside those with floating-point numbers."""
    return _CONVERTED.get(name, (0.0, 0.0))


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
def apply_variable(optimizer: str) -> float:
    """The dispatches for each variable of an optimizer's eager step, by its class."""
    return _APPLY_VARIABLES.get(optimizer.rpartition(".")[2], APPLY_VARIABLE)


#: How much of n**3 a factorization of an n by n matrix multiplies.
_CUBIC: Final = {
    "tf.linalg.cholesky": 0.5,
    "tf.linalg.inv": 2.0,
    "tf.linalg.solve": 1.0,
    "tf.linalg.det": 0.7,
    "tf.linalg.logdet": 0.7,
    "tf.linalg.slogdet": 0.7,
    "tf.linalg.qr": 3.0,
    "tf.linalg.eigh": 15.0,
    "tf.linalg.svd": 30.0,
    "tf.linalg.expm": 20.0,
    "tf.linalg.cholesky_solve": 2.0,
    "tf.linalg.triangular_solve": 1.0,
}


@cache
def cubic(name: str) -> float:
    """How many multiplications a call is worth for each element of its first argument and column of it."""
    return _CUBIC.get(name, 0.0)


#: What an element takes of operations that do more than add (`ELEMENT`): 200,704 numbers, TensorFlow 2.15 and 2.21.
_ELEMENTWISE: Final = {
    "tf.math.**": 25.0,
    "tf.math.pow": 25.0,
    "tf.math.lgamma": 40.0,
    "tf.math.softplus": 10.0,
    "tf.math.cumsum": 20.0,
    "tf.math.top_k": 12.0,
    "tf.sort": 200.0,
    "tf.argsort": 200.0,
    "tf.boolean_mask": 12.0,
    "tf.random.normal": 45.0,
    "tf.random.truncated_normal": 60.0,
    "tf.random.stateless_normal": 45.0,
    "tf.random.uniform": 12.0,
    "tf.random.stateless_uniform": 12.0,
    "tf.random.categorical": 10.0,
}


@cache
def elementwise(name: str) -> float:
    """How many times as long as an addition a call takes for each element of its result."""
    return _ELEMENTWISE.get(name, 1.0)


@cache
def contraction(name: str) -> int:
    """How many products each element sums, for each of the input's last axis: 1, 9 for convolutions, else 0."""
    if name in _CONTRACTIONS:
        return 1
    return 9 if name.startswith(_CONVOLUTIONS) else 0


#: What is given a target, and takes its gradients.
TAKES_GRADIENTS: Final = frozenset({"tf.GradientTape.gradient", "tf.GradientTape.jacobian", "tf.gradients"})


@cache
def differentiates(name: str) -> bool:
    """Whether a call runs the backward pass of what was recorded."""
    return name in TAKES_GRADIENTS or _minimizes(name)


@cache
def applies(name: str) -> bool:
    """Whether a call updates variables with gradients."""
    return name.endswith(".apply_gradients") or _minimizes(name)


def assigns(name: str) -> bool:
    """Whether a call is a method of a variable, or of what stands for one, that gives it another value."""
    owner, _, method = name.rpartition(".")
    return owner.lower().endswith((".variable", ".parameter")) and method.startswith(
        ("assign", "scatter_", "batch_scatter_")
    )


def _minimizes(name: str) -> bool:
    return name.endswith("Optimizer.minimize")


#: A graph of more operations than that takes longer to trace than it can win back.
LARGEST_GRAPH: Final = 20_000
#: More updates of variables than that in one graph are a training loop that was unrolled.
MOST_UPDATES: Final = 8
#: The same of steps that move variables without an optimizer, which has state of its own and many operations.
MOST_STEPS: Final = 32
#: Run their function operation by operation when they are called eagerly, once for each element.
REPEATING: Final = frozenset({"tf.while_loop", "tf.map_fn", "tf.scan", "tf.foldl", "tf.foldr"})


def eager_time(count: float, elements: float, flops: float) -> float:
    """Microseconds of one eager call of so many dispatches."""
    return EAGER_CALL + EAGER_OPERATION * count + ELEMENT * elements + FLOP * flops


def graph_time(count: float, elements: float, flops: float, spared: float = 0.0) -> float:
    """Microseconds of one call as a graph of so many operations, once it is traced.

    `spared` are those of an eager call's computing that the graph leaves out.
    """
    computing = ELEMENT * fused(count) * elements + FLOP * flops
    return GRAPH_CALL + GRAPH_OPERATION * count + left(elements, flops, spared) * computing


def left(elements: float, flops: float, spared: float) -> float:
    """The share of an eager call's computing that a graph does, too, which spares so many microseconds of it."""
    whole = computing_time(elements, flops)
    return 1 - spared / whole if whole else 1.0


def middle(eager: float, graph: float, guessed: float, in_graph: float) -> float:
    """The eager time divided by the graph's: the geometric mean over what is likely of what rests on guessed sizes.

    `guessed` are the microseconds of that in an eager call, `in_graph` those of the graph.
    """
    if not guessed:
        return eager / graph
    gains = [(eager + (times - 1) * guessed) / (graph + (times - 1) * in_graph) for times in LIKELY]
    return prod(gains) ** (1 / len(gains))


def walk(order: int) -> float:
    """How much a derivative computes, in units of forward, that goes over so many others."""
    return WALK * _ORDER**order


def fused(count: float) -> float:
    """Which share of what eager operations write a graph of so many still writes."""
    return FUSED + (1 - FUSED) / max(count, 1.0)


def computing_time(elements: float, flops: float) -> float:
    """Microseconds that so much takes in itself, without any dispatch."""
    return ELEMENT * elements + FLOP * flops


def compiled_time(count: float, elements: float, flops: float) -> float:
    """Microseconds of one call that XLA has compiled: little per operation, more for contractions (on this CPU)."""
    return COMPILED_CALL + COMPILED_OPERATION * count + ELEMENT * elements + COMPILED_FLOP * flops


def trace_time(nodes: float, updated: float) -> float:
    """Microseconds to make a graph of so many operations, and updates of so many variables."""
    return TRACE + TRACE_OPERATION * (nodes + TRACE_VARIABLE * updated)


def records(cls: str) -> bool:
    """Whether an object of a class records operations to take derivatives of them."""
    return cls == "tf.GradientTape"


def derived_again(derivatives: int) -> float:
    """Which share of its computing a graph does once more where so many derivatives are taken one of another."""
    return DERIVED_AGAIN[min(derivatives, len(DERIVED_AGAIN) - 1)]
