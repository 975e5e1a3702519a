"""The collections of the standard library, and the abstract classes that the project's own ones derive from."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE_V,
    Container,
    Lit,
    Tup,
    Value,
    literal,
    prim,
    tup,
    unknown,
    wrapper,
)
from hybridize.domain.unknowns import Why
from hybridize.library.python.functions import FUNCTIONS as BUILTINS
from hybridize.library.python.rules import (
    call_back,
    constructor,
    integer,
    iterator_of,
    methods,
    nothing,
    recall,
    remember,
    unpacked,
)
from hybridize.library.spec import Call, ClassSpec, Spec

_COUNTER: Final = prim("int", True).value


def field_names(call: Call, value: Value) -> tuple[str, ...] | None:
    """The names that a list, tuple or string of fields spells; None where one is not constant."""
    if len(value) != 1:
        return None
    (obj,) = value
    if isinstance(obj, Lit):
        return tuple(obj.const.replace(",", " ").split()) if isinstance(obj.const, str) else None
    if not isinstance(obj, (Tup, Container)) or (isinstance(obj, Container) and not call.is_exact(obj)):
        return None
    names = []
    for item in unpacked(call, value):
        parts = unpacked(call, item) if any(isinstance(o, Tup) for o in item) else [item]
        head = next(iter(parts[0]), None) if parts and len(parts[0]) == 1 else None
        if not isinstance(head, Lit) or not isinstance(head.const, str):
            return None
        names.append(head.const)
    return tuple(names)


def _namedtuple(call: Call) -> Value:
    if call.kwargs and "field_names" not in call.kwargs and call.name == "typing.NamedTuple":
        names: tuple[str, ...] | None = tuple(call.kwargs)
    else:
        names = field_names(call, call.arg(1, "fields" if call.name == "typing.NamedTuple" else "field_names"))
    if names is None:
        return unknown("a named tuple whose fields are computed").value
    return wrapper("namedtuple", BOTTOM, names).value


def _deque(call: Call) -> Value:
    return call.list_of(call.elements(call.arg(0, "iterable")), "deque", "made")


def _array(call: Call) -> Value:
    """`array.array(code, items)`: a sequence of numbers that can be changed."""
    return call.list_of(join(call.elements(call.arg(1, "initializer")), INT_V), "array", "made")


def _dict(call: Call) -> Value:
    rule = BUILTINS["builtins.dict"].rule
    return rule(call) if rule is not None else call.new("dict", "made").value


def _defaultdict(call: Call) -> Value:
    """A dict that holds what its factory makes under every key that is not known."""
    made = _dict(Call(call.engine, call.frame, call.pos, call.name, call.args[1:], call.kwargs, None, BOTTOM))
    default = call_back(call, call.arg(0))
    for obj in made:
        if isinstance(obj, Container) and default:
            if default is not NONE_V:
                call.engine.notes.reads_insert(obj)
            call.engine.cells.lose_exactness(obj)
            call.write(obj.rest_cell(), default)
    return made


def _counter(call: Call) -> Value:
    made = call.new("dict", "counter")
    call.engine.notes.note_rebuilt(made)
    call.engine.cells.lose_exactness(made)
    call.write(made.rest_cell(), INT_V)
    for value in (*call.args, call.rest):
        keys = call.elements(value)
        if keys:
            call.engine.heap.set_item_quietly(call.frame, made, keys, INT_V, call.pos)
    return made.value


def _chain_map(call: Call) -> Value:
    made = call.new("dict", "chained")
    call.engine.notes.note_rebuilt(made)
    call.engine.cells.lose_exactness(made)
    for value in (*call.args, call.rest):
        for obj in value:
            if isinstance(obj, Container) and obj.kind == "dict":
                call.engine.notes.reads_from(made, obj)
                keys = call.engine.heap.keys_of(call.frame, obj)
                call.engine.heap.set_item_quietly(call.frame, made, keys, call.values(obj), call.pos)
            else:
                element = unknown("an item of a chained mapping", Why.PART).value
                call.write(made.rest_cell(), element)
    return join(made.value, call.arg(0))  # what is written goes to the first of the maps


# What mappings and sequences of the project inherit from the abstract classes: it is all built on their own methods.


def _own(call: Call, name: str, *args: Value) -> Value:
    return call.method(call.receiver, name, *args, how=How.OPERATOR) if call.receiver is not None else BOTTOM


def _get(call: Call) -> Value:
    return join(_own(call, "__getitem__", call.arg(0)), call.arg(1, "default", NONE_V))


def _keys(call: Call) -> Value:
    return iterator_of(call, call.elements(_own(call, "__iter__")), "keys")


def _values(call: Call) -> Value:
    return iterator_of(call, _own(call, "__getitem__", call.elements(_own(call, "__iter__"))), "values")


def _items(call: Call) -> Value:
    keys = call.elements(_own(call, "__iter__"))
    return iterator_of(call, tup([keys, _own(call, "__getitem__", keys)]).value if keys else BOTTOM, "items")


def _update(call: Call) -> Value:
    for obj in call.arg(0):
        if isinstance(obj, Container) and obj.kind == "dict":
            keys = call.engine.heap.keys_of(call.frame, obj)
            _own(call, "__setitem__", keys, call.values(obj))
        else:
            _own(call, "__setitem__", call.elements(obj.value), unknown("an item of an update", Why.PART).value)
    for name, value in call.kwargs.items():
        _own(call, "__setitem__", prim("str").value if name == "**" else literal(name).value, value)
    return NONE_V


def _removed(call: Call) -> Value:
    found = join(_own(call, "__getitem__", call.arg(0)), call.arg(1, "default"))
    _own(call, "__delitem__", call.arg(0))
    return found


def _set_default(call: Call) -> Value:
    _own(call, "__setitem__", call.arg(0), call.arg(1, "default", NONE_V))
    return join(_own(call, "__getitem__", call.arg(0)), call.arg(1, "default", NONE_V))


def _appended(call: Call) -> Value:
    _own(call, "insert", INT_V, call.arg(0))
    return NONE_V


def _added(call: Call) -> Value:
    _own(call, "add", call.elements(call.arg(0)))
    return NONE_V


def _user_dict(call: Call) -> Value:
    """`UserDict(mapping, **items)`: a dictionary of its own under `data`."""
    made = _dict(Call(call.engine, call.frame, call.pos, "builtins.dict", call.args, call.kwargs, None, call.rest))
    remember(call, "data", made)
    return NONE_V


def _set_user_item(call: Call) -> Value:
    for obj in recall(call, "data"):
        if isinstance(obj, Container):
            call.engine.heap.set_item_quietly(call.frame, obj, call.arg(0), call.arg(1), call.pos)
    return NONE_V


_MAPPING: Final = {
    "get": Spec(_get),
    "keys": Spec(_keys),
    "values": Spec(_values),
    "items": Spec(_items),
    "__contains__": Spec(lambda call: _own(call, "__getitem__", call.arg(0)) and prim("bool").value),
}
_MUTABLE_MAPPING: Final = {
    "update": Spec(_update),
    "pop": Spec(_removed),
    "popitem": Spec(_removed),
    "setdefault": Spec(_set_default),
    "clear": Spec(lambda call: _own(call, "__delitem__", BOTTOM) and NONE_V),
}
_SEQUENCE: Final = {
    **methods("index count", integer),
    "__iter__": Spec(lambda call: iterator_of(call, _own(call, "__getitem__", _COUNTER))),
    "__reversed__": Spec(lambda call: iterator_of(call, _own(call, "__getitem__", _COUNTER))),
}
_DATA_CLASSES: Final = {
    # A user class around a container of its own: the container is kept as `data`.
    "UserDict": ClassSpec(
        methods={
            **_MAPPING,
            **methods("update setdefault clear", nothing, "mutate"),
            "__init__": Spec(_user_dict),
            "pop": Spec(lambda call: call.elements(recall(call, "data")), effects=("mutate",)),
            "__setitem__": Spec(_set_user_item, effects=("mutate",)),
            "__getitem__": Spec(
                lambda call: call.engine.heap.get_item(call.frame, recall(call, "data"), call.arg(0), call.pos)
            ),
        },
        parameters=("data",),
    ),
    "UserList": ClassSpec(
        methods={
            **methods("append extend insert remove clear sort reverse", nothing, "mutate"),
            "__init__": constructor("data"),
            "pop": Spec(lambda call: call.elements(recall(call, "data")), effects=("mutate",)),
            "__iter__": Spec(lambda call: iterator_of(call, call.elements(recall(call, "data")))),
            "__getitem__": Spec(
                lambda call: call.engine.heap.get_item(call.frame, recall(call, "data"), call.arg(0), call.pos)
            ),
        },
        parameters=("data",),
    ),
    "UserString": ClassSpec(methods={"__init__": constructor("data")}, parameters=("data",)),
}


FUNCTIONS: Final[dict[str, Spec]] = {
    "collections.namedtuple": Spec(_namedtuple),
    "typing.NamedTuple": Spec(_namedtuple),
}
#: Sequences, sets and mappings of the project derive from these; the built-in ones are containers of the heap.
_ABSTRACT: Final = (
    "Iterable Iterator Generator Container Collection Sized Hashable Callable Reversible Awaitable Coroutine Set "
    "AsyncIterable AsyncIterator KeysView ValuesView ItemsView ByteString"
)
_ABC: Final = {
    **{name: ClassSpec() for name in _ABSTRACT.split()},
    "Mapping": ClassSpec(methods=_MAPPING),
    "MutableMapping": ClassSpec(methods={**_MAPPING, **_MUTABLE_MAPPING}),
    "Sequence": ClassSpec(methods=_SEQUENCE),
    "MutableSequence": ClassSpec(methods={**_SEQUENCE, "append": Spec(_appended), "extend": Spec(_appended)}),
    "MutableSet": ClassSpec(methods={"update": Spec(_added), "__ior__": Spec(_added)}),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    **{f"array.{name}": ClassSpec(bases=("builtins.array",), make=_array) for name in ("array", "ArrayType")},
    "collections.deque": ClassSpec(bases=("builtins.deque",), make=_deque),
    "collections.OrderedDict": ClassSpec(bases=("builtins.dict",), make=_dict),
    "collections.defaultdict": ClassSpec(bases=("builtins.dict",), make=_defaultdict),
    "collections.Counter": ClassSpec(bases=("builtins.dict",), make=_counter),
    "collections.ChainMap": ClassSpec(bases=("builtins.dict",), make=_chain_map),
    **{f"collections.{name}": spec for name, spec in _DATA_CLASSES.items()},
    **{f"collections.abc.{name}": spec for name, spec in _ABC.items()},
    **{f"collections.{name}": spec for name, spec in _ABC.items()},  # as Python 2 and old code spell them
    **{f"typing.{name}": spec for name, spec in _ABC.items() if name not in ("Callable", "Set")},
}
