"""The variables and fields that hold an array: arrays have no identity of their own, so they are followed by the code.

An array that is changed in place (`a[0] = 5`, `a *= 2`, `a.fill(1)`) may have come from a call that keeps it in a
variable that a function captures, or have been given to one that keeps it.
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Cell, Heap, Inst, LibInst, Lit, Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.origins import VIEWS, callees_at, definitions, passed_slots
from hybridize.flow.frames import Frame
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Instr, Op

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


def _viewed(frame: Frame, call: Instr) -> list[int]:
    """The arrays that the result of a call shares memory with: `a.reshape(2, 2)`, `np.asarray(a)`."""
    method = definitions(frame.code).get(call[2])
    if method is None or method[0] != Op.ATTR or method[3] not in VIEWS:
        return []
    return [each for each in (method[2], *(slot for slot, _ in call[3][:1])) if _is_array(frame, each)]


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
        for op in (Op.SET_GLOBAL, Op.SET_CELL):
            for instr in index_of(frame.code).of(op):
                if instr[3] == slot:
                    self._variable(frame, op, instr[2])
        made = definitions(frame.code).get(slot)
        if made is not None:
            self._back(frame, slot, made)
        self._given_by(frame, slot)
        self._on(frame, slot)

    def _given_by(self, frame: Frame, slot: int) -> None:
        """What the only call of a function gives it for a parameter."""
        original = index_of(frame.code).original(slot)
        index = next((i for i, param in enumerate(frame.code.params) if param.slot == original), None)
        if index is None:
            return
        sites = [(f, pos) for f in frame.callers if not f.gone for (pos, to), _ in f.calls.items() if to is frame]
        if len(sites) == 1 and frame.code.params[index].kind not in ("varargs", "kwargs"):
            for each in passed_slots(*sites[0], frame, index) or ():
                self.trace(sites[0][0], each)

    def _variable(self, frame: Frame, op: int, name: str) -> None:
        outer = op in (Op.GLOBAL, Op.SET_GLOBAL)
        cell = frame.module.fields.get(name) if outer else frame.cells.get(name)
        if cell is not None:
            self.found.setdefault(cell, None)

    def _on(self, frame: Frame, slot: int) -> None:
        """The calls that are given the array, and keep it as it is: in a field, or for a function inside."""
        index = index_of(frame.code)
        for call in index.of(Op.CALL):
            for each in (*(s for s, _ in call[3]), *(s for _, s in call[4])):
                if self._is_same(frame, each, slot):
                    for callee, _ in callees_at(frame, call[-1]):
                        self._kept(frame, call[-1], callee, each)

    def _is_same(self, frame: Frame, other: int, slot: int) -> bool:
        """Whether two slots hold one array: copies, or reads of one variable."""
        index = index_of(frame.code)
        if index.original(other) == index.original(slot):
            return True
        one, two = index.source(other), index.source(slot)
        if one is None or two is None or one[0] not in (Op.GLOBAL, Op.CELL):
            return False
        if one[:1] == two[:1] and one[2] == two[2]:
            return True
        return _stores(index, one[0], one[2]) == [slot]

    def _kept(self, frame: Frame, pos: int, callee: Frame, given: int) -> None:
        if (callee, given) in self._given or len(self._given) > _STEPS or callee is frame:
            return
        self._given.add((callee, given))
        index = index_of(callee.code)
        for i, param in enumerate(callee.code.params):
            if param.kind in ("varargs", "kwargs") or given not in (passed_slots(frame, pos, callee, i) or ()):
                continue
            stores = [each for each in index.of(Op.SET_CELL) if index.original(each[3]) == param.slot]
            for each in stores:
                if sum(other[2] == each[2] for other in index.of(Op.SET_CELL)) == 1:
                    self._variable(callee, Op.SET_CELL, each[2])
            for each in index.of(Op.SET_ATTR):
                if sum(other[3] == each[3] for other in index.of(Op.SET_ATTR)) > 1:
                    continue
                if index.original(each[4]) == param.slot:
                    for owner in callee.vals[each[2]] or ():
                        if isinstance(owner, (Inst, LibInst)) and each[3] in owner.fields:
                            self.found.setdefault(owner.fields[each[3]], owner)

    def _back(self, frame: Frame, slot: int, made: Instr) -> None:
        """Goes on with what an instruction takes over as it is."""
        op = made[0]
        if op in (Op.GLOBAL, Op.CELL):
            self._variable(frame, op, made[2])
            self._stored(frame, op, made[2])
        elif op == Op.ATTR and made[3] in VIEWS and _is_array(frame, made[2]):
            self.trace(frame, made[2])
        elif op == Op.ATTR:
            for owner in frame.vals[made[2]] or ():
                if isinstance(owner, (Inst, LibInst)) and made[3] in owner.fields:
                    self.found.setdefault(owner.fields[made[3]], owner)
        elif op in (Op.COPY, Op.REFINE):
            self.trace(frame, made[2])
        elif op == Op.PHI:
            for _, source in made[2]:
                self.trace(frame, source)
        elif op == Op.INPLACE:
            self.trace(frame, made[3])
        elif op == Op.CALL:
            for each in _viewed(frame, made):
                self.trace(frame, each)
            self._results(frame, slot, made, None)
        elif op == Op.ITER or (
            op == Op.ITEM and not any(isinstance(o, (Heap, Tensor)) for o in frame.vals[made[3]] or ())
        ):
            if _is_array(frame, made[2]):  # rows and slices; what a mask or list of indices chooses is a copy
                self.trace(frame, made[2])
            elif op == Op.ITEM:
                self._item(frame, made)
        elif op == Op.UNPACK and made[3] < 0:
            self._part(frame, made[2], made[1].index(slot))

    def _item(self, frame: Frame, made: Instr) -> None:
        """The element of a tuple at a constant index; rows and slices of an array, of which masks and lists copy."""
        index = frame.vals[made[3]] or frozenset()
        if _is_array(frame, made[2]) and not any(isinstance(o, (Heap, Tensor)) for o in index):
            self.trace(frame, made[2])
            return
        for obj in index if len(index) == 1 else ():
            if isinstance(obj, Lit) and isinstance(obj.const, int) and obj.const >= 0:
                self._part(frame, made[2], obj.const)

    def _stored(self, frame: Frame, op: int, name: str) -> None:
        """What the code itself puts into a variable, where it does so once."""
        stores = _stores(index_of(frame.code), op, name)
        if len(stores) == 1:
            self.trace(frame, stores[0])

    def _part(self, frame: Frame, slot: int, index: int) -> None:
        """An element of a tuple: written here, or by a function that returns it."""
        made = index_of(frame.code).source(slot)
        if made is None:
            return
        if made[0] == Op.TUPLE:
            if index < len(made[2]) and not any(starred for _, starred in made[2]):
                self.trace(frame, made[2][index][0])
        elif made[0] == Op.CALL:
            self._results(frame, made[1], made, index)
        elif made[0] in (Op.GLOBAL, Op.CELL):
            stores = _stores(index_of(frame.code), made[0], made[2])
            if len(stores) == 1 and stores[0] != slot:
                self._part(frame, stores[0], index)

    def _results(self, frame: Frame, slot: int, call: Instr, index: int | None) -> None:
        """What functions of the project return: a value, or an element of a tuple."""
        pos = call[-1]
        for callee, how in callees_at(frame, pos):
            if how != "call" or callee.code.is_generator or callee is frame:
                continue
            for each in index_of(callee.code).of(Op.RETURN):
                if each[2] < 0 or (callee, each[2]) in self._seen:
                    continue
                if index is None:
                    self._returned(frame, pos, callee, each[2])
                    self.trace(callee, each[2])
                elif len(self._seen) < _STEPS:
                    self._part(callee, each[2], index)

    def _returned(self, frame: Frame, pos: int, callee: Frame, slot: int) -> None:
        """A parameter that is handed back is what the call was given."""
        for index, param in enumerate(callee.code.params):
            if param.slot == index_of(callee.code).original(slot):
                for each in passed_slots(frame, pos, callee, index) or ():
                    self.trace(frame, each)


def _stores(index: Index, reading: int, name: str) -> list[int]:
    """The slots that a code puts into a variable, by the operation that reads the variable."""
    setting = Op.SET_GLOBAL if reading == Op.GLOBAL else Op.SET_CELL
    return [instr[3] for instr in index.of(setting) if instr[2] == name]
