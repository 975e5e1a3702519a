"""What the models of Python packages share: result rules, tables from lists of names, decorators, changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    FLOAT_V,
    INT_V,
    NONE,
    NONE_V,
    STR_V,
    Bound,
    Class,
    Container,
    Func,
    Heap,
    Inst,
    Lib,
    LibInst,
    Lit,
    Prim,
    Tensor,
    Tup,
    Value,
    Wrapper,
    prim,
    stream,
    tensor,
    unknown,
    unknown_result,
    wrapper,
)
from hybridize.domain.tensors import NDARRAY
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, parametrized
from hybridize.library.spec import give as give
from hybridize.library.spec import nothing as nothing

BYTES_V: Final = prim("bytes").value
COMPLEX_V: Final = prim("complex").value
ARRAY_V: Final = tensor(NDARRAY).value
STRINGS_V: Final = stream("tuple", STR_V).value
#: A value that a user or a file chooses: some primitive, never a tensor.
SCALAR_V: Final = join(join(join(INT_V, FLOAT_V), join(STR_V, BOOL_V)), NONE_V)


text: Final = give(STR_V)
integer: Final = give(INT_V)
number: Final = give(FLOAT_V)
truth: Final = give(BOOL_V)
octets: Final = give(BYTES_V)
array: Final = give(ARRAY_V)


def opaque(call: Call) -> Value:
    """An object that the models do not describe. Calling what it gives is an unknown effect, as it must be."""
    return unknown_result(call.name).value


def itself(call: Call) -> Value:
    """The receiver: what fluent methods and `__enter__` give."""
    return call.receiver.value if call.receiver is not None else BOTTOM


def same(call: Call) -> Value:
    """The first argument."""
    return call.every() if not call.args else call.arg(0)


def listed(element: Value) -> Rule:
    """A rule that gives a fresh list of such elements."""
    return lambda call: call.list_of(element, "list", "result")


def iterator_of(call: Call, element: Value, tag: str = "iterator") -> Value:
    """A fresh one-shot iterator: it has a site, so that advancing one from outside can be told from a local one."""
    return call.list_of(element, "iterator", tag)


def iterates(element: Value) -> Rule:
    """A rule that gives a fresh one-shot iterator over such elements."""
    return lambda call: iterator_of(call, element)


@parametrized
def instance(call: Call, /, cls: str, **fields: Value) -> Value:
    """A rule that gives an instance of a library class."""
    made = call.made(cls)
    for name, value in fields.items():
        call.keep(made, name, value)
    return made.value


@parametrized
def kept(call: Call, name: str, default: Value = BOTTOM) -> Value:
    """A rule that reads what the receiver keeps under a name."""
    return recall(call, name) or default or unknown(f"`{name}` of {call.name}").value


def recall(call: Call, name: str) -> Value:
    """What the receiver keeps under a name."""
    if isinstance(call.receiver, Heap):
        return call.read(call.receiver.cell(name))
    return BOTTOM


def remember(call: Call, name: str, value: Value) -> None:
    """Keeps something in the receiver, be it a library's or a project's object."""
    if isinstance(call.receiver, Heap) and value:
        call.write(call.receiver.cell(name), value)


def constructor(*names: str) -> Spec:
    """An `__init__` that keeps its arguments by name: classes of the project may derive from the library's."""

    def rule(call: Call) -> Value:
        for i, name in enumerate(names):
            remember(call, name, call.arg(i, name))
        return NONE_V

    return Spec(rule)


# Tables --------------------------------------------------------------------------------------------------------------


def table(prefix: str, names: str, rule: Rule, *effects: str) -> dict[str, Spec]:
    """One model for many names: `prefix.name` for each word."""
    spec = Spec(rule, effects=effects)
    return {f"{prefix}.{name}" if prefix else name: spec for name in names.split()}


def methods(names: str, rule: Rule, *effects: str) -> dict[str, Spec]:
    """One model for many methods."""
    return table("", names, rule, *effects)


def classes(prefix: str, names: str, *bases: str, **options: object) -> dict[str, ClassSpec]:
    """One model for many classes."""
    spec = ClassSpec(bases=bases, **options)  # type: ignore[arg-type]
    return {f"{prefix}.{name}": spec for name in names.split()}


def properties(names: str, rule: Rule) -> dict[str, Rule]:
    """One rule for many properties."""
    return dict.fromkeys(names.split(), rule)


