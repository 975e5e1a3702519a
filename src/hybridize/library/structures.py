"""Structures of tensors (tuples, lists, dictionaries), mapped leaf by leaf as `tf.nest` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Obj, Stream, Tup, Value, tup
from hybridize.library.spec import Call

_NESTING: Final = 5


def map_structure(call: Call, value: Value, leaf: Callable[[Obj], Value], tag: str, depth: int = 0) -> Value:
    """A structure like `value` whose leaves are what `leaf` makes of its leaves."""
    result = BOTTOM
    for obj in value:
        if depth >= _NESTING:
            result = join(result, leaf(obj))
        elif isinstance(obj, Tup) and obj.kind != "TensorShape":
            items = [map_structure(call, item, leaf, tag, depth + 1) for item in obj.items]
            result = join(result, tup(items, obj.kind, obj.names).value)
        elif isinstance(obj, Container) and obj.kind in ("list", "dict"):
            result = join(result, _mapped_container(call, obj, leaf, tag, depth))
        elif isinstance(obj, Stream) and obj.kind in ("tuple", "values"):
            result = join(result, call.list_of(map_structure(call, obj.element, leaf, tag, depth + 1), "list", tag))
        else:
            result = join(result, leaf(obj))
    return result


def _mapped_container(call: Call, obj: Container, leaf: Callable[[Obj], Value], tag: str, depth: int) -> Value:
    engine, frame = call.engine, call.frame
    # Calls in a chain have one position: the source tells their results apart.
    made = call.new(obj.kind, f"{tag} {depth} {call.name} {id(obj)}")
    for key, cell in list(obj.fields.items()):
        part = map_structure(call, engine.read(frame, cell), leaf, tag, depth + 1)
        engine.write(frame, made.cell(key), part, call.pos)
    if not engine.is_exact(frame, obj):
        engine.lose_exactness(made)
        part = map_structure(call, engine.read(frame, obj.rest_cell()), leaf, tag, depth + 1)
        engine.write(frame, made.rest_cell(), part, call.pos)
    return made.value
