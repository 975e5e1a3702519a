"""Members of enumerations and of named tuples: what reading, indexing and iterating over an `enum.Enum` class gives.

A class without methods of its own has its members' values for members: they are compared and passed on exactly. Where a
class defines methods, a member is an object, one for each name, that keeps its value.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    EVERY,
    Bound,
    Class,
    Func,
    Inst,
    Lib,
    Lit,
    Obj,
    Tup,
    Value,
    Wrapper,
    literal,
)
from hybridize.domain.session import cached
from hybridize.domain.words import METHOD_DECORATORS
from hybridize.flow.frames import SHARED, Frame
from hybridize.flow.parts import Parts
from hybridize.library.contracts.fields import may_have
from hybridize.program import ir
from hybridize.program.code import Code
from hybridize.program.index import index_of

_BASES: Final = frozenset(f"enum.{name}" for name in ("Enum", "IntEnum", "Flag", "IntFlag", "StrEnum"))


def is_enumeration(cls: Class) -> bool:
    """Whether a class of the project derives from one of `enum`."""
    return any(isinstance(base, Lib) and base.name in _BASES for base in cls.mro)


def member_of(engine: Parts, frame: Frame, cls: Class, name: str, value: Value, pos: int) -> Value:
    """What `C.NAME` is, given what the class body assigns to the name."""
    if not is_enumeration(cls) or not _is_member(name, value):
        return value
    if not _has_methods(cls):
        engine.world.members |= value
        return value
    key = ("member", cls, name)
    made = engine.world.allocated.get(key)
    if not isinstance(made, Inst):
        made = engine.world.allocated[key] = Inst(cls, (frame.code, pos), SHARED)
        engine.cells.note_instance(cls, made)
    for field in ("value", "_value_"):
        engine.cells.write(frame, made.cell(field), value, pos)
    engine.cells.write(frame, made.cell("name"), literal(name).value, pos)
    return made.value


def members_of(engine: Parts, frame: Frame, cls: Class, pos: int) -> Value:
    """What iterating over the class gives; nothing for one that is no enumeration."""
    result = BOTTOM
    for name in _names(engine, frame, cls):
        result = join(result, item_of(engine, frame, cls, name, pos))
    return result


def item_of(engine: Parts, frame: Frame, cls: Class, name: str, pos: int) -> Value:
    """What `C["NAME"]` is; nothing where the class has no such member."""
    value = engine.attributes.class_lookup(frame, cls, name)
    return member_of(engine, frame, cls, name, value, pos) if _is_member(name, value) else BOTTOM


def by_value(engine: Parts, frame: Frame, cls: Class, given: Value, pos: int) -> Value:
    """What `C(value)` is, if the value is one constant and a member has it."""
    (asked,) = given if len(given) == 1 else (None,)
    result = BOTTOM
    for name in _names(engine, frame, cls) if isinstance(asked, Lit) else ():
        value = engine.attributes.class_lookup(frame, cls, name)
        if value == frozenset([asked]) and _is_member(name, value):
            result = join(result, member_of(engine, frame, cls, name, value, pos))
    return result


def tuple_member(engine: Parts, frame: Frame, obj: Tup, name: str, pos: int) -> Value:
    """A method or property that a class of named tuples of the project adds to its fields."""
    result = BOTTOM
    for cls, names in engine.world.tuple_fields.items():
        for item in engine.attributes.class_lookup(frame, cls, name) if names == obj.names else ():
            result = join(result, engine.attributes.bind(frame, item, obj, pos))
    return result


def named(index: Value) -> list[str] | None:
    """The names that an index stands for, None where it is not known."""
    names = [key.const for key in index if isinstance(key, Lit) and isinstance(key.const, str)]
    return names if names and len(names) == len(index) else None


def _names(engine: Parts, frame: Frame, cls: Class) -> list[str]:
    for base in cls.line:
        engine.cells.read(frame, base.absent(EVERY))
    return [name for base in reversed(cls.line) for name in list(base.fields)]


def _is_member(name: str, value: Value) -> bool:
    return bool(value) and not name.startswith("_") and not any(_is_method(obj) for obj in value)


def _is_method(obj: Obj) -> bool:
    return isinstance(obj, (Func, Bound)) or (isinstance(obj, Wrapper) and obj.kind in METHOD_DECORATORS)


def _has_methods(cls: Class) -> bool:
    return any(
        _is_method(obj)
        for base in cls.line
        for name, cell in list(base.fields.items())
        if not name.startswith("__") or name == "__call__"
        for obj in cell.value or ()
    )


def is_own_field(cls: Class, name: str) -> bool:
    """Whether only methods of the project give instances a field, so that those for which none did have none."""
    bases = (base for base in cls.mro if isinstance(base, Lib) and base.name != "builtins.object")
    return any(name in fields_made(base.code) for base in cls.line) and not any(may_have(b.name, name) for b in bases)


@cached
def fields_made(code: Code) -> frozenset[str]:
    """The fields that the methods of a class set of their first parameter, in any branch."""
    methods = [instr.code for instr in index_of(code).of(ir.Func) if instr.code.params]
    stores = ((method.params[0].slot, i) for method in methods for i in index_of(method).of(ir.SetAttr))
    return frozenset(str(i.name) for own, i in stores if i.owner == own)


@cached
def fields_set(code: Code) -> frozenset[str]:
    """The attributes of its first parameter that a function sets on every path, before anything else can end it."""
    own = code.params[0].slot if code.params else -1
    return frozenset(i.name for i in code.body if isinstance(i, ir.SetAttr) and i.owner == own)
