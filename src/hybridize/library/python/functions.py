"""Built-in functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.lattice import (
    join,
    join_all,
    varying,
)
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    INT_V,
    NONE,
    NONE_V,
    STR_V,
    Class,
    Container,
    Func,
    Heap,
    Inst,
    LibInst,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    Wrapper,
    counter,
    intern_obj,
    lib,
    literal,
    prim,
    stream,
    tup,
    unknown,
    wrapper,
)
from hybridize.library.lengths import hold_alike, length_of, note_length, shortest
from hybridize.library.protocols import FORMATTED, SHOWN, TRUTH, ask, order, show
from hybridize.library.spec import Call, ClassSpec, Rule, Spec


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
        case Container() if obj.kind in ("list", "dict") and call.engine.is_exact(call.frame, obj):
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
            method = call.engine.find_method(call.frame, obj, "__len__")
            if method:
                return call.call(method, how="operator")
    return INT_V


def _range(call: Call) -> Value:
    consts = [call.constant(i, "") for i in range(len(call.args))]
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
    """The items of a sequence by position, if they are known."""
    if len(value) != 1:
        return None
    (obj,) = value
    if isinstance(obj, Tup):
        return list(obj.items)
    if isinstance(obj, Container) and obj.kind in ("list", "generator") and call.engine.is_exact(call.frame, obj):
        return [call.engine.read(call.frame, c) for c in list(obj.fields.values())]
    if isinstance(obj, Stream) and obj.bounds is not None and len(obj.bounds) <= 4 * MAX_ROWS:
        return [counter(i).value for i in obj.bounds]
    return None


def _map(call: Call) -> Value:
    items = [call.elements(a) for a in call.args[1:]]
    if not items or not all(items):
        return stream("map", BOTTOM).value
    if len(items) == 1 and len(call.args[1]) == 1:
        (obj,) = call.args[1]
        if isinstance(obj, Tup) and 0 < len(obj.items) <= MAX_MAPPED and all(obj.items):
            results = [call.call(call.arg(0), item) for item in obj.items]
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
    method = call.engine.find_method(call.frame, obj, name) if isinstance(obj, Inst) else BOTTOM
    return call.call(method, *args, how="operator") if method else BOTTOM


def from_keys(call: Call) -> Value:
    """`dict.fromkeys(keys, value)`."""
    made = call.new("dict", "made")
    call.engine.lose_exactness(made)
    keys = call.elements(call.arg(0))
    if keys:
        call.engine.set_item_quietly(call.frame, made, keys, call.arg(1, "value", NONE_V), call.pos)
    return made.value


#: The special method that is asked for where a class does not have another.
_OTHERWISE: Final = {
    "__bool__": "__len__",
    "__int__": "__index__",
    "__float__": "__index__",
    "__complex__": "__float__",
}


def _with_special(name: str, rule: Rule) -> Rule:
    """A rule that first lets objects of the project answer by a special method."""

    def asking(call: Call) -> Value:
        for obj in call.arg(0):
            if not special(call, obj, name) and name in _OTHERWISE:
                special(call, obj, _OTHERWISE[name])
        return rule(call)

    return asking


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
                result = join(result, stream("reversed", call.elements(obj.value)).value)
    return result


#: Iterators that are their own iterators.
_ONCE: Final = frozenset({"generator", "iterator", "zip", "map", "filter", "enumerate", "reversed"})


def _iter(call: Call) -> Value:
    result = BOTTOM
    if len(call.args) == 2:
        made = call.new("iterator", "iter")
        call.engine.lose_exactness(made)
        call.engine.write(call.frame, made.rest_cell(), call.call(call.arg(0)), call.pos)
        return made.value
    for obj in call.arg(0):
        if (isinstance(obj, Stream) and ("Iterator" in obj.kind or obj.kind in _ONCE)) or (
            isinstance(obj, Container | Tup) and obj.kind in _ONCE
        ):
            result = join(result, obj.value)
        elif isinstance(obj, Stream) and obj.kind.startswith("tf."):
            result = join(result, stream("tf.data.Iterator", call.elements(obj.value)).value)
        else:
            made = call.new("iterator", "iter")
            call.engine.lose_exactness(made)
            call.engine.write(call.frame, made.rest_cell(), call.elements(obj.value), call.pos)
            result = join(result, made.value)
    return result


def _is_no_iterator(obj: Obj) -> bool:
    """Whether `next` raises on an object, which only merged calls bring there."""
    return isinstance(obj, Tup | Tensor | Lit | Prim) or (isinstance(obj, Container) and obj.kind in _SEQUENCES)


_SEQUENCES: Final = frozenset({"list", "dict", "set", "frozenset"})


def _next(call: Call) -> Value:
    result = call.arg(1)
    for obj in call.arg(0):
        if isinstance(obj, Inst):
            method = call.engine.find_method(call.frame, obj, "__next__")
            if method:
                result = join(result, call.call(method, how="operator"))
                continue
        if not (isinstance(obj, Stream) and obj.kind == "tf.data.Iterator") and not _is_no_iterator(obj):
            call.effect("iterator", "next()", obj)
        result = join(result, call.elements(obj.value))
    return result


def _reduce_numbers(call: Call) -> Value:
    """`sum`, `min`, `max`: of tensors a tensor, of numbers a number."""
    name = call.name.rpartition(".")[2]
    single = len(call.args) == 1 or name == "sum"
    values = call.elements(call.arg(0)) if single else call.every()
    key = call.arg(-1, "key")
    if key and key is not NONE_V and values:
        call.call(key, values)
    elif name != "sum":
        compare_elements(call, values)
    result = BOTTOM
    start = call.arg(1, "start") if name == "sum" else BOTTOM
    items = known_items(call, call.arg(0)) if name == "sum" else None
    if items and len(items) <= MAX_ROWS and any(isinstance(o, Inst | Tensor) for o in values):
        return _added_up(call, start or literal(0).value, items)
    if name == "sum" and any(isinstance(o, Container | Tup) for o in values):
        kind = "list" if any(isinstance(o, Container) for o in values) else "tuple"
        element = join(call.elements(values), call.elements(start))
        return call.list_of(element, "list", "sum") if kind == "list" else stream("tuple", element).value
    for obj in start:
        result = join(result, obj.value if isinstance(obj, Tensor | Inst) else BOTTOM)
    for obj in values:
        if name == "sum" and isinstance(obj, Inst):
            summed = join(special(call, obj, "__radd__", INT_V), special(call, obj, "__add__", values))
            result = join(result, summed)
            if summed:
                continue
        if isinstance(obj, Tensor):
            if obj.kind != "ndarray":
                call.frame.ops[call.pos] = call.name
            result = join(result, obj.value)
        elif isinstance(obj, Lit) and isinstance(obj.const, int | float) and obj is not NONE:
            kind = obj.kind if obj.kind != "bool" else "int"
            result = join(result, _folded(call, name, obj) or prim(kind, obj.varies).value)
        else:
            result = join(result, obj.value)
    if name in ("min", "max"):
        default = call.arg(-1, "default")
        result = join(result, default)
    return result or INT_V


def _added_up(call: Call, total: Value, items: list[Value]) -> Value:
    """`sum` of items that are known one by one."""
    from hybridize.library.operators import binary

    for item in items:
        total = binary(call.engine, call.frame, "+", total, item, call.pos) if total and item else BOTTOM
    return total


def _folded(call: Call, name: str, obj: Lit) -> Value | None:
    if name == "sum":
        return None
    consts = [call.constant(i, "") for i in range(len(call.args))]
    if len(consts) > 1 and all(isinstance(c, int | float) for c in consts):
        made = literal((min if name == "min" else max)(consts)).value
        return varying(made) if any(isinstance(o, Lit) and o.varies for v in call.args for o in v) else made
    return None


def _number(kind: str) -> Rule:
    def rule(call: Call) -> Value:
        const = call.constant(0, "")
        result = BOTTOM
        for obj in call.arg(0):
            read = isinstance(obj, Tensor) and obj.kind != "ndarray"
            if isinstance(obj, Lit) and obj.varies and kind == "int":
                return obj.value
            if read or (isinstance(obj, Lit | Prim) and obj.varies):
                result = join(result, prim(kind, True).value)
        if result:
            return result
        if const is not None and isinstance(const, int | float | str) and len(call.args) == 1:
            try:
                return literal({"int": int, "float": float}[kind](const)).value
            except (ValueError, OverflowError):
                return BOTTOM
        return result or (literal({"int": 0, "float": 0.0}[kind]).value if not call.args else prim(kind).value)

    return rule


def _sequence(kind: str) -> Rule:
    def rule(call: Call) -> Value:
        result = BOTTOM
        if not call.args:
            return tup([]).value if kind == "tuple" else call.new(kind, "made").value
        for obj in call.arg(0):
            result = join(result, _as_sequence(call, obj, kind))
        return result

    return rule


def _as_sequence(call: Call, obj: Obj, kind: str) -> Value:
    items: list[Value] | None = None
    if isinstance(obj, Tup):
        items = list(obj.items)
        if obj.kind in _ONCE:
            call.effect("iterator", f"{kind}()", obj)
    elif isinstance(obj, Container) and obj.kind in ("list", "generator") and call.engine.is_exact(call.frame, obj):
        items = [call.engine.read(call.frame, c) for c in list(obj.fields.values())]
        if obj.kind == "generator":
            call.effect("iterator", f"{kind}()", obj)
    if items is not None and kind == "tuple":
        return tup(items).value
    if kind == "tuple":
        return stream("tuple", call.elements(obj.value), length_of(call.engine, call.frame, obj.value)).value
    made = call.new(kind, "made")
    if items is not None and kind == "list" and len(items) <= 64:
        for i, item in enumerate(items):
            call.engine.write(call.frame, made.cell(i), item, call.pos)
    else:
        hold_alike(call.engine, made)
        call.engine.write(call.frame, made.rest_cell(), call.elements(obj.value), call.pos)
        if kind == "list":
            note_length(call.engine, made, length_of(call.engine, call.frame, obj.value))
    return made.value


def _dict(call: Call) -> Value:
    made = call.new("dict", "made")
    engine, frame, pos = call.engine, call.frame, call.pos
    for obj in call.arg(0):
        if isinstance(obj, Container) and obj.kind == "dict":
            for key, cell in list(obj.fields.items()):
                engine.write(frame, made.cell(key), engine.read(frame, cell), pos)
            if not engine.is_exact(frame, obj):
                engine.lose_exactness(made)
                engine.write(frame, made.rest_cell(), engine.read(frame, obj.rest_cell()), pos)
        else:
            engine.lose_exactness(made)
            pairs = engine.elements(frame, obj.value, pos)
            for pair in pairs:
                if isinstance(pair, Tup) and len(pair.items) == 2:
                    engine.set_item_quietly(frame, made, pair.items[0], pair.items[1], pos)
                else:
                    engine.write(frame, made.rest_cell(), engine.elements(frame, pair.value, pos), pos)
    for key, value in call.kwargs.items():
        if key != "**":
            engine.write(frame, made.cell(key), value, pos)
        else:
            engine.lose_exactness(made)
            engine.write(frame, made.rest_cell(), value, pos)
    return made.value


def _getattr(call: Call) -> Value:
    result = call.arg(2)
    name = call.constant(1, "")
    if isinstance(name, str):
        found = call.engine.get_attrs(call.frame, call.arg(0), name, call.pos)
        if result and any(isinstance(o, Unknown) for o in found):
            return join(found, result)
        return found or result
    names = [o.const for o in call.arg(1) if isinstance(o, Lit) and isinstance(o.const, str)]
    if names and len(names) == len(call.arg(1)):
        for each in names:
            result = join(result, call.engine.get_attrs(call.frame, call.arg(0), each, call.pos))
        return result
    return join(result, unknown("a computed attribute (`getattr`)").value)


def _setattr(call: Call) -> Value:
    name = call.constant(1, "")
    for obj in call.arg(0):
        if isinstance(name, str):
            call.engine.set_attr(call.frame, obj, name, call.arg(2), call.pos)
        elif isinstance(obj, Inst):
            call.engine.write(call.frame, obj.rest_cell(), call.arg(2), call.pos)
            call.effect("attribute", "a computed attribute", obj)
    return NONE_V


def _super(call: Call) -> Value:
    frame = call.frame
    if call.args:
        starts = [o for o in call.arg(0) if isinstance(o, Class)]
        receivers = list(call.arg(1))
    else:
        func = frame.func
        while func is not None and func.owner is None:
            return unknown("super() outside a method").value
        starts = [func.owner] if func is not None and func.owner is not None else []
        receivers = list(frame.args[0]) if frame.args else []
        if not receivers and func is not None:
            return unknown("super() in a nested function").value
    result = BOTTOM
    for start in starts:
        for receiver in receivers:
            result = join(result, wrapper("super", BOTTOM, start, receiver).value)
    return result or unknown("super()").value


def _isinstance(call: Call) -> Value:
    value = call.arg(0)
    for kind in call.arg(1):
        if isinstance(kind, Class) and kind.metaclass is not None:
            hook = call.engine.get_attrs(call.frame, kind.metaclass.value, "__instancecheck__", call.pos)
            call.call(frozenset(o for o in hook if isinstance(o, Func)), kind.value, value, how="operator")
    yes = call.engine.narrow(call.frame, value, call.arg(1), True)
    no = call.engine.narrow(call.frame, value, call.arg(1), False)
    if yes and no:
        return BOOL_V
    return literal(bool(yes)).value if value else BOTTOM


#: What every eager tensor has.
_OF_TENSORS: Final = frozenset({"shape", "dtype", "numpy", "get_shape", "ndim"})


def _hasattr(call: Call) -> Value:
    name = call.constant(1, "")
    value = call.arg(0)
    for obj in value:
        if isinstance(obj, Inst) and isinstance(name, str) and name not in obj.fields:
            call.engine.find_method(call.frame, obj, name)  # asking runs a property
    if value and name in _OF_TENSORS and all(isinstance(o, Tensor) and o.kind in ("dense", "variable") for o in value):
        return literal(True).value
    return BOOL_V


def _property(call: Call) -> Value:
    deleter = call.arg(2, "fdel")
    return wrapper("property", call.arg(0, "fget"), call.arg(1, "fset"), *([deleter] if deleter else [])).value


def _type(call: Call) -> Value:
    if len(call.args) == 3:
        return unknown("a class made by `type`").value
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Inst):
            result = join(result, obj.cls.value)
        elif isinstance(obj, LibInst):
            result = join(result, lib(obj.cls).value)
        elif isinstance(obj, Lit | Prim):
            result = join(result, lib("types.NoneType" if obj is NONE else f"builtins.{obj.kind}").value)
        elif isinstance(obj, Container):
            result = join(result, lib(f"builtins.{obj.kind}").value)
        elif isinstance(obj, Tensor) and obj.kind == "dense":
            result = join(result, lib("tf.python.framework.ops.EagerTensor").value)
        else:
            result = join(result, unknown("a type").value)
    return result


def _wrap(kind: str) -> Rule:
    return lambda call: wrapper(kind, call.arg(0)).value


def _abs(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Lit) and isinstance(obj.const, int | float):
            made = literal(abs(obj.const)).value
            result = join(result, varying(made) if obj.varies else made)
        elif isinstance(obj, Tensor):
            if obj.kind != "ndarray":
                call.frame.ops[call.pos] = "tf.math.abs"
            result = join(result, obj.value)
        else:
            result = join(result, obj.value)
    return result


def _round(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Tensor):
            result = join(result, obj.value)
        else:
            result = join(result, INT_V if len(call.args) == 1 else prim("float").value)
    return result


def _divmod(call: Call) -> Value:
    from hybridize.library.operators import binary

    a, b = call.arg(0), call.arg(1)
    own = join(
        ask(call.engine, call.frame, a, ("__divmod__",), call.pos, b),
        ask(call.engine, call.frame, b, ("__rdivmod__",), call.pos, a),
    )
    if own:
        return own
    parts = [binary(call.engine, call.frame, op, a, b, call.pos) or INT_V for op in ("//", "%")]
    return tup(parts).value


def _pow(call: Call) -> Value:
    from hybridize.library.operators import binary

    return binary(call.engine, call.frame, "**", call.arg(0, "base"), call.arg(1, "exp"), call.pos) or INT_V


def _string(call: Call) -> Value:
    show(call.engine, call.frame, call.arg(0), SHOWN, call.pos)
    for obj in call.arg(0):
        if isinstance(obj, Lit):
            return literal(str(obj.const)).value if len(call.arg(0)) == 1 else STR_V
    return STR_V


def _represented(call: Call) -> Value:
    show(call.engine, call.frame, call.arg(0), SHOWN[1:], call.pos)
    return STR_V


def _format(call: Call) -> Value:
    show(call.engine, call.frame, call.arg(0), FORMATTED, call.pos)
    return STR_V


def _vars(call: Call) -> Value:
    name = call.name.rpartition(".")[2]
    unclear = unknown("a namespace dictionary").value
    if name == "globals":
        return wrapper("namespace", unclear, call.frame.module).value
    result = BOTTOM
    for obj in call.arg(0):
        result = join(result, wrapper("namespace", unclear, obj).value if isinstance(obj, Heap) else unclear)
    return result or unclear


def _print(call: Call) -> Value:
    """Output, except into a buffer: then that is changed."""
    for value in call.args:
        show(call.engine, call.frame, value, SHOWN, call.pos)
    for obj in call.arg(-1, "file", NONE_V):
        if isinstance(obj, LibInst) and obj.cls in ("io.StringIO", "io.BytesIO"):
            call.effect("mutate", "print", obj)
        elif isinstance(obj, Inst) and call.engine.find_method(call.frame, obj, "write"):
            special(call, obj, "write", STR_V)
        else:
            call.effect("print", call.name)
    return NONE_V


def _truths(call: Call) -> Value:
    """`any`, `all`: objects answer by `__bool__`."""
    ask(call.engine, call.frame, call.elements(call.arg(0)), TRUTH, call.pos)
    return BOOL_V


def _delattr(call: Call) -> Value:
    name = call.constant(1, "", "a computed attribute")
    for obj in call.arg(0):
        call.engine.del_attr(call.frame, obj, str(name), call.pos)
    return NONE_V


def _view(call: Call) -> Value:
    """A memory view writes into what it views."""
    return call.arg(0)


def _callable(call: Call) -> Value:
    return BOOL_V


def _truth(call: Call) -> Value:
    return BOOL_V


_NOTHING: Final = give(NONE_V)
_TEXT: Final = give(STR_V)

_RULES: Final[dict[str, Callable[[Call], Value]]] = {
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
    "sum": _reduce_numbers,
    "min": _reduce_numbers,
    "max": _reduce_numbers,
    "int": _with_special("__int__", _number("int")),
    "float": _with_special("__float__", _number("float")),
    "bool": _with_special("__bool__", _truth),
    "str": _string,
    "repr": _represented,
    "format": _format,
    "ascii": _represented,
    "chr": _TEXT,
    "bin": _with_special("__index__", _TEXT),
    "hex": _with_special("__index__", _TEXT),
    "oct": _with_special("__index__", _TEXT),
    "ord": give(INT_V),
    "hash": _with_special("__hash__", give(INT_V)),
    "id": give(INT_V),
    "bytes": _with_special("__bytes__", give(prim("bytes").value)),
    "bytearray": lambda call: call.list_of(INT_V, "bytearray", "made"),
    "complex": give(prim("complex").value),
    "list": _sequence("list"),
    "tuple": _sequence("tuple"),
    "set": _sequence("set"),
    "frozenset": _sequence("frozenset"),
    "dict": _dict,
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "delattr": _delattr,
    "super": _super,
    "isinstance": _isinstance,
    "issubclass": give(BOOL_V),
    "callable": _callable,
    "property": _property,
    "staticmethod": _wrap("staticmethod"),
    "classmethod": _wrap("classmethod"),
    "type": _type,
    "object": lambda call: call.engine.library_instance(call.frame, call.pos, "builtins.object").value,
    "abs": _with_special("__abs__", _abs),
    "round": _with_special("__round__", _round),
    "dict.fromkeys": from_keys,
    "pow": _pow,
    "divmod": _divmod,
    "any": _truths,
    "all": _truths,
    "print": _print,
    "slice": lambda call: (
        wrapper(
            "slice", BOTTOM, *((NONE_V, *call.args, NONE_V) if len(call.args) == 1 else (*call.args, NONE_V)[:3])
        ).value
    ),
    "vars": _vars,
    "locals": _vars,
    "globals": _vars,
    "dir": _with_special("__dir__", give(stream("tuple", STR_V).value)),
    "memoryview": _view,
}


def _exec(call: Call) -> Value:
    """`exec(code, names)`: fills the dictionary with what the code defines."""
    for obj in call.arg(1, "globals"):
        if isinstance(obj, Container) and obj.kind == "dict":
            call.engine.write(call.frame, obj.rest_cell(), unknown("a name that `exec` defines").value, call.pos)
    return NONE_V


_EFFECTS: Final[dict[str, tuple[str, Rule]]] = {
    "input": ("io", _TEXT),
    "open": ("io", lambda call: call.engine.library_instance(call.frame, call.pos, "io.TextIOWrapper").value),
    "exec": ("unknown_call", _exec),
    "eval": ("unknown_call", give(unknown("the result of `eval`").value)),
    "compile": ("unknown_call", give(unknown("compiled code").value)),
    "__import__": ("unknown_call", give(unknown("a computed import").value)),
    "exit": ("io", give(BOTTOM)),
    "quit": ("io", give(BOTTOM)),
    "breakpoint": ("io", _NOTHING),
    "help": ("io", _NOTHING),
}

FUNCTIONS: Final[dict[str, Spec]] = {
    **{f"builtins.{name}": Spec(rule) for name, rule in _RULES.items()},
    **{f"builtins.{name}": Spec(rule, effects=(effect,)) for name, (effect, rule) in _EFFECTS.items()},
}


def _property_setter(call: Call) -> Value:
    old = call.receiver
    assert isinstance(old, Wrapper)
    if call.name.endswith("setter"):
        return wrapper("property", old.inner, call.arg(0), *old.extra[1:]).value
    if call.name.endswith("deleter"):
        return wrapper("property", old.inner, *(old.extra or (BOTTOM,))[:1], call.arg(0)).value
    return wrapper("property", call.arg(0), *old.extra).value


CLASSES: Final[dict[str, ClassSpec]] = {
    "wrapper.property": ClassSpec(
        methods={f"property.{name}": Spec(_property_setter) for name in ("setter", "getter", "deleter")}
    ),
}
