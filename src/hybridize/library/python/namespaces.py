"""What is done to the attributes of an object by name: `object.__setattr__` and `obj.__dict__`."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    EVERY,
    INT_V,
    NONE_V,
    STR_V,
    Class,
    Container,
    Inst,
    Value,
    Wrapper,
    literal,
    tup,
    unknown,
)
from hybridize.domain.unknowns import Why
from hybridize.library.python.sequences import give
from hybridize.library.spec import Call, ClassSpec, Spec
from hybridize.program import ir
from hybridize.program.index import index_of

#: So many attributes of an object are told apart by `vars`.
_MOST_PARTS: Final = 32


def _made_by_type(call: Call) -> Value:
    """`type.__new__(metaclass, name, bases, namespace)`: the class that is being made; else an object of some class."""
    asked = [] if call.args or call.receiver is None else [call.receiver.value]  # `object.__new__(cls)`
    for value in (*call.args, *asked):
        for obj in value:
            made = (
                call.engine.notes.class_of_namespace(obj)
                if isinstance(obj, Container) and obj.kind == "dict"
                else BOTTOM
            )
            if made:
                return made
            if isinstance(obj, Class) and _is_plain(call, obj) and _is_kept(call):
                return call.engine.cells.made_instance(call.frame, call.pos, obj).value
    return unknown("an object made by `object.__new__`").value


def _is_plain(call: Call, cls: Class) -> bool:
    """Whether a class derives from no built-in type, whose instances are values."""
    return not any(b.startswith("builtins.") and b != "builtins.object" for b in cls.library)


def _is_kept(call: Call) -> bool:
    """Whether `__new__` puts the object away, as singletons do: who asks again may get the same one.

    Any other is told apart by where the class is called.
    """
    index = index_of(call.frame.code)
    made = {instr.target for instr in index.calls.get(call.pos, ())}
    return any(instr.value in made for instr in index.of(ir.SetAttr, ir.SetItem, ir.SetGlobal, ir.SetCell))


def _object_setattr(call: Call) -> Value:
    name = call.constant(0, "")
    if call.receiver is not None and isinstance(name, str):
        call.engine.attributes.set_attr(call.frame, call.receiver, name, call.arg(1), call.pos)
    return NONE_V


#: Methods of `obj.__dict__` that take attributes away, whatever they are called.
_EMPTIES: Final = frozenset({"clear", "popitem"})


def _namespace_changed(call: Call) -> Value:
    """A change of `obj.__dict__`: of attributes of the object."""
    assert isinstance(call.receiver, Wrapper)
    owner = call.receiver.extra[0]
    method = call.name.rpartition(".")[2]
    taken = call.constant(0, "", "a computed attribute") if method in ("pop", "__delitem__") else ""
    call.effect("attribute", str(taken) or ("__dict__" if method not in _EMPTIES else "a computed attribute"), owner)
    named = {k: v for k, v in call.kwargs.items() if k != "**"}
    for obj in call.arg(0) if call.name.endswith("update") else BOTTOM:
        if isinstance(obj, Container) and obj.kind == "dict":
            named |= {str(key): value for key, value in call.engine.cells.items(call.frame, obj)}
    for name, value in named.items():
        call.engine.attributes.set_field(call.frame, owner, name, value, call.pos)
    return unknown("an attribute of an object", Why.PART).value if "pop" in call.name else NONE_V


def _namespace_parts(call: Call) -> Value:
    """The attributes of an object, in the order in which they were first set."""
    owner = call.receiver.extra[0] if isinstance(call.receiver, Wrapper) else None
    part = call.name.rpartition(".")[2]
    if not isinstance(owner, Inst) or len(owner.fields) > _MOST_PARTS:
        return unknown("attributes of an object").value
    call.read(owner.absent(EVERY))
    names = [name for name in owner.fields if isinstance(name, str) and "$" not in name]
    values = {name: call.read(owner.fields[name]) for name in names}
    pairs = [(literal(name).value, value) for name, value in values.items() if value]
    if part == "items":
        return tup([tup(pair).value for pair in pairs]).value
    return tup([pair[0 if part == "keys" else 1] for pair in pairs]).value


def _namespace_copied(call: Call) -> Value:
    """A copy of a namespace: a dict of one's own."""
    made = call.new("dict", "copy")
    inside = unknown("an attribute of an object", Why.PART).value
    call.engine.heap.set_item_quietly(call.frame, made, STR_V, inside, call.pos)
    return made.value


_NOTHING: Final = give(NONE_V)
#: Methods of all objects, and those of `vars(obj)`.
OBJECT: Final[dict[str, Spec]] = {
    "__init__": Spec(_NOTHING),
    "__setattr__": Spec(_object_setattr),
    "__delattr__": Spec(_NOTHING, effects=("mutate",)),
    "__init_subclass__": Spec(_NOTHING),
    "__enter__": Spec(lambda call: call.receiver.value if call.receiver else BOTTOM),
    "__exit__": Spec(_NOTHING),
    "__repr__": Spec(give(STR_V)),
    "__str__": Spec(give(STR_V)),
    "__eq__": Spec(give(BOOL_V)),
    "__hash__": Spec(give(INT_V)),
    "__new__": Spec(_made_by_type),
    "__getattribute__": Spec(
        lambda call: call.engine.attributes.plain_attrs(
            call.frame, call.receiver.value if call.receiver else BOTTOM, str(call.constant(0, "", "")), call.pos
        )
    ),
    "__subclasses__": Spec(lambda call: unknown("subclasses").value),
}
NAMESPACE: Final = ClassSpec(
    methods={
        **{name: Spec(_namespace_changed) for name in ("update", "pop", "popitem", "clear", "setdefault")},
        **{name: Spec(_namespace_changed) for name in ("__setitem__", "__delitem__")},
        **{name: Spec(_namespace_parts) for name in ("items", "keys", "values")},
        **{name: Spec(give(unknown("an attribute of an object", Why.PART).value)) for name in ("get", "__getitem__")},
        "copy": Spec(_namespace_copied),
    }
)
