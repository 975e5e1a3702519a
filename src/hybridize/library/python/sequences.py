"""Built-in functions that make and go through sequences and mappings: `len`, `zip`, `map`, `list`, `dict` ..."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.identity import intern_obj
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE_V,
    Container,
    Inst,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    counter,
    literal,
    prim,
    stream,
    tup,
    wrapper,
)
from hybridize.domain.words import ONE_SHOT
from hybridize.library.joining import fill
from hybridize.library.lengths import hold_alike, length_of, note_length, shortest
from hybridize.library.protocols import order
from hybridize.library.spec import Call, Rule, parametrized

#: A list or tuple made of a range has its numbers by position while they are not more.
_MOST_NUMBERS: Final = 16


def give(value: Value) -> Rule:
    """A rule that always gives the same value."""
    return lambda call: value


def _len(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0):
        result = join(result, _length(call, obj))
    return result


def _length(call: Call, obj: Obj) -> Value:
    match obj:
        case Tup():
            return literal(len(obj.items)).value
        case Container() if obj.kind in ("list", "dict") and call.is_exact(obj):
            if obj.kind == "list" or all(obj.site in cell.writes for cell in obj.fields.values()):
                return literal(len(obj.fields)).value
        case Container(kind="list") | Stream(kind="tuple" | "range"):
            length = length_of(call.engine, call.frame, obj.value)
            if length is not None:
                return literal(length).value
        case Lit(const=str() | bytes() as text):
            return literal(len(text)).value
        case Tensor(shape=tuple() as shape) if shape and shape[0] >= 0:
            return literal(shape[0]).value
        case Inst():
            method = call.engine.attributes.find_method(call.frame, obj, "__len__")
            if method:
                return call.call(method, how=How.OPERATOR)
    return INT_V


def _range(call: Call) -> Value:
    consts = call.constants()
    if consts and all(isinstance(c, int) for c in consts) and not call.kwargs:
        try:
            values = range(*consts)
        except (TypeError, ValueError):
            return stream("range", prim("int", True).value).value
        if len(values) == 0:
            return tup([]).value
        if len(values) == 1:
            return tup([literal(values[0]).value]).value
        return intern_obj(Stream, "range", prim("int", True).value, len(values), values).value
    return stream("range", prim("int", True).value).value


def _enumerate(call: Call) -> Value:
    element = call.elements(call.arg(0))
    if not element:
        return stream("enumerate", BOTTOM).value
    items = known_items(call, call.arg(0))
    start = call.constant(1, "start", 0)
    if items and len(items) <= MAX_ROWS and all(items) and isinstance(start, int):
        return tup([tup([counter(i).value, item]).value for i, item in enumerate(items, start)], "enumerate").value
    length = length_of(call.engine, call.frame, call.arg(0))
    return stream("enumerate", tup([prim("int", True).value, element]).value, length).value


#: `map` over so many items that are known by position is followed for each.
MAX_MAPPED: Final = 8


#: `zip` and `enumerate` keep so many items by position.
MAX_ROWS: Final = 16


def _zip(call: Call) -> Value:
    if call.rest:
        return _transposed(call) or stream("zip", stream("tuple", call.elements(call.rest)).value).value
    items = [call.elements(a) for a in call.args]
    rows = _rows(call)
    if rows is not None:
        return tup(rows, "zip").value
    if not all(items):
        return stream("zip", BOTTOM).value
    return stream("zip", tup(items).value, shortest(call.engine, call.frame, call.args)).value


def _transposed(call: Call) -> Value:
    """`zip(*rows)` of any number of tuples that have one length: as many columns of unknown length."""
    rows = [obj for obj in call.rest if isinstance(obj, Tup)]
    if call.args or len(rows) != len(call.rest) or len({len(row.items) for row in rows}) != 1:
        return BOTTOM
    columns = [join_all(list(column)) for column in zip(*(row.items for row in rows), strict=True)]
    return tup([stream("tuple", column).value for column in columns], "zip").value if all(columns) else BOTTOM


def _rows(call: Call) -> list[Value] | None:
    """The tuples of a zip over sequences whose items are all known by position."""
    columns = [known_items(call, arg) for arg in call.args]
    known = [column for column in columns if column is not None]
    if not known or len(known) < len(columns) or min(map(len, known)) > MAX_ROWS:
        return None
    return [tup(row).value for row in zip(*known, strict=False) if all(row)]


def known_items(call: Call, value: Value) -> list[Value] | None:
    """The items of a sequence by position, if they are known; of tuples of one length, what is at each place."""
    if len(value) != 1:
        tuples = [obj.items for obj in value if isinstance(obj, Tup)]
        if len(tuples) != len(value) or len(set(map(len, tuples))) != 1:
            return None
        return [join_all(list(column)) for column in zip(*tuples, strict=True)]
    (obj,) = value
    if isinstance(obj, Tup):
        return list(obj.items)
    if isinstance(obj, Container) and obj.kind in ("list", "generator") and call.is_exact(obj):
        return call.read_all(obj)
    if isinstance(obj, Stream) and obj.bounds is not None and len(obj.bounds) <= 4 * MAX_ROWS:
        return [counter(i).value for i in obj.bounds]
    return None


def _map(call: Call) -> Value:
    items = [call.elements(a) for a in call.args[1:]]
    if not items or not all(items):
        return stream("map", BOTTOM).value
    if len(items) == 1:
        known = known_items(call, call.args[1])
        if known and len(known) <= MAX_MAPPED and all(known):
            results = [call.call(call.arg(0), item) for item in known]
            return tup(results, "map").value if all(results) else stream("map", BOTTOM).value
    length = shortest(call.engine, call.frame, call.args[1:])
    return stream("map", call.call(call.arg(0), *items), length).value


def _filter(call: Call) -> Value:
    element = call.elements(call.arg(1))
    if element and call.arg(0) is not NONE_V:
        call.call(call.arg(0), element)
    return stream("filter", element).value


def _sorted(call: Call) -> Value:
    element = call.elements(call.arg(0))
    key = call.arg(-1, "key")
    if key and key is not NONE_V and element:
        call.call(key, element)
    else:
        compare_elements(call, element)
    return call.list_of(element, "list", "sorted")


def compare_elements(call: Call, element: Value) -> None:
    """Elements are put in order by their own `__lt__` or `__gt__`."""
    order(call.engine, call.frame, element, call.pos)


def special(call: Call, obj: Obj, name: str, *args: Value) -> Value:
    """Calls a special method that the project defines on an object's class; bottom if it has none."""
    method = call.engine.attributes.find_method(call.frame, obj, name) if isinstance(obj, Inst) else BOTTOM
    return call.call(method, *args, how=How.OPERATOR) if method else BOTTOM


