"""Structures of tensors (tuples, lists, dictionaries), mapped leaf by leaf as `tf.nest` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.nesting import taken_apart
from hybridize.domain.objects import BOTTOM, Container, Inst, Obj, Stream, Tup, Value, tup
from hybridize.library.spec import Call

#: Tuples are followed so deep, containers so deep: one that is held twice is mapped once.
_NESTING: Final = 5
_DEEPEST: Final = 20
#: So many leaves of a structure are told apart.
_MOST_LEAVES: Final = 48


def once(done: dict[Obj, Value], obj: Obj, make: Callable[[], Value], meanwhile: Value = BOTTOM) -> Value:
    """What is made of an object: once wherever it is held, and `meanwhile` in what it holds of itself."""
    if obj not in done:
        done[obj] = meanwhile
        done[obj] = make()
    return done[obj]


def map_structure(call: Call, value: Value, leaf: Callable[[Obj], Value], tag: str) -> Value:
    """A structure like `value` whose leaves are what `leaf` makes of its leaves."""
    return _Mapping(call, leaf, tag).value(value, 0)


def map_structures(
    call: Call, values: Sequence[Value], leaf: Callable[[list[Value]], Value], tag: str, depth: int = 0
) -> Value:
    """Structures of one form, leaf by leaf; where they are not told apart, any leaves against each other."""
    alike = [next(iter(value)) for value in values if len(value) == 1]
    tuples = [obj for obj in alike if isinstance(obj, Tup) and obj.kind != "TensorShape"]
    held = [obj for obj in alike if isinstance(obj, Container) and obj.kind in ("list", "dict")]
    if depth < _NESTING and len(tuples) == len(values) and len({len(obj.items) for obj in tuples}) == 1:
        columns = zip(*(obj.items for obj in tuples), strict=True)
        items = [map_structures(call, column, leaf, f"{tag} {i}", depth + 1) for i, column in enumerate(columns)]
        return tup(items, tuples[0].kind, tuples[0].names).value
    if depth < _NESTING and len(held) == len(values) and len({obj.kind for obj in held}) == 1:
        return _map_containers(call, held, leaf, tag, depth)
    apart = [obj for obj in alike if isinstance(obj, Inst) and taken_apart(obj) is not None]
    if depth < _NESTING and len(apart) == len(values) and len({obj.cls for obj in apart}) == 1:
        columns = zip(*(fields_of(call, obj) for obj in apart), strict=True)
        items = [map_structures(call, column, leaf, f"{tag} {i}", depth + 1) for i, column in enumerate(columns)]
        return call.engine.calls.call_value(call.frame, call.pos, apart[0].cls.value, items, {}, How.CONSTRUCTION)
    if any(isinstance(obj, (Tup, Container, Stream)) for value in values for obj in value):
        return call.list_of(leaf([_contents(call, value) for value in values]), "list", tag)
    return leaf(list(values))


def _map_containers(
    call: Call, held: list[Container], leaf: Callable[[list[Value]], Value], tag: str, depth: int
) -> Value:
    engine, frame = call.engine, call.frame
    made = call.new(held[0].kind, tag)
    keys = list(held[0].fields)
    if all(engine.cells.is_exact(frame, obj) and obj.fields.keys() == held[0].fields.keys() for obj in held):
        for key in keys:
            column = [engine.cells.read(frame, obj.fields[key]) for obj in held]
            if all(column):
                mapped = map_structures(call, column, leaf, f"{tag} {key!r}", depth + 1)
                engine.cells.write(frame, made.cell(key), mapped, call.pos)
        return made.value
    engine.cells.lose_exactness(made)
    column = [engine.heap.values_of(frame, obj) for obj in held]
    engine.cells.write(frame, made.rest_cell(), map_structures(call, column, leaf, f"{tag} *", depth + 1), call.pos)
    return made.value


def each_part(call: Call, obj: Container, tag: str, of: Callable[[Value], Value]) -> Value:
    """A fresh container of the same kind with what is made of each part; containers in containers are left out."""
    made = call.new(obj.kind, tag)
    if not call.is_exact(obj):
        call.engine.cells.lose_exactness(made)
        call.write(made.rest_cell(), of(frozenset(o for o in call.values(obj) if not isinstance(o, Container))))
    for key, cell in list(obj.fields.items()):
        call.write(made.cell(key), of(frozenset(o for o in call.read(cell) if not isinstance(o, Container))))
    return made.value


def leaves(call: Call, value: Value, depth: int = 0) -> list[Value] | None:
    """The leaves of a structure in TensorFlow's order, dictionaries by their keys; None where that is not known."""
    (obj,) = value if len(value) == 1 else (None,)
    if obj is None:
        held = any(isinstance(o, (Tup, Container, Stream)) for o in value)
        return None if held or not value else [value]
    parts: list[Value]
    if isinstance(obj, Tup) and obj.kind != "TensorShape":
        parts = list(obj.items)
    elif isinstance(obj, Container) and obj.kind in ("list", "dict"):
        keys = list(obj.fields)
        if not call.is_exact(obj):
            return None
        if obj.kind == "dict":
            if len({type(key) for key in keys}) > 1:
                return None
            keys.sort()
        parts = [call.read(obj.fields[key]) for key in keys]
    elif isinstance(obj, Inst) and taken_apart(obj) is not None:
        parts = fields_of(call, obj)
    else:
        return None if isinstance(obj, (Container, Stream)) else [value]
    found: list[Value] = []
    for part in parts:
        inner = leaves(call, part, depth + 1) if depth < _NESTING else None
        if inner is None or len(found) > _MOST_LEAVES:
            return None
        found += inner
    return found


def fields_of(call: Call, obj: Inst) -> list[Value]:
    """What is in the fields of an instance that is taken apart, in order."""
    return [call.read(obj.cell(name)) for name in taken_apart(obj) or ()]


def _contents(call: Call, value: Value) -> Value:
    """The elements of structures (of a dictionary its values), and what is no structure."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Container):
            result = join(result, call.values(obj))
        else:
            result = join(result, call.elements(obj.value) if isinstance(obj, (Tup, Stream)) else obj.value)
    return result


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
            elif depth < _NESTING and isinstance(obj, Inst) and taken_apart(obj) is not None:
                made = [self.value(field, depth + 1) for field in fields_of(self.call, obj)]
                call, cls = self.call, obj.cls
                result = join(
                    result, call.engine.calls.call_value(call.frame, call.pos, cls.value, made, {}, How.CONSTRUCTION)
                )
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
            engine.cells.write(frame, made.cell(key), self.value(engine.cells.read(frame, cell), depth + 1), call.pos)
        if not engine.cells.is_exact(frame, obj):
            engine.cells.lose_exactness(made)
            part = self.value(engine.cells.read(frame, obj.rest_cell()), depth + 1)
            engine.cells.write(frame, made.rest_cell(), part, call.pos)
        return made.value
