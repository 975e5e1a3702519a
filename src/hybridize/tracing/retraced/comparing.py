"""How the objects of a class compare, hash and are referred to: what `tf.function` looks traces up by."""

from __future__ import annotations

import ast
from typing import Final

from hybridize.domain.objects import Class, Func, Lib, Lit, Obj
from hybridize.facts.model import Evidence
from hybridize.facts.state.guards import parts
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.tracing.denoted import denoted

#: Classes of libraries that compare by value, or hash nothing.
UNHASHABLE_CLASSES: Final = frozenset(
    "types.SimpleNamespace argparse.Namespace argparse.Namespace.defaults collections.UserList".split()
)
#: Bases whose instances compare by value and have no hash (but for what a class in between defines).
_UNHASHABLE_BASES: Final = (
    frozenset(f"builtins.{name}" for name in "list dict set bytearray".split())
    | frozenset(
        f"{root}.{name}"
        for root in ("collections", "collections.abc", "typing")
        for name in "OrderedDict defaultdict Counter deque UserDict UserList ChainMap Mapping MutableMapping Set "
        "MutableSet ItemsView KeysView Dict List DefaultDict Deque AbstractSet TypedDict".split()
    )
    | frozenset(
        f"{root}.spaces.{name}"
        for root in ("gym", "gymnasium")
        for name in "Box Dict Discrete MultiBinary MultiDiscrete Tuple Graph Sequence Text".split()
    )
    | frozenset("array.array np.ndarray np.matrix np.ma.MaskedArray np.recarray pandas.DataFrame pandas.Series".split())
    | frozenset({"pydantic.BaseModel", "pydantic.main.BaseModel"})
    | UNHASHABLE_CLASSES
)
#: Those of them that arrive as arguments in parts, whatever their hash.
TAKEN_APART: Final = frozenset({"builtins.list", "builtins.dict"})
#: Classes of objects of variable size: neither they nor what derives from them takes a weak reference.
_SIZED: Final = frozenset(
    "typing.NamedTuple builtins.tuple builtins.int builtins.bytes enum.IntEnum enum.IntFlag".split()
)
#: Decorators that give a class an equality of its own, with what they choose where nothing is said.
_ATTRS: Final = {"weakref_slot": True}
_DEFINED: Final = {**_ATTRS, "slots": True}
_FROZEN: Final = {**_DEFINED, "frozen": True}
_VALUE_CLASSES: Final[dict[str, dict[str, bool]]] = {
    "dataclasses.dataclass": {},
    "flax.struct.dataclass": {"frozen": True},
    "attr.s": _ATTRS,
    "attr.attrs": _ATTRS,
    "attr.dataclass": _ATTRS,
    "attr.define": _DEFINED,
    "attr.mutable": _DEFINED,
    "attr.frozen": _FROZEN,
    "attrs.define": _DEFINED,
    "attrs.mutable": _DEFINED,
    "attrs.frozen": _FROZEN,
}
#: Their options under other names.
_SPELLED: Final = {"cmp": "eq", "hash": "unsafe_hash"}
#: What a field of `attrs` may have so that a placeholder, or a value by its place, is no value for it.
_REFUSED_FIELDS: Final = frozenset({"kw_only", "init", "converter", "convert", "validator"})
#: What looks at all the fields of an object at once.
_WHOLE: Final = frozenset({"__dict__", "__slots__"})
_WHOLE_CALLS: Final = frozenset({"vars", "asdict", "astuple"})


def unhashable(cls: Class) -> Evidence | None:
    """Why instances of a class cannot be hashed: it compares by value and says nothing of hashing."""
    for base in cls.mro:
        if isinstance(base, Lib):
            if base.name in _UNHASHABLE_BASES:
                said = f"derives from `{base.name.removeprefix('builtins.')}`"
                return Evidence(said, cls.code.path, cls.code.line)
            continue
        if not isinstance(base, Class):
            return None
        hashing = base.fields.get("__hash__")
        if hashing is not None and hashing.value:
            if not all(isinstance(o, Lit) and o.const is None for o in hashing.value):
                return None
            return Evidence("has no hash", base.code.path, base.code.line)
        options = dataclass_options(base)
        by_value = options is not None and options.get("eq", True)
        if options is not None and by_value and (options.get("frozen") or options.get("unsafe_hash")):
            return None
        equals = base.fields.get("__eq__")
        if equals is not None and equals.value:
            line = next((o.code.line for o in equals.value if isinstance(o, Func)), base.code.line)
            return Evidence("defines `__eq__` and no `__hash__`", base.code.path, line)
        if by_value:
            return Evidence("is a data class that compares by value and has no hash", base.code.path, base.code.line)
    return None