# Arguments that are functions ----------------------------------------------------------------------------------------


def functions_in(value: Value) -> Value:
    """The objects of a value that can be called."""
    return frozenset(o for o in value if isinstance(o, (Func, Bound, Wrapper, Class, Lib, LibInst, Inst)))


def decorator(call: Call) -> Value:
    """A decorator that leaves its function as it is, with or without arguments of its own."""
    found = functions_in(call.arg(0)) if call.args else BOTTOM
    if found and len(call.args) == 1:
        return found
    return pass_through()


def pass_through() -> Value:
    """A callable that gives back what it is called with."""
    return later("functools.wraps.__call__")


def decorator_factory(call: Call) -> Value:
    """`@name(...)`: always called before it decorates, whatever its arguments are."""
    return pass_through()


def later(name: str, options: Mapping[str, Value] | None = None) -> Value:
    """A callable that calls a library function, with these keyword arguments added."""
    return wrapper("decorator", BOTTOM, name, tuple((options or {}).items())).value


def call_back(call: Call, func: Value, /, *args: Value, **kwargs: Value) -> Value:
    """Calls a function if one is given; the arguments may not be known yet."""
    if not func or func is NONE_V:
        return BOTTOM
    return call.engine.calls.call_value(call.frame, call.pos, func, list(args), kwargs, How.CALLBACK)


def unpacked(call: Call, value: Value) -> list[Value]:
    """The items of an argument that holds positional arguments, by position where it is known."""
    if len(value) == 1:
        (obj,) = value
        if obj is NONE:
            return []
        if isinstance(obj, Tup):
            return list(obj.items)
        if isinstance(obj, Container) and obj.kind == "list" and call.is_exact(obj):
            return call.read_all(obj)
    element = call.elements(value)
    return [element] if element else []


def named_items(call: Call, value: Value) -> dict[str, Value]:
    """The items of an argument that holds keyword arguments."""
    found: dict[str, Value] = {}
    for obj in value:
        if isinstance(obj, Container) and obj.kind == "dict":
            for key, item in call.engine.cells.items(call.frame, obj):
                if isinstance(key, str):
                    found[key] = join(found.get(key, BOTTOM), item)
    return found


# Changes of arguments ------------------------------------------------------------------------------------------------


def change(call: Call, value: Value, added: Value = BOTTOM) -> None:
    """Notes that a call changes what an argument denotes, maybe by new elements."""
    for obj in value:
        if isinstance(obj, (Lit, Prim)):
            continue
        call.effect("mutate", call.name, obj)
        if isinstance(obj, Container):
            call.engine.cells.lose_exactness(obj)
            inside = join(added, call.values(obj) if obj.kind != "dict" else BOTTOM)
            call.write(obj.rest_cell(), inside)


@parametrized
def changes_first(call: Call, rule: Rule = nothing) -> Value:
    """A rule of a function that changes its first argument."""
    change(call, call.arg(0))
    return rule(call)


# Data that came from outside -----------------------------------------------------------------------------------------


def parsed(call: Call) -> Value:
    """Parsed JSON, YAML and the like: primitives, and nests of dicts and lists of them; never a tensor.

    One container, a dict that holds itself, stands for all of the nest: what is deep in a configuration needs no more.
    """
    nest = call.new("dict", "parsed")
    data = join(nest.value, join(STR_V, join(INT_V, FLOAT_V)))
    call.engine.cells.lose_exactness(nest)
    call.write(nest.rest_cell(), data)
    call.engine.heap.set_item_quietly(call.frame, nest, STR_V, data, call.pos)
    return data


def text_dict(call: Call, value: Value = STR_V) -> Value:
    """A fresh dict from strings that are not known."""
    made = call.new("dict", "result")
    call.engine.heap.set_item_quietly(call.frame, made, STR_V, value, call.pos)
    return made.value


def varying(call: Call) -> bool:
    """Whether some argument takes many values in a run: then so does the result."""
    return any(isinstance(o, Prim) and o.varies for o in call.every())


def note_eager_only(call: Call, value: Value) -> bool:
    """Notes tensors that a call turns into Python numbers, which fails in a graph; true if there are any."""
    found = [o for o in value if isinstance(o, Tensor) and o.kind != NDARRAY]
    for obj in found:
        call.effect("eager_only", f"{call.name}()", obj)
    return bool(found)
