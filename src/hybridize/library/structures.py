"""Structures of tensors (tuples, lists, dictionaries), mapped leaf by leaf as `tf.nest` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Obj, Stream, Tup, Value, tup
from hybridize.library.spec import Call

#: Tuples are followed so deep, containers so deep: one that is held twice is mapped once.
_NESTING: Final = 5
_DEEPEST: Final = 20


def map_structure(call: Call, value: Value, leaf: Callable[[Obj], Value], tag: str) -> Value:
    """A structure like `value` whose leaves are what `leaf` makes of its leaves."""
    return _Mapping(call, leaf, tag).value(value, 0)


class _Mapping:
    """One mapping of a structure: each container is mapped once, however many others hold it."""

    def __init__(self, call: Call, leaf: Callable[[Obj], Value], tag: str) -> None:
        self.call = call
        self.leaf = leaf
        self.tag = tag
        self.made: dict[Container, Value] = {}
        self.leaves: dict[Obj, Value] = {}

    def value(self, value: Value, depth: int) -> Value:
        result = BOTTOM
        for obj in value:
            if isinstance(obj, Container) and obj.kind in ("list", "dict") and depth < _DEEPEST:
                result = join(result, self.container(obj, depth))
            elif depth < _NESTING and isinstance(obj, Tup) and obj.kind != "TensorShape":
                items = [self.value(item, depth + 1) for item in obj.items]
                result = join(result, tup(items, obj.kind, obj.names).value)
            elif depth < _NESTING and isinstance(obj, Stream) and obj.kind in ("tuple", "values"):
                result = join(result, self.call.list_of(self.value(obj.element, depth + 1), "list", self.tag))
            else:
                result = join(result, self.of_leaf(obj))
        return result

    def of_leaf(self, obj: Obj) -> Value:
        found = self.leaves.get(obj)
        if found is None:
            found = self.leaves[obj] = self.leaf(obj)
        return found

    def container(self, obj: Container, depth: int) -> Value:
        found = self.made.get(obj)
        if found is not None:
            return found
        call, engine, frame = self.call, self.call.engine, self.call.frame
        # Calls in a chain have one position: the source tells their results apart.
        made = call.new(obj.kind, f"{self.tag} {call.name} {id(obj)}")
        self.made[obj] = made.value
        for key, cell in list(obj.fields.items()):
            engine.write(frame, made.cell(key), self.value(engine.read(frame, cell), depth + 1), call.pos)
        if not engine.is_exact(frame, obj):
            engine.lose_exactness(made)
            part = self.value(engine.read(frame, obj.rest_cell()), depth + 1)
            engine.write(frame, made.rest_cell(), part, call.pos)
        return made.value
