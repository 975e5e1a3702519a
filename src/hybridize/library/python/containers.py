"""Methods of built-in types: which ones mutate, and what they give."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    INT_V,
    NONE_V,
    Container,
    Inst,
    Stream,
    Tup,
    Value,
    literal,
    prim,
    stream,
    tup,
    unknown,
    unknown_result,
)
from hybridize.library.lengths import append_counted
from hybridize.library.protocols import equal, look_up
from hybridize.library.python.namespaces import NAMESPACE, OBJECT
from hybridize.library.python.sequences import compare_elements, from_keys, give
from hybridize.library.python.strings import STRINGS
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized

_NOTHING: Final = give(NONE_V)


def _self(call: Call) -> Container:
    """The container of the call; an instance of a class derived from one has a container behind it."""
    receiver = call.receiver
    assert receiver is not None
    return receiver if isinstance(receiver, Container) else call.engine.cells.backing(receiver, call.name)


@parametrized
def _add(call: Call, index: int) -> Value:
    """Puts an argument among the elements."""
    owner = _self(call)
    if not index and append_counted(call.engine, call.frame, owner, [call.arg(0)], call.pos):
        return NONE_V
    call.engine.cells.lose_exactness(owner)
    if index:
        _shift(call, owner)
    call.write(owner.rest_cell(), call.arg(index))
    return NONE_V


def _shift(call: Call, owner: Container) -> None:
    """Elements change places: any may now be at any index."""
    if owner.kind in ("list", "deque", "bytearray"):
        call.write(owner.rest_cell(), call.values(owner))


def _extend(call: Call) -> Value:
    owner = _self(call)
    call.engine.cells.lose_exactness(owner)
    for value in call.args:
        call.write(owner.rest_cell(), call.elements(value))
    return NONE_V


def _element(call: Call) -> Value:
    owner = _self(call)
    call.engine.cells.lose_exactness(owner)
    found: Value = call.values(owner)
    return join(found, call.arg(1)) if owner.kind == "dict" else found


def _pop(call: Call) -> Value:
    owner = _self(call)
    if owner.kind == "dict":
        index = call.arg(0)
        found = call.engine.heap.get_item(call.frame, owner.value, index, call.pos, quiet=True)
        call.engine.cells.lose_exactness(owner)
        return join(found, call.arg(1, "default"))
    call.engine.cells.lose_exactness(owner)
    if call.args or call.name.endswith("popleft"):
        _shift(call, owner)
    return call.values(owner)


def _clear(call: Call) -> Value:
    owner = _self(call)
    call.engine.cells.lose_exactness(owner)
    _shift(call, owner)
    return NONE_V


def _set_item(call: Call) -> Value:
    """`xs.__setitem__(i, x)`."""
    call.engine.heap.set_item_quietly(call.frame, _self(call), call.arg(0), call.arg(1), call.pos)
    return NONE_V


def _copy(call: Call) -> Value:
    owner = _self(call)
    made = call.new(owner.kind, "copy")
    engine, frame = call.engine, call.frame
    for key, cell in list(owner.fields.items()):
        engine.cells.write(frame, made.cell(key), engine.cells.read(frame, cell), call.pos)
    if not engine.cells.is_exact(frame, owner):
        engine.cells.lose_exactness(made)
        engine.cells.write(frame, made.rest_cell(), engine.cells.read(frame, owner.rest_cell()), call.pos)
    return made.value


def _keys(call: Call) -> Value:
    owner = _self(call)
    if call.is_exact(owner) and len(owner.fields) <= 16:
        return tup([literal(key).value for key in owner.fields]).value
    return stream("keys", call.engine.heap.keys_of(call.frame, owner)).value


def _values(call: Call) -> Value:
    owner = _self(call)
    if call.is_exact(owner) and len(owner.fields) <= 16:
        return tup(call.read_all(owner)).value
    return stream("values", call.values(owner)).value


def _items(call: Call) -> Value:
    owner = _self(call)
    engine, frame = call.engine, call.frame
    if engine.cells.is_exact(frame, owner) and len(owner.fields) <= 16:
        pairs = [(literal(key).value, engine.cells.read(frame, cell)) for key, cell in list(owner.fields.items())]
        return tup([tup(pair).value for pair in pairs if pair[1]]).value
    keys, values = engine.heap.keys_of(frame, owner), engine.heap.values_of(frame, owner)
    if not values:
        return stream("items", BOTTOM).value
    return stream("items", tup([keys or unknown("a key").value, values]).value).value


def _get(call: Call) -> Value:
    owner = _self(call)
    index = call.arg(0)
    found = call.engine.heap.get_item(call.frame, owner.value, index, call.pos, quiet=True)
    const = call.constant(0, "")
    if const is not None and const in owner.fields and call.is_exact(owner):
        return found
    return join(found, call.arg(1, "default", NONE_V))


def _setdefault(call: Call) -> Value:
    owner = _self(call)
    value = call.arg(1, "default", NONE_V)
    call.engine.heap.set_item_quietly(call.frame, owner, call.arg(0), value, call.pos)
    return join(value, call.engine.heap.get_item(call.frame, owner.value, call.arg(0), call.pos, quiet=True))


def _update(call: Call) -> Value:
    owner = _self(call)
    engine, frame, pos = call.engine, call.frame, call.pos
    for source in call.arg(0):
        obj = (engine.cells.container_behind(source) if isinstance(source, Inst) else None) or source
        if isinstance(obj, Container) and obj.kind == "dict":
            for key, cell in list(obj.fields.items()):
                engine.heap.set_item_quietly(frame, owner, literal(key).value, engine.cells.read(frame, cell), pos)
            if not engine.cells.is_exact(frame, obj):
                engine.cells.lose_exactness(owner)
                engine.cells.write(frame, owner.rest_cell(), engine.cells.read(frame, obj.rest_cell()), pos)
        else:
            engine.cells.lose_exactness(owner)
            element = engine.heap.elements(frame, obj.value, pos)
            for pair in element:
                known = isinstance(pair, Tup) and len(pair.items) == 2
                value = pair.items[1] if known and owner.kind == "dict" else pair.value  # type: ignore[attr-defined]
                engine.cells.write(frame, owner.rest_cell(), value, pos)
    for key, value in call.kwargs.items():
        if key == "**":
            engine.cells.lose_exactness(owner)
            engine.cells.write(frame, owner.rest_cell(), value, pos)
        else:
            engine.heap.set_item_quietly(frame, owner, literal(key).value, value, pos)
    return NONE_V


def _sort(call: Call) -> Value:
    owner = _self(call)
    values = call.values(owner)
    key = call.arg(-1, "key")
    if key and key is not NONE_V and values:
        call.call(key, values)
    else:
        compare_elements(call, values)
    call.engine.cells.lose_exactness(owner)
    call.write(owner.rest_cell(), values)
    return NONE_V


def _join_sets(call: Call) -> Value:
    element = call.values(_self(call))
    for value in call.args:
        element = join(element, call.elements(value))
    return call.list_of(element, "set", "set")


@parametrized
def _found(call: Call, rule: Rule, *, hashed: bool) -> Value:
    """A rule that first looks for its first argument among the elements: objects answer by their own methods."""
    if hashed:
        look_up(call.engine, call.frame, call.arg(0), call.pos)
    else:
        members = call.values(_self(call))
        equal(call.engine, call.frame, call.arg(0), members, call.pos)
    return rule(call)


def _mutates(rule: Rule) -> Spec:
    return Spec(rule, effects=("mutate",))


_ITEMS: Final = {
    "__setitem__": _mutates(_set_item),
    "__delitem__": _mutates(_clear),
    "__getitem__": Spec(lambda call: call.engine.heap.get_item(call.frame, _self(call).value, call.arg(0), call.pos)),
    "__contains__": Spec(_found(give(BOOL_V), hashed=True)),
}
_LIST: Final = {
    **_ITEMS,
    "__iadd__": _mutates(_extend),
    "__imul__": _mutates(_clear),
    "append": _mutates(_add(0)),
    "insert": _mutates(_add(1)),
    "extend": _mutates(_extend),
    "__init__": Spec(_extend),
    "pop": _mutates(_pop),
    "remove": _mutates(_found(_clear, hashed=False)),
    "clear": _mutates(_clear),
    "sort": _mutates(_sort),
    "reverse": _mutates(_clear),
    "copy": Spec(_copy),
    "index": Spec(_found(give(INT_V), hashed=False)),
    "count": Spec(_found(give(INT_V), hashed=False)),
    "__len__": Spec(give(INT_V)),
}
_DEQUE: Final = {
    **_LIST,
    "appendleft": _mutates(_add(0)),
    "extendleft": _mutates(_extend),
    "popleft": _mutates(_pop),
    "rotate": _mutates(_clear),
}
_SET: Final = {
    "add": _mutates(_found(_add(0), hashed=True)),
    "discard": _mutates(_found(_clear, hashed=True)),
    "remove": _mutates(_found(_clear, hashed=True)),
    "pop": _mutates(_pop),
    "clear": _mutates(_clear),
    "update": _mutates(_extend),
    "difference_update": _mutates(_clear),
    "intersection_update": _mutates(_clear),
    "symmetric_difference_update": _mutates(_extend),
    "copy": Spec(_copy),
    "issubset": Spec(give(BOOL_V)),
    "issuperset": Spec(give(BOOL_V)),
    "isdisjoint": Spec(give(BOOL_V)),
    **{name: Spec(_join_sets) for name in ("union", "intersection", "difference", "symmetric_difference")},
}
_DICT: Final = {
    **_ITEMS,
    "__ior__": _mutates(_update),
    "fromkeys": Spec(lambda call: from_keys(call)),
    "keys": Spec(_keys),
    "values": Spec(_values),
    "items": Spec(_items),
    "get": Spec(_get),
    "copy": Spec(_copy),
    "pop": _mutates(_pop),
    "popitem": _mutates(lambda call: tup([unknown("a key").value, _element(call)]).value),
    "clear": _mutates(_clear),
    "update": _mutates(_update),
    "__init__": Spec(_update),
    "setdefault": _mutates(_found(_setdefault, hashed=True)),
    "move_to_end": _mutates(_clear),
    "most_common": Spec(
        lambda call: call.list_of(
            tup([call.engine.heap.keys_of(call.frame, _self(call)) or unknown("a key").value, INT_V]).value,
            "list",
            "common",
        )
    ),
    "elements": Spec(lambda call: stream("keys", call.engine.heap.keys_of(call.frame, _self(call))).value),
    "subtract": _mutates(_clear),
}
_TUPLE: Final = {
    "index": Spec(give(INT_V)),
    "count": Spec(give(INT_V)),
    "_replace": Spec(lambda call: _replaced(call)),
    "_asdict": Spec(lambda call: unknown("a named tuple's dictionary").value),
}


def _replaced(call: Call) -> Value:
    receiver = call.receiver
    if not isinstance(receiver, Tup):
        return unknown_result(call.name).value
    names = receiver.names or ()
    items = [call.kwargs.get(name, item) for name, item in zip(names, receiver.items, strict=False)]
    return tup(items, receiver.kind, receiver.names).value


def _advance(call: Call) -> Value:
    call.effect("iterator", "next()", call.receiver)
    receiver = call.receiver
    return receiver.element if isinstance(receiver, Stream) else call.elements(receiver.value) if receiver else BOTTOM


def _send(call: Call) -> Value:
    if isinstance(call.receiver, Stream) and call.arg(0):
        call.engine.notes.send(call.frame, call.receiver, call.arg(0), call.pos)
    return _advance(call)


def _thrown(call: Call) -> Value:
    call.effect("iterator", "throw()", call.receiver)
    receiver = call.receiver
    return receiver.element if isinstance(receiver, Stream) else call.elements(receiver.value) if receiver else BOTTOM


def _closed(call: Call) -> Value:
    call.effect("iterator", "close()", call.receiver)
    return NONE_V


_GENERATOR: Final = {
    "__next__": Spec(_advance),
    "send": Spec(_send),
    "throw": Spec(_thrown),
    "close": Spec(_closed),
}
_NUMBER: Final = {
    "bit_length": Spec(give(INT_V)),
    "is_integer": Spec(give(BOOL_V)),
    "conjugate": Spec(lambda call: call.receiver.value if call.receiver else BOTTOM),
    "to_bytes": Spec(give(prim("bytes").value)),
    "item": Spec(lambda call: call.receiver.value if call.receiver else BOTTOM),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    "builtins.object": ClassSpec(methods=OBJECT),
    "builtins.list": ClassSpec(bases=("builtins.object",), methods=_LIST),
    "builtins.deque": ClassSpec(bases=("builtins.object",), methods=_DEQUE),
    "builtins.set": ClassSpec(bases=("builtins.object",), methods=_SET),
    "builtins.frozenset": ClassSpec(
        bases=("builtins.object",), methods={name: spec for name, spec in _SET.items() if not spec.effects}
    ),
    "builtins.dict": ClassSpec(bases=("builtins.object",), methods=_DICT),
    "builtins.str": ClassSpec(bases=("builtins.object",), methods=STRINGS),
    "builtins.bytes": ClassSpec(bases=("builtins.object",), methods=STRINGS),
    "builtins.bytearray": ClassSpec(bases=("builtins.object",), methods={**STRINGS, **_LIST}),
    "builtins.array": ClassSpec(
        bases=("builtins.object",),
        methods={
            **_LIST,
            "byteswap": _mutates(_clear),
            **dict.fromkeys(("fromlist", "frombytes", "fromfile"), _mutates(_NOTHING)),
            "tolist": Spec(lambda call: call.list_of(call.values(_self(call)), "list", "made")),
            "tobytes": Spec(give(prim("bytes").value)),
        },
    ),
    "builtins.module_list": ClassSpec(
        bases=("builtins.object",),
        methods={
            name: Spec(spec.rule if not spec.effects else _NOTHING, effects=("state",) if spec.effects else ())
            for name, spec in _LIST.items()
        },
    ),
    "wrapper.namespace": NAMESPACE,
    "builtins.tuple": ClassSpec(bases=("builtins.object",), methods=_TUPLE),
    "builtins.generator": ClassSpec(bases=("builtins.object",), methods=_GENERATOR),
    "builtins.iterator": ClassSpec(bases=("builtins.object",), methods=_GENERATOR),
    **{
        f"builtins.{kind}": ClassSpec(bases=("builtins.object",), methods=_NUMBER)
        for kind in ("int", "float", "bool", "complex")
    },
}
