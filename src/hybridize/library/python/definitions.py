"""What defines and describes code: dataclasses, attrs, enum, abc, typing, types, copy, contextlib, inspect, weakref."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import holders, join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    EVERY,
    INT_V,
    NONE_V,
    STR_V,
    Class,
    Container,
    Heap,
    Inst,
    LibInst,
    Lit,
    Obj,
    Tup,
    Unknown,
    Value,
    bound,
    tup,
    unknown,
    unknown_result,
    wrapper,
)
from hybridize.library import registry
from hybridize.library.annotations import bounded
from hybridize.library.python.rules import (
    call_back,
    constructor,
    instance,
    itself,
    kept,
    later,
    pass_through,
    recall,
    table,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized
from hybridize.library.stubs import read

#: Packages whose data classes TensorFlow takes apart and makes again, as it does tuples.
_ATTRS: Final = ("attr.", "attrs.")

# Data classes --------------------------------------------------------------------------------------------------------


def _dataclass(call: Call) -> Value:
    """`@dataclass`, plain or with arguments: marks the class and gives it back."""
    if not call.args:
        return later(call.name)
    for obj in call.arg(0):
        if isinstance(obj, Class):
            call.engine.definitions.mark_dataclass(obj, call.name.startswith(_ATTRS))
    return call.arg(0)


def _names(call: Call, obj: Heap) -> list[str]:
    call.read(obj.absent(EVERY))
    return [name for name in obj.fields if isinstance(name, str)]


def _replace(call: Call) -> Value:
    """A new instance, made from the old one's fields and what is given anew."""
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Inst):
            old = {name: call.read(obj.cell(name)) for name in _names(call, obj)}
            named = {**{name: value for name, value in old.items() if value}, **call.kwargs}
            result = join(
                result, call.engine.calls.call_value(call.frame, call.pos, obj.cls.value, [], named, How.CONSTRUCTION)
            )
        elif isinstance(obj, Tup):
            items = [call.kwargs.get(n, i) for n, i in zip(obj.names or (), obj.items, strict=False)]
            result = join(result, tup(items or obj.items, obj.kind, obj.names).value)
        else:
            result = join(result, unknown("a copy by `replace`").value)
    return result


def _as_dict(call: Call) -> Value:
    made = call.new("dict", "fields")
    for obj in call.arg(0):
        if not isinstance(obj, Inst):
            call.engine.cells.lose_exactness(made)
            call.write(made.rest_cell(), unknown("a field of a data class").value)
            continue
        for name in _names(call, obj):
            value = call.read(obj.cell(name))
            call.write(made.cell(name), value)
    return made.value


def _as_tuple(call: Call) -> Value:
    result = BOTTOM
    for obj in call.arg(0):
        if isinstance(obj, Inst):
            items = [call.read(obj.cell(name)) for name in _names(call, obj)]
            result = join(result, tup(items).value)
        else:
            result = join(result, unknown("the fields of a data class").value)
    return result


def _attr_field(call: Call) -> Value:
    """`attr.ib(default, factory=f)`: the fields of attrs are those of data classes under other names."""
    made = call.made("dataclasses.field")
    default = call.arg(0, "default")
    for obj in default:
        if isinstance(obj, LibInst) and obj.cls == "attr.Factory":
            call.keep(made, "default_factory", call.read(obj.cell("factory")))
        else:
            call.keep(made, "default", obj.value)
    call.keep(made, "default_factory", call.kwargs.get("factory", BOTTOM))
    return made.value


# Copies --------------------------------------------------------------------------------------------------------------


