"""The variables and fields that hold an array: arrays have no identity of their own, so they are followed by the code.

An array that is changed in place (`a[0] = 5`, `a *= 2`, `a.fill(1)`) may have come from a call that keeps it in a
variable that a function captures, or have been given to one that keeps it.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import BY_CALL
from hybridize.domain.objects import Cell, Heap, Inst, LibInst, Lit, Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.origins import VIEWS, called_at, calls_to, definitions, passed_slots, variable
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments

_STEPS: Final = 100  # slots that an array is followed through


def others_holding(frame: Frame, slot: int) -> list[tuple[Cell, Heap | None]]:
    """The variables and fields of other code, too, that hold the array in a slot, each with the object it is of."""
    if not any(isinstance(o, Tensor) and o.kind == NDARRAY for o in frame.vals[slot] or ()):
        return []
    search = _Search()
    search.trace(frame, slot)
    return list(search.found.items())


def _is_array(frame: Frame, slot: int) -> bool:
    return any(isinstance(o, Tensor) and o.kind == NDARRAY for o in frame.vals[slot] or ())


def _viewed(frame: Frame, call: ir.Call) -> list[int]:
    """The arrays that the result of a call shares memory with: `a.reshape(2, 2)`, `np.asarray(a)`."""
    method = definitions(frame.code).get(call.function)
    if not isinstance(method, ir.Attr) or method.name not in VIEWS:
        return []
    return [each for each in (method.owner, *(slot for slot, _ in call.arguments[:1])) if _is_array(frame, each)]


class _Search:
    """The search for what holds an array."""

    def __init__(self) -> None:
        self.found: dict[Cell, Heap | None] = {}
        self._seen: set[tuple[Frame, int]] = set()
        self._given: set[tuple[Frame, int]] = set()

    def trace(self, frame: Frame, slot: int) -> None:
        """Adds the variables that hold the very array in a slot; goes back to its source and on to who was given it."""
        if (frame, slot) in self._seen or len(self._seen) > _STEPS:
            return
        self._seen.add((frame, slot))
        for instr in index_of(frame.code).of(ir.SetOuter):
            if instr.value == slot:
                self._variable(frame, instr)
        made = definitions(frame.code).get(slot)
        if made is not None:
            self._back(frame, slot, made)
        self._given_by(frame, slot)
        self._on(frame, slot)

    def _given_by(self, frame: Frame, slot: int) -> None:
        """What the only call of a function gives it for a parameter."""
        original = index_of(frame.code).original(slot)
        index = frame.code.place_of(original)
        if index < 0:
            return
        sites = list(calls_to(frame))
        if len(sites) == 1 and not frame.code.params[index].is_starred:
            for each in passed_slots(*sites[0], frame, index) or ():
                self.trace(sites[0][0], each)

    def _variable(self, frame: Frame, use: ir.Outer | ir.SetOuter) -> None:
        cell = variable(frame, use)
        if cell is not None:
            self.found.setdefault(cell, None)

    def _on(self, frame: Frame, slot: int) -> None:
        """The calls that are given the array, and keep it as it is: in a field, or for a function inside."""
        index = index_of(frame.code)
        for call in index.of(ir.Call):
            for each in arguments(call):
                if self._is_same(frame, each, slot):
                    for callee in called_at(frame, call.position):
                        self._kept(frame, call.position, callee, each)

    def _is_same(self, frame: Frame, other: int, slot: int) -> bool:
        """Whether two slots hold one array: copies, or reads of one variable."""
        index = index_of(frame.code)
        if index.original(other) == index.original(slot):
            return True
        one, two = index.source(other), index.source(slot)
        if two is None or not isinstance(one, ir.Outer):
            return False
        if isinstance(two, type(one)) and one.name == two.name:
            return True
        return _stores(index, one) == [slot]

    def _kept(self, frame: Frame, pos: int, callee: Frame, given: int) -> None:
        if (callee, given) in self._given or len(self._given) > _STEPS or callee is frame:
            return
        self._given.add((callee, given))
        index = index_of(callee.code)
        for i, param in enumerate(callee.code.params):
            if param.is_starred or given not in (passed_slots(frame, pos, callee, i) or ()):
                continue
            stores = [each for each in index.of(ir.SetCell) if index.original(each.value) == param.slot]
            for each in stores:
                if sum(other.name == each.name for other in index.of(ir.SetCell)) == 1:
                    self._variable(callee, each)
            for kept in index.of(ir.SetAttr):
                if sum(other.name == kept.name for other in index.of(ir.SetAttr)) > 1:
                    continue
                if index.original(kept.value) == param.slot:
                    for owner in callee.vals[kept.owner] or ():
                        if isinstance(owner, (Inst, LibInst)) and kept.name in owner.fields:
                            self.found.setdefault(owner.fields[kept.name], owner)

    def _back(self, frame: Frame, slot: int, made: Instr) -> None:
        """Goes on with what an instruction takes over as it is."""
        if isinstance(made, ir.Outer):
            self._variable(frame, made)
            self._stored(frame, made)
        elif isinstance(made, ir.Attr) and made.name in VIEWS and _is_array(frame, made.owner):
            self.trace(frame, made.owner)
        elif isinstance(made, ir.Attr):
            for owner in frame.vals[made.owner] or ():
                if isinstance(owner, (Inst, LibInst)) and made.name in owner.fields:
                    self.found.setdefault(owner.fields[made.name], owner)
        elif isinstance(made, ir.Copy):
            self.trace(frame, made.source)
        elif isinstance(made, ir.Phi):
            for _, source in made.incoming:
                self.trace(frame, source)
        elif isinstance(made, ir.Inplace):
            self.trace(frame, made.left)
        elif isinstance(made, ir.Call):
            for each in _viewed(frame, made):
                self.trace(frame, each)
            self._results(frame, slot, made, None)
        elif isinstance(made, ir.Iter) or (
            isinstance(made, ir.Item) and not any(isinstance(o, (Heap, Tensor)) for o in frame.vals[made.index] or ())
        ):
            if _is_array(frame, made.source):  # rows and slices; what a mask or list of indices chooses is a copy
                self.trace(frame, made.source)
            elif isinstance(made, ir.Item):
                self._item(frame, made)
        elif isinstance(made, ir.Unpack) and made.star < 0:
            self._part(frame, made.source, made.targets.index(slot))

    def _item(self, frame: Frame, made: ir.Item) -> None:
        """The element of a tuple at a constant index; rows and slices of an array, of which masks and lists copy."""
        index = frame.vals[made.index] or frozenset()
        if _is_array(frame, made.source) and not any(isinstance(o, (Heap, Tensor)) for o in index):
            self.trace(frame, made.source)
            return
        for obj in index if len(index) == 1 else ():
            if isinstance(obj, Lit) and isinstance(obj.const, int) and obj.const >= 0:
                self._part(frame, made.source, obj.const)

    def _stored(self, frame: Frame, read: ir.Outer) -> None:
        """What the code itself puts into a variable, where it does so once."""
        stores = _stores(index_of(frame.code), read)
        if len(stores) == 1:
            self.trace(frame, stores[0])

    def _part(self, frame: Frame, slot: int, index: int) -> None:
        """An element of a tuple: written here, or by a function that returns it."""
        made = index_of(frame.code).source(slot)
        if made is None:
            return
        if isinstance(made, ir.Tuple):
            if index < len(made.elements) and not any(starred for _, starred in made.elements):
                self.trace(frame, made.elements[index][0])
        elif isinstance(made, ir.Call):
            self._results(frame, made.target, made, index)
        elif isinstance(made, ir.Outer):
            stores = _stores(index_of(frame.code), made)
            if len(stores) == 1 and stores[0] != slot:
                self._part(frame, stores[0], index)

    def _results(self, frame: Frame, slot: int, call: ir.Call, index: int | None) -> None:
        """What functions of the project return: a value, or an element of a tuple."""
        pos = call.position
        for callee in called_at(frame, pos, BY_CALL):
            if callee.code.is_generator or callee is frame:
                continue
            for each in index_of(callee.code).of(ir.Return):
                if each.value < 0 or (callee, each.value) in self._seen:
                    continue
                if index is None:
                    self._returned(frame, pos, callee, each.value)
                    self.trace(callee, each.value)
                elif len(self._seen) < _STEPS:
                    self._part(callee, each.value, index)

    def _returned(self, frame: Frame, pos: int, callee: Frame, slot: int) -> None:
        """A parameter that is handed back is what the call was given."""
        for index, param in enumerate(callee.code.params):
            if param.slot == index_of(callee.code).original(slot):
                for each in passed_slots(frame, pos, callee, index) or ():
                    self.trace(frame, each)


def _stores(index: Index, read: ir.Outer) -> list[int]:
    """The slots that a code puts into the variable that an instruction reads."""
    stores = index.of(ir.SetGlobal) if isinstance(read, ir.Global) else index.of(ir.SetCell)
    return [store.value for store in stores if store.name == read.name]
