"""Whether a value may be true, and whether it may be false: what prunes branches."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import (
    Bound,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Tup,
    Value,
    Wrapper,
)
from hybridize.flow.frames import Frame
from hybridize.flow.parts import Parts
from hybridize.library import registry

ALWAYS_TRUE: Final = (True, False)
ALWAYS_FALSE: Final = (False, True)
MAYBE: Final = (True, True)
NEVER: Final = (False, False)


def truth(engine: Parts, frame: Frame, value: Value) -> tuple[bool, bool]:
    """(may be true, may be false) over all objects of a value."""
    may = may_not = False
    for obj in value:
        yes, no = _truth(engine, frame, obj)
        may = may or yes
        may_not = may_not or no
        if may and may_not:
            break
    return may, may_not


def _truth(engine: Parts, frame: Frame, obj: Obj) -> tuple[bool, bool]:
    match obj:
        case Lit():
            return ALWAYS_TRUE if obj.const else ALWAYS_FALSE
        case Tup():
            return ALWAYS_TRUE if obj.items or obj.kind not in ("tuple", "TensorShape") else ALWAYS_FALSE
        case Func() | Class() | Mod() | Bound():
            return ALWAYS_TRUE
        case Lib():
            return MAYBE if obj.name.rpartition(".")[2].isupper() else ALWAYS_TRUE
        case Container():
            if obj.fields and obj.exact:
                # Filled only where it is made: else it was empty before the first write.
                made_full = any((obj.site[0], obj.site[1]) in cell.writes for cell in obj.fields.values())
                return ALWAYS_TRUE if made_full and engine.cells.is_exact(frame, obj) else MAYBE
            if not obj.fields and engine.cells.is_exact(frame, obj):
                return ALWAYS_FALSE
            return MAYBE
        case Inst():
            cls = obj.cls
            if (
                engine.attributes.class_lookup(frame, cls, "__bool__")
                or engine.attributes.class_lookup(frame, cls, "__len__")
                or cls.foreign
            ):
                return MAYBE
            return ALWAYS_TRUE
        case LibInst():
            return MAYBE if registry.method_spec(obj.cls, "__bool__") is not None else ALWAYS_TRUE
        case Wrapper():
            return ALWAYS_TRUE
    return MAYBE