class _Copier:
    """Copies values for one call: fresh containers, one for each kind and depth; each original is copied once."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.made: dict[tuple[Obj, int], Value] = {}  # the copies of containers and instances
        self.known: dict[int, dict[Value, Value]] = defaultdict(dict)  # by depth

    def copies(self, value: Value, depth: int) -> Value:
        """The copies of every object of a value."""
        if not depth:
            return value
        known = self.known[depth]
        found = known.get(value)
        if found is None:
            if holders(value):
                made = self.made
                found = join_all([made.get((obj, depth)) or self.copied(obj, depth) for obj in value])
            else:
                found = value
            known[value] = found
        return found

    def copied(self, obj: Obj, depth: int) -> Value:
        """A copy, down to `depth`; values that cannot change are their own copies."""
        if isinstance(obj, Container) and depth > 0:
            made = self.call.new(obj.kind, f"copy {depth}")
            self.made[obj, depth] = made.value
            if obj is not made:
                self._fill(obj, made, depth)
            return made.value
        if isinstance(obj, Inst) and depth > 0 and self._has_twin(obj):
            twin = self.call.engine.cells.made_instance(self.call.frame, self.call.pos, obj.cls, f"copy {depth}")
            self.made[obj, depth] = twin.value
            if obj is not twin:
                self._fill_instance(obj, twin, depth)
            return twin.value
        if isinstance(obj, LibInst) and depth > 0 and obj.cls == "types.SimpleNamespace":
            namesake = self.call.made(obj.cls)
            self.made[obj, depth] = namesake.value
            if obj is not namesake:
                self.call.read(obj.absent(EVERY))
                self._fill_fields(obj, namesake, depth)
            return namesake.value
        if isinstance(obj, Tup) and depth > 0:
            return tup([self.copies(item, depth - 1) for item in obj.items], obj.kind, obj.names).value
        if isinstance(obj, Unknown):
            return unknown_result("copy.copy").value  # what is written into it stays with the copy
        return obj.value

    def _has_twin(self, obj: Inst) -> bool:
        """Whether copies of an object are told apart from it: not where a library's class keeps what it holds."""
        names = registry.mro_names(obj)
        return not obj.cls.foreign and all(n.startswith(("builtins.", "collections.", "abc.")) for n in names)

    def _fill_instance(self, obj: Inst, made: Inst, depth: int) -> None:
        engine, frame, pos = self.call.engine, self.call.frame, self.call.pos
        engine.cells.read(frame, obj.absent(EVERY))
        self._fill_fields(obj, made, depth)
        if obj.rest is not None:
            engine.cells.write(frame, made.rest_cell(), self.copies(engine.cells.read(frame, obj.rest), depth - 1), pos)
        behind, twin = engine.cells.container_behind(obj), engine.cells.container_behind(made)
        if behind is not None and twin is not None:
            self._fill(behind, twin, depth)

    def _fill_fields(self, obj: Heap, made: Heap, depth: int) -> None:
        engine, frame, pos = self.call.engine, self.call.frame, self.call.pos
        step, place = frame.step, (frame.code, pos)
        for key, cell in list(obj.fields.items()):
            cell.readers[step] = step.runs
            value = cell.value
            if depth > 1 and holders(value):
                value = self.copies(value, depth - 1)
            target = made.cell(key)
            if value is target.value:  # as it is where the call is only repeated
                target.writes[place] = None
            else:
                engine.cells.write(frame, target, value, pos)

    def _fill(self, obj: Container, made: Container, depth: int) -> None:
        engine, frame, pos = self.call.engine, self.call.frame, self.call.pos
        self._fill_fields(obj, made, depth)
        if not engine.cells.is_exact(frame, obj):
            engine.cells.lose_exactness(made)
            rest = self.copies(engine.cells.read(frame, obj.rest_cell()), depth - 1)
            engine.cells.write(frame, made.rest_cell(), rest, pos)
            if obj.kind == "dict":
                keys = frozenset(k for k in engine.heap.keys_of(frame, obj) if not isinstance(k, Lit))
                engine.heap.set_item_quietly(frame, made, keys, rest, pos)


@parametrized
def _copy(call: Call, depth: int, hook: str) -> Value:
    result = BOTTOM
    copier = _Copier(call)
    for obj in call.arg(0):
        own = call.method(obj, hook, *([call.new("dict", "memo").value] if depth > 1 else []))
        result = join(result, own or copier.made.get((obj, depth)) or copier.copied(obj, depth))
    return result