def from_keys(call: Call) -> Value:
    """`dict.fromkeys(keys, value)`."""
    made = call.new("dict", "made")
    call.engine.cells.lose_exactness(made)
    keys = call.elements(call.arg(0))
    if keys:
        call.engine.heap.set_item_quietly(call.frame, made, keys, call.arg(1, "value", NONE_V), call.pos)
    return made.value


def _reversed(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0):
        own = special(call, obj, "__reversed__")
        if own:
            result = join(result, own)
        elif isinstance(obj, Tup):
            result = join(result, tup(tuple(reversed(obj.items))).value)
        elif isinstance(obj, Stream) and obj.kind == "range" and obj.bounds is not None:
            result = join(result, intern_obj(Stream, "range", obj.element, obj.count, obj.bounds[::-1]).value)
        else:
            items = known_items(call, obj.value)
            if items and len(items) <= MAX_ROWS and all(items):
                result = join(result, tup(tuple(reversed(items)), "reversed").value)
            else:
                length = length_of(call.engine, call.frame, obj.value)
                result = join(result, stream("reversed", call.elements(obj.value), length).value)
    return result


def _iter(call: Call) -> Value:
    result = BOTTOM
    if len(call.args) == 2:
        made = call.new("iterator", "iter")
        call.engine.cells.lose_exactness(made)
        call.write(made.rest_cell(), call.call(call.arg(0)))
        return made.value
    for obj in call.arg(0):
        if (isinstance(obj, Stream) and ("Iterator" in obj.kind or obj.kind in ONE_SHOT)) or (
            isinstance(obj, (Container, Tup)) and obj.kind in ONE_SHOT
        ):
            result = join(result, obj.value)
        elif isinstance(obj, Stream) and obj.is_data:
            result = join(result, stream("tf.data.Iterator", call.elements(obj.value)).value)
        elif isinstance(obj, Unknown):
            result = join(result, obj.value)  # it may be a dataset
        else:
            made = call.new("iterator", "iter")
            call.engine.cells.lose_exactness(made)
            call.write(made.rest_cell(), call.elements(obj.value))
            result = join(result, made.value)
    return result