def compared(cls: Class) -> tuple[set[str], Evidence] | None:
    """The fields that a class's own `__eq__` and `__hash__` look at, and where; None where it compares by identity,
    by all that it holds, or cannot be hashed."""
    for base in cls.mro:
        if not isinstance(base, Class):
            return None
        equals, hashing = base.fields.get("__eq__"), base.fields.get("__hash__")
        if equals is None or not equals.value:
            options = dataclass_options(base)
            if options is None or not options.get("eq", True):
                continue
            if not (options.get("frozen") or options.get("unsafe_hash")):
                return None
            where = Evidence("equality is that of a data class", base.code.path, base.code.line)
            return _compared_fields(base), where
        if hashing is None or not all(isinstance(o, Func) for o in (*hashing.value, *equals.value)):
            return None
        fields: set[str] = set()
        line = base.code.line
        for func in equals.value:
            if isinstance(func, Func):
                line = func.code.line
                index = index_of(func.code)
                fields |= {i.name for i in index.flat if isinstance(i, ir.Attr)}
                if any(isinstance(i, ir.Compare) and i.operator in ("is", "is not") for i in index.flat):
                    return None
                if _WHOLE & fields or any(name in index.names for name in _WHOLE_CALLS):
                    return None
        return fields, Evidence("equality is decided here", base.code.path, line)
    return None


def _compared_fields(cls: Class) -> set[str]:
    """The fields by which a data class compares: those without `field(compare=False)`, its own and inherited ones."""
    found: set[str] = set()
    for base in cls.mro:
        if isinstance(base, Class) and dataclass_options(base) is not None:
            index = index_of(base.code)
            stores = {i.name: index.source(i.value) for i in index.of(ir.SetName)}
            left_out = {name for name, made in stores.items() if made is not None and _is_left_out(base, made)}
            found |= {name for name in base.code.fields if name not in left_out}
    return found


def _is_left_out(cls: Class, made: Instr) -> bool:
    """Whether a field is made with `compare=False`."""
    given = dict(made.keywords) if isinstance(made, ir.Call) else {}
    slot = given.get("compare", given.get("eq"))
    value = cls.code.template[slot] or () if slot is not None else ()
    return any(isinstance(o, Lit) and o.const is False for o in value)


def dataclass_options(cls: Class) -> dict[str, bool] | None:
    """What the decorator of a data class (or a class of `attrs`) chooses; None for any other class."""
    for node in cls.code.decorators:
        name = node.func if isinstance(node, ast.Call) else node
        last = getattr(name, "attr", getattr(name, "id", ""))
        found = [_VALUE_CLASSES[known] for known in denoted(cls.module, name) if known in _VALUE_CLASSES]
        if found or last == "dataclass":
            given = node.keywords if isinstance(node, ast.Call) else []
            chosen = {_SPELLED.get(k.arg or "", k.arg or ""): _is_true(k.value) for k in given}
            return {**(found[0] if found else {}), **chosen}
    return None


def not_remade(cls: Class) -> Evidence | None:
    """Why TensorFlow cannot make an instance of `attrs` again: it passes its fields, or placeholders, by place."""
    for base in cls.mro:
        if not isinstance(base, Class):
            continue
        options = dataclass_options(base) or {}
        index = index_of(base.code)
        made = {i.name: index.source(i.value) for i in index.of(ir.SetName)}
        given = {name: dict(call.keywords) for name, call in made.items() if isinstance(call, ir.Call)}
        refused = [name for name, options in given.items() if not _REFUSED_FIELDS.isdisjoint(options)]
        own = "__attrs_post_init__" in base.fields or ("__init__" in base.fields and not _passes_on(base))
        if options.get("kw_only") or refused or own:
            said = "TensorFlow makes again of its fields by place, without their names, checks or conversions"
            return Evidence(said, base.code.path, base.code.line)
    return None


def _passes_on(cls: Class) -> bool:
    """Whether a constructor of its own only stores each parameter in the field of its name and place."""
    body = index_of(cls.code)
    made = [i.name for i in body.of(ir.SetName) if isinstance(body.source(i.value), ir.Call)]
    fields = made or list(cls.code.fields)
    for func in cls.fields["__init__"].value:
        params = func.code.params[1:] if isinstance(func, Func) else ()
        if not isinstance(func, Func) or [p.name for p in params] != fields or any(p.is_starred for p in params):
            return False
        index = index_of(func.code)
        stored = {i.name: index.original(i.value) for i in index.of(ir.SetAttr)}
        if stored != {p.name: p.slot for p in params} or index.of(ir.Call, ir.If, ir.Assert):
            return False
    return True


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def unreferable(cls: Class, *, is_named_tuple: bool) -> Evidence | None:
    """Why instances of a class cannot be referred to weakly, as the cache of a hybrid method does."""
    if is_named_tuple or any(isinstance(b, Lib) and b.name in _SIZED for b in cls.mro):
        return Evidence("is a tuple, an integer or bytes, which take no weak reference", cls.code.path, cls.code.line)
    line = 0
    for base in cls.mro:
        if isinstance(base, Lib):
            if base.name not in ("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"):
                return None
            continue
        if not isinstance(base, Class) or base.foreign:
            return None
        if "__slots__" not in base.fields:
            options = dataclass_options(base) or {}
            if not options.get("slots") or options.get("weakref_slot"):
                return None
            line = line or base.code.line
            continue
        if any(_names_weakref(o) for o in base.fields["__slots__"].value):
            return None
        line = line or next((pos >> 16 for _, pos in base.fields["__slots__"].writes), base.code.line)
    return Evidence("has `__slots__` without `__weakref__`", cls.code.path, line) if line else None


def _names_weakref(obj: Obj) -> bool:
    if isinstance(obj, Lit):
        return bool(obj.const == "__weakref__")
    return any(_names_weakref(o) for item in parts(obj) for o in item)
