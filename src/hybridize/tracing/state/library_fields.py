"""Attributes that a program sets on a module of a library: `np.rate = 0.1`, `setattr(keras.backend, "flag", True)`."""

from __future__ import annotations

from hybridize.domain.objects import BOTTOM, Cell, Lib, Obj, Value, lib
from hybridize.flow.frames import Effect, Frame
from hybridize.library import registry
from hybridize.library.constants import CONSTANTS
from hybridize.library.defaults import library_attribute
from hybridize.program import ir
from hybridize.program.index import index_of


class LibraryField(Cell):
    """The place of such an attribute; `given`: the library itself has given it a value before."""

    __slots__ = ("given",)

    def __init__(self, value: Value) -> None:
        super().__init__(value)
        self.given = bool(value)


def field_of(owner: Lib, name: str) -> Lib:
    """An attribute of a library's module, by the one name that it has."""
    return lib(registry.normalize(f"{owner.name}.{name}"))


def field_set(frame: Frame, effect: Effect, owner: Lib, known: dict[Obj, Cell]) -> Cell:
    """The place that code sets, with what it gets there."""
    name = effect.detail.rpartition(".")[2]
    field = field_of(owner, name)
    if field not in known:
        known[field] = LibraryField(CONSTANTS.get(field.name) or library_attribute(owner.name, name, only_known=True))
    cell = known[field]
    for instr in index_of(frame.code).at(effect.position):
        match instr:
            case ir.SetAttr(value=slot) | ir.SetItem(value=slot) | ir.Call(arguments=[*_, (slot, False)]):
                cell.value |= frame.vals[slot] or BOTTOM
    return cell
