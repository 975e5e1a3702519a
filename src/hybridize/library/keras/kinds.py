"""Structures of tensors as Keras sees them: symbolic ones, and the dense ones that stand for them in a graph."""

from __future__ import annotations

from functools import partial

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Obj, Tensor, Tup, Value, tensor, tup
from hybridize.domain.tensors import BATCH, DENSE, SYMBOLIC, Dim, Shape, is_batch
from hybridize.library.spec import Call
from hybridize.library.structures import each_part, once


def as_kind(call: Call, value: Value, kind: str, batch: Dim = BATCH) -> Value:
    """A structure with its dense and symbolic tensors as one or the other, and a number of examples."""
    return _of(call, value, kind, batch, {})


def _of(call: Call, value: Value, kind: str, batch: Dim, done: dict[Obj, Value]) -> Value:
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            changes = obj.kind in (DENSE, SYMBOLIC)
            result = join(result, tensor(kind if changes else obj.kind, obj.dtype, _sized(obj.shape, batch)).value)
        elif isinstance(obj, (Tup, Container)):
            result = join(result, once(done, obj, partial(_structure, call, obj, kind, batch, done)))
        else:
            result = join(result, obj.value)
    return result


def _sized(shape: Shape, batch: Dim) -> Shape:
    return shape if shape is None or batch == BATCH else tuple(batch if is_batch(d) else d for d in shape)


def _structure(call: Call, obj: Tup | Container, kind: str, batch: Dim, done: dict[Obj, Value]) -> Value:
    """A tuple, or a list or dictionary of tensors by position and key, as far as these are known."""
    if isinstance(obj, Tup):
        return tup([_of(call, i, kind, batch, done) for i in obj.items], obj.kind, obj.names).value
    if not call.is_exact(obj):
        values = call.values(obj)
        held = frozenset(o for o in values if not isinstance(o, Container))
        return call.list_of(_of(call, held, kind, batch, done), obj.kind, f"{kind} structure")
    tag = f"{kind} structure {obj.site[1]}"
    return each_part(call, obj, tag, lambda held: _of(call, held, kind, batch, done))
