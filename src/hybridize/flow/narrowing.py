"""What `isinstance` says about abstract objects."""

from __future__ import annotations

from hybridize.domain.objects import (
    BASES,
    NONE,
    Bound,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
    Wrapper,
    tup,
)
from hybridize.flow.frames import Frame
from hybridize.flow.parts import Parts
from hybridize.library import registry
from hybridize.library.annotations import ALIAS, alias_parts, is_union
from hybridize.library.types import MAYBE, NO, TYPE_NAMES, YES, is_instance


def narrowed(engine: Parts, frame: Frame, value: Value, kinds: Value, polarity: bool) -> Value:
    """The objects of a value that may (not) be instances of a type."""
    types = _flatten(kinds)
    if types is None:
        return value
    asked = 0 if polarity else 1
    return frozenset([obj for obj in value if _matches_any(engine, frame, obj, types)[asked]])


def _matches_any(engine: Parts, frame: Frame, obj: Obj, types: list[Obj]) -> tuple[bool, bool]:
    """(may be an instance of one of the types, may not be)."""
    if isinstance(obj, Inst):
        engine.cells.read(frame, obj.cls.absent(BASES))
    found = NO
    for kind in types:
        answer = _matches_one(obj, kind)
        if answer == YES:
            return YES
        if answer == MAYBE:
            found = MAYBE
    return found


def _flatten(kinds: Value) -> list[Obj] | None:
    """The types of a type, tuple of types, or union; None if some is not known."""
    out: list[Obj] = []
    if len(kinds) != 1:
        return None
    (obj,) = kinds
    if isinstance(obj, Tup):
        for item in obj.items:
            inner = _flatten(item)
            if inner is None:
                return None
            out += inner
        return out
    if isinstance(obj, (Class, Lib)):
        return [obj]
    if isinstance(obj, Wrapper) and obj.kind == ALIAS and is_union(obj):
        return _flatten(tup(alias_parts(obj)).value)
    return None


def _matches_one(obj: Obj, kind: Obj) -> tuple[bool, bool]:
    if isinstance(kind, Class):
        if isinstance(obj, Inst):
            if kind in obj.cls.mro:
                return YES
            return MAYBE if obj.cls.foreign else NO
        if isinstance(obj, (Lit, Prim, Tensor, Container, Stream, Func, Bound, LibInst, Tup)):
            return NO
        return MAYBE
    assert isinstance(kind, Lib)
    if obj is NONE:
        return YES if kind.name in ("types.NoneType", "builtins.object") else NO
    if isinstance(obj, Inst):
        if kind.name in registry.mro_names(obj):
            return YES
        return MAYBE if obj.cls.foreign or kind.name not in TYPE_NAMES else NO
    return is_instance(obj, kind.name)


def fits_shape(obj: Obj, wanted: tuple[str, int, bool]) -> tuple[bool, bool]:
    """(may match a sequence or mapping pattern, may not); `wanted`: kind, number of elements, may more follow."""
    kind, count, more = wanted
    if isinstance(obj, Container):
        is_mapping = obj.kind == "dict"
        if is_mapping != (kind == "mapping") or obj.kind in ("set", "frozenset", "generator", "iterator"):
            return NO
        return MAYBE
    if isinstance(obj, Tup):
        fits = kind == "sequence" and (len(obj.items) == count or (more and len(obj.items) >= count))
        return MAYBE if fits else NO
    if isinstance(obj, (Lit, Prim, Tensor, Func, Bound, Class)):
        return NO
    if isinstance(obj, Inst) and not obj.cls.foreign and not engine_knows_sequence(obj):
        return NO
    return MAYBE


def engine_knows_sequence(obj: Inst) -> bool:
    """Whether an object's class derives from a library class that may be a sequence or mapping."""
    return any(isinstance(base, Lib) and base.name != "builtins.object" for base in obj.cls.mro)
