"""Changes of state that come out the same whether they happen once per trace or at every call."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Cell, Class, Container, Inst, Lit, Value
from hybridize.domain.words import BUILDERS
from hybridize.facts.state.guards import (
    CONSTANT,
    SET_UP,
    holds_plain_tensor,
    is_flagged,
    may_hold_tensor,
    set_up_once,
    stored,
)
from hybridize.facts.state.lifted import lifted
from hybridize.facts.state.restored import RESTORED
from hybridize.flow.frames import Effect, Frame
from hybridize.program import ir
from hybridize.program.index import index_of

_NO_VALUE: Final[Value] = frozenset()
#: Methods that take away: they run again whenever there is something to take.
_TAKES: Final = frozenset({"pop", "popleft", "popitem", "remove", "clear", "discard", "popright"})
#: Effects on the outside world.
_OUTSIDE: Final = frozenset({"print", "io", "random", "clock", "state"})
#: What a change of all the fields of an object is told as: to read it is part of the change.
_NAMESPACE: Final = "__dict__"


def repeatable(frame: Frame, effect: Effect) -> str:
    """Why a change of state comes out the same when it happens once per trace and not once per call; empty if not."""
    if effect.kind in _OUTSIDE:
        return SET_UP if is_flagged(frame, effect.position) else ""
    if effect.kind not in ("attribute", "global", "closure", "item", "mutate"):
        return ""
    if _finds_there(frame, effect):
        return RESTORED
    if effect.detail.rpartition(".")[2] in _TAKES:
        return ""
    slots = stored(frame, effect.position)
    cell = _cell_of(frame, effect)
    if effect.kind == "attribute" and cell is not None and effect.detail != _NAMESPACE:  # cached properties keep theirs
        kept = cached_read(frame, effect)
        if kept is not None:
            return "" if holds_plain_tensor(cell.value) or holds_plain_tensor(kept) else SET_UP
    tensors = any(may_hold_tensor(frame.vals[slot] or _NO_VALUE) for slot in slots)
    if tensors and not (set_up_once(frame, effect.position) and lifted(frame, effect.position, slots)):
        return ""
    if set_up_once(frame, effect.position) or _fills_gap(frame, effect):
        return SET_UP
    return CONSTANT if _same_constant(frame, effect, slots) else ""


def _finds_there(frame: Frame, effect: Effect) -> bool:
    """Whether a `defaultdict` is asked for keys that it has: nothing is made."""
    if effect.kind != "item" or not isinstance(effect.target, Container):
        return False
    found = index_of(frame.code).at(effect.position)
    if any(isinstance(i, (ir.SetItem, ir.DelItem, ir.Call)) for i in found):
        return False
    reads = [i for i in found if isinstance(i, ir.Item) and effect.target in (frame.vals[i.source] or _NO_VALUE)]
    keys = {o.const if isinstance(o, Lit) else None for i in reads for o in frame.vals[i.index] or ()}
    return bool(keys) and keys <= effect.target.fields.keys()


def _fills_gap(frame: Frame, effect: Effect) -> bool:
    """Whether a change puts something under a key that is the same in every call, if nothing is there."""
    keys: list[int] = []
    if effect.kind == "mutate" and effect.detail.endswith("setdefault"):
        keys = [
            i.arguments[0][0]
            for i in index_of(frame.code).at(effect.position)
            if isinstance(i, ir.Call) and i.arguments
        ]
    elif effect.kind == "item":  # a `defaultdict` makes what is looked for
        found = index_of(frame.code).at(effect.position)
        if not any(isinstance(i, (ir.SetItem, ir.DelItem, ir.Call)) for i in found):
            keys = [
                i.index
                for i in found
                if isinstance(i, ir.Item) and effect.target in (frame.vals[i.source] or _NO_VALUE)
            ]
    return bool(keys) and all(isinstance(o, Lit) for slot in keys for o in frame.vals[slot] or (None,))


def cached_read(frame: Frame, effect: Effect) -> Value | None:
    """What code gets that only reads the attribute that it is said to write; None where it does write it."""
    found = [i for i in index_of(frame.code).at(effect.position) if isinstance(i, (ir.Attr, ir.SetAttr))]
    if any(isinstance(i, ir.SetAttr) for i in found):
        return None
    reads = [i for i in found if i.name == effect.detail]
    return (frame.vals[reads[0].target] or _NO_VALUE) if reads else None


def _same_constant(frame: Frame, effect: Effect, slots: list[int]) -> bool:
    """Whether every write after construction puts the same constant there, and nobody looks in between."""
    cell = _cell_of(frame, effect)
    if cell is None or len(slots) != 1:
        return False
    value = frame.vals[slots[0]] or _NO_VALUE
    if len(value) != 1 or not all(isinstance(o, Lit) for o in value):
        return False
    if cell.value == value and not _hides_default(effect, value):
        return True
    places = [(code, pos) for code, pos in cell.writes if (code, pos) != (frame.code, effect.position)]
    if len(places) > 1 or any(not c.is_body and c.name not in BUILDERS for c, _ in places):
        return False
    return all(reader.frame.code.is_module for reader in cell.readers)


def _hides_default(effect: Effect, value: Value) -> bool:
    """Whether a field takes the place of another value that the class gives, which is what is read before."""
    if not isinstance(effect.target, Inst):
        return False
    shared = [base.fields.get(effect.detail) for base in effect.target.cls.mro if isinstance(base, Class)]
    return any(cell is not None and cell.value and cell.value != value for cell in shared)


def _cell_of(frame: Frame, effect: Effect) -> Cell | None:
    if effect.kind == "item" and isinstance(effect.target, Container):
        return _entry(frame, effect)
    if effect.kind == "global":
        return frame.module.fields.get(effect.detail)
    if effect.kind == "closure":
        return effect.cell
    if effect.kind == "attribute" and isinstance(effect.target, (Inst, Class)):
        return effect.target.fields.get(effect.detail)
    return None


def _entry(frame: Frame, effect: Effect) -> Cell | None:
    """The entry of a dictionary or list that `d["k"] = v` writes."""
    target = effect.target
    assert isinstance(target, Container)
    stores = [i for i in index_of(frame.code).at(effect.position) if isinstance(i, ir.SetItem)]
    keys = frame.vals[stores[0].index] or _NO_VALUE if len(stores) == 1 else _NO_VALUE
    names = [o.const for o in keys if isinstance(o, Lit)]
    if len(keys) != 1 or not names or not target.exact or (target.rest is not None and target.rest.value):
        return None
    return target.fields.get(names[0])