# Context managers ----------------------------------------------------------------------------------------------------


def _enter(call: Call, value: Value) -> Value:
    """What entering a context manager binds."""
    return call.engine.protocols.enter_context(call.frame, value, call.pos)


def _scoped(call: Call) -> Value:
    """A context manager that decorates: each call of the function is inside of it."""
    return wrapper("scoped", call.arg(0), itself(call), call.frame, call.pos).value


def _callback(call: Call) -> Value:
    call_back(call, call.arg(0), *call.args[1:], **call.kwargs)
    return call.arg(0)


def _closed(call: Call) -> Value:
    """`with closing(x)`: closes `x` at the end."""
    thing = recall(call, "thing")
    for obj in thing:
        call.method(obj, "close")
    return thing


# Types ---------------------------------------------------------------------------------------------------------------


def _bound_method(call: Call) -> Value:
    result = BOTTOM
    for func in call.arg(0):
        for receiver in call.arg(1):
            result = join(result, bound(func, receiver).value)
    return result


def _namespace(call: Call) -> Value:
    made = call.made("types.SimpleNamespace")
    for name, value in call.kwargs.items():
        call.keep(made, name, value)
    return made.value


def _module(call: Call) -> Value:
    """`types.ModuleType(name, doc)`: an object for attributes."""
    made = call.made("types.ModuleType")
    call.keep(made, "__name__", call.arg(0, "name"))
    call.keep(made, "__doc__", call.arg(1, "doc") or NONE_V)
    return made.value


def _type_variable(call: Call) -> Value:
    """A `TypeVar`: what is annotated with it is of its bound, or of one of its constraints."""
    made = instance("typing.TypeVar")(call)
    types = [*call.args[1:], *(value for name, value in call.kwargs.items() if name == "bound")]
    return bounded(made, types, call.frame.module)


def _reference(call: Call) -> Value:
    return recall(call, "object") or NONE_V


def _doc(call: Call) -> Value:
    return join(STR_V, NONE_V)


def _parameters(call: Call) -> Value:
    made = call.new("dict", "parameters")
    call.engine.cells.lose_exactness(made)
    call.write(made.rest_cell(), instance("inspect.Parameter")(call))
    return made.value


_RULES: Final[dict[str, Rule]] = {
    "_enter_context": lambda call: _enter(call, call.arg(0)),
    "_enum_value_or_text": kept("value", join(INT_V, STR_V)),
    "_enum_value": kept("value", INT_V),
    "_factory": lambda call: instance("attr.Factory", factory=call.arg(0, "factory"))(call),
    "_entered": kept("enter_result", NONE_V),
    "_new_target": kept("new_target"),
    "_cast": lambda call: call.arg(1, "val"),
    "_new_type": lambda call: bounded(pass_through(), [call.arg(1, "tp")], call.frame.module),
}

_FUNCTIONS, _CLASSES = read("definitions", globals() | _RULES)
FUNCTIONS: Final[dict[str, Spec]] = {
    **_FUNCTIONS,
    "abc.abstractproperty": Spec(lambda call: wrapper("property", call.arg(0), BOTTOM).value),
    "copy.copy": Spec(_copy(1, "__copy__")),
    "copy.deepcopy": Spec(_copy(4, "__deepcopy__")),
    "types.DynamicClassAttribute": Spec(lambda call: wrapper("property", call.arg(0), BOTTOM).value),
    **table("weakref", "WeakValueDictionary WeakKeyDictionary", lambda call: call.new("dict", "weak").value),
    "weakref.WeakSet": Spec(lambda call: call.list_of(call.elements(call.arg(0)), "set", "weak")),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    **_CLASSES,
    "contextlib.nullcontext": ClassSpec(
        methods={"__enter__": Spec(_RULES["_entered"]), "__init__": constructor("enter_result")},
        parameters=("enter_result",),
    ),
}
