"""The batches that `fit`, `evaluate` and `predict` make of what they are given."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    Container,
    Inst,
    LibInst,
    Lit,
    Obj,
    Stream,
    Tensor,
    Tup,
    Value,
    literal,
    tensor,
    tup,
)
from hybridize.domain.tensors import BATCH, DENSE, Dim, arrived, at_run_time, blurred
from hybridize.library.spec import Call
from hybridize.library.structures import each_part, map_structure, once

#: Where the methods take the size of batches.
_BATCH_SIZE: Final = {"fit": 2, "evaluate": 2, "predict": 1}
#: Arguments that say how many batches there are: their size then follows from it.
_STEPS: Final = ("steps_per_epoch", "steps", "validation_steps")


def batch_of(call: Call, value: Value, part: str = "") -> Value:
    """A batch of what is given to `fit`: arrays are cut into batches, data sets give their elements."""
    return _batch(call, value, part, {})


def _batch(call: Call, value: Value, part: str, done: dict[Obj, Value]) -> Value:
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            shape = None if not obj.shape else (batch_dim(call, obj.shape[0], part), *map(blurred, obj.shape[1:]))
            dtype = "float32" if obj.dtype == "float64" else obj.dtype
            result = join(result, tensor(DENSE, dtype, shape).value)
        elif isinstance(obj, Stream):
            result = join(result, obj.element if "." in obj.kind else _loaded(call, obj.element))
        elif isinstance(obj, Inst):
            item = call.method(obj, "__getitem__", INT_V)
            result = join(result, _loaded(call, item) if item else tensor(DENSE).value)
        elif isinstance(obj, (Tup, Container)):
            result = join(result, once(done, obj, partial(_batch_of_structure, call, obj, part, done)))
        elif isinstance(obj, Lit):
            continue
        else:
            result = join(result, tensor(DENSE).value)
    return result


def _batch_of_structure(call: Call, obj: Tup | Container, part: str, done: dict[Obj, Value]) -> Value:
    if isinstance(obj, Tup):
        return tup([_batch(call, item, part, done) for item in obj.items], obj.kind, obj.names).value
    if obj.kind == "dict":
        tag = f"batch {part}{obj.site[1]}"
        return each_part(call, obj, tag, lambda held: _batch(call, held, part, done))
    return call.list_of(_batch(call, call.elements(obj.value), part, done), obj.kind, "batch")


def batch_dim(call: Call, rows: Dim, part: str) -> Dim:
    """The number of examples in the batches of an array.

    Keras reshapes the indices of the examples to whole batches, so that a graph knows their size, unless a smaller
    batch comes last. `part` says which examples: those to train on, or to validate on.
    """
    if "on_batch" in call.name:
        return rows
    place = _BATCH_SIZE.get(call.name.rpartition(".")[2])
    size = call.constant(place, "batch_size", 32) if place is not None else None
    if call.arg(-1, f"{part}batch_size") and part:
        size = call.constant(-1, f"{part}batch_size")
    size = 32 if size is None and place is not None else size
    rows = _split(call, rows, part)
    if rows < 0 or not isinstance(size, int) or size < 1 or any(call.given(-1, n) for n in _STEPS):
        return BATCH
    if rows and rows % size == 0:
        return size
    if rows < size:
        return arrived((at_run_time(rows),))[0] if run_mode(call) == "keras" else at_run_time(rows)  # type: ignore[index]
    return BATCH


def _split(call: Call, rows: Dim, part: str) -> Dim:
    """How many of the examples `validation_split` leaves for training, or takes away."""
    if part or not call.given(6, "validation_split"):
        return rows
    share = call.constant(6, "validation_split")
    if rows < 0 or not isinstance(share, (int, float)):
        return BATCH
    if share == 0:
        return rows
    left = math.floor(rows * (1.0 - share))
    # Both parts are seen: one size is right only for both.
    size = call.constant(2, "batch_size", 32)
    whole = isinstance(size, int) and size > 0 and left % size == 0 and (rows - left) % size == 0
    return left if whole and 0 < left < rows else BATCH


def _loaded(call: Call, value: Value) -> Value:
    """What Keras makes of the batches that a generator or a sequence of the project gives."""

    eager = run_mode(call) == "keras"

    def leaf(obj: Obj) -> Value:
        if not isinstance(obj, Tensor):
            return obj.value
        first = obj.shape[0] if eager and obj.shape else BATCH
        shape = (first, *map(blurred, obj.shape[1:])) if obj.shape else obj.shape
        return tensor(DENSE, obj.dtype if obj.dtype != "float64" else None, shape).value

    return map_structure(call, value, leaf, "loaded")


def run_mode(call: Call) -> How:
    """How Keras runs the steps of a model: as a graph, unless `compile` was told otherwise."""
    obj = call.receiver
    eager = call.read(obj.cell("$run_eagerly")) if isinstance(obj, (Inst, LibInst)) else BOTTOM
    return How.KERAS if eager and not (eager <= literal(False).value) else How.GRAPH