def _is_no_iterator(obj: Obj) -> bool:
    """Whether `next` raises on an object, which only merged calls bring there."""
    if isinstance(obj, (Tup, Container)):
        return obj.kind in _SEQUENCES
    return isinstance(obj, (Tensor, Lit, Prim))


_SEQUENCES: Final = frozenset({"list", "tuple", "dict", "set", "frozenset"})


def _next(call: Call) -> Value:
    result = call.arg(1)
    for obj in call.arg(0):
        if isinstance(obj, Inst):
            method = call.engine.attributes.find_method(call.frame, obj, "__next__")
            if method:
                result = join(result, call.call(method, how=How.OPERATOR))
                continue
        if not (isinstance(obj, Stream) and obj.kind == "tf.data.Iterator") and not _is_no_iterator(obj):
            call.effect("iterator", "next()", obj)
        result = join(result, call.elements(obj.value))
    return result


@parametrized
def _sequence(call: Call, kind: str) -> Value:
    result = BOTTOM
    if not call.args:
        return tup([]).value if kind == "tuple" else call.new(kind, "made").value
    for obj in call.arg(0):
        result = join(result, _as_sequence(call, obj, kind))
    return result


def _as_sequence(call: Call, obj: Obj, kind: str) -> Value:
    items: list[Value] | None = None
    if isinstance(obj, Tup):
        items = list(obj.items)
        if obj.kind in ONE_SHOT:
            call.effect("iterator", f"{kind}()", obj)
    elif isinstance(obj, Container) and obj.kind in ("list", "generator") and call.is_exact(obj):
        items = call.read_all(obj)
        if obj.kind == "generator":
            call.effect("iterator", f"{kind}()", obj)
    elif isinstance(obj, Stream) and obj.bounds is not None and len(obj.bounds) <= _MOST_NUMBERS:
        items = [counter(i).value for i in obj.bounds]
    if items is not None and kind == "tuple":
        return tup(items).value
    if kind == "tuple":
        return stream("tuple", call.elements(obj.value), length_of(call.engine, call.frame, obj.value)).value
    made = call.new(kind, "made")
    if items is not None and kind == "list" and len(items) <= 64:
        for i, item in enumerate(items):
            call.write(made.cell(i), item)
    else:
        hold_alike(call.engine, made)
        call.write(made.rest_cell(), call.elements(obj.value))
        if kind == "list":
            note_length(call.engine, made, length_of(call.engine, call.frame, obj.value))
    return made.value


def _dict(call: Call) -> Value:
    made = call.new("dict", "made")
    engine, frame, pos = call.engine, call.frame, call.pos
    for obj in call.arg(0):
        if isinstance(obj, Container) and obj.kind == "dict":
            fill(engine, frame, made, obj.value, call.kwargs.keys(), pos)
        else:
            engine.cells.lose_exactness(made)
            pairs = engine.heap.elements(frame, obj.value, pos)
            for pair in pairs:
                if isinstance(pair, Tup) and len(pair.items) == 2:
                    engine.heap.set_item_quietly(frame, made, pair.items[0], pair.items[1], pos)
                else:
                    engine.cells.write(frame, made.rest_cell(), engine.heap.elements(frame, pair.value, pos), pos)
    for key, value in call.kwargs.items():
        if key != "**":
            engine.cells.write(frame, made.cell(key), value, pos)
        else:
            engine.cells.lose_exactness(made)
            engine.cells.write(frame, made.rest_cell(), value, pos)
    return made.value


#: The functions by name.
RULES: Final[dict[str, Rule]] = {
    "len": _len,
    "range": _range,
    "xrange": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    "sorted": _sorted,
    "reversed": _reversed,
    "iter": _iter,
    "next": _next,
    "list": _sequence("list"),
    "tuple": _sequence("tuple"),
    "set": _sequence("set"),
    "frozenset": _sequence("frozenset"),
    "dict": _dict,
    "dict.fromkeys": from_keys,
    "bytearray": lambda call: call.list_of(INT_V, "bytearray", "made"),
    "slice": lambda call: (
        wrapper(
            "slice", BOTTOM, *((NONE_V, *call.args, NONE_V) if len(call.args) == 1 else (*call.args, NONE_V)[:3])
        ).value
    ),
}
