"""What methods of a library's classes set of their object: who uses the library may call them of any such object.

Tests show what is accepted, not all that is done: that they call a setter of one object, or of none, says nothing of
the others. So the code is asked, and not what reaches it.
"""

from __future__ import annotations

from hybridize.domain.objects import Cell, Class, Heap, Inst
from hybridize.domain.words import SETTING_UP
from hybridize.facts.state.guards import regions
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.source import Role
from hybridize.tracing.state.writes import Place, fields_named, is_variable
from hybridize.tracing.views import FunctionView, ProjectView

_At = tuple[Code, int]


class Setters:
    """The methods that set fields, by the fields."""

    def __init__(self, project: ProjectView) -> None:
        self._roles = project.roles
        self._of_class: dict[Code, dict[str, list[_At]]] = {}
        self._of_place: dict[Place, list[_At]] = {}

    def cells(self, frame: Frame, instr: ir.Attr) -> list[Cell]:
        """The fields that an instruction reads and that methods set."""
        named = fields_named(frame.vals[instr.owner] or frozenset(), instr.name)
        return [c for c, owner in named if self._are_any(c, owner, instr.name) and not is_variable(owner, instr.name)]

    def at(self, place: Place, function: FunctionView, extent: int) -> list[_At]:
        """The methods and positions that set a place; not those that calls of a function run themselves."""
        own, of_code = function.code, function.project.extents.with_code
        return [at for at in self._of_place.get(place, ()) if at[0] is not own and not of_code(at[0]) & extent]

    def _are_any(self, place: Cell, owner: Heap | None, name: str) -> bool:
        found = self._of_place.get(place)
        if found is None:
            mro = [base.code for base in owner.cls.mro if isinstance(base, Class)] if isinstance(owner, Inst) else []
            found = self._of_place[place] = [at for code in mro for at in self._methods(code).get(name, ())]
        return bool(found)

    def _methods(self, around: Code) -> dict[str, list[_At]]:
        """What the methods of a class set of their object, where that is not asked for before."""
        found = self._of_class.get(around)
        if found is None:
            found = self._of_class[around] = {}
            methods = index_of(around).of(ir.Func) if self._roles.of(around.path) is Role.LIBRARY else ()
            for code in (each.code for each in methods if each.code.name not in SETTING_UP and each.code.params):
                index = index_of(code)
                for instr in index.of(ir.SetAttr):
                    asked = any(instr.name in region.tested for region in regions(code).get(instr.position, ()))
                    if index.original(instr.owner) == code.params[0].slot and not asked:
                        found.setdefault(instr.name, []).append((code, instr.position))
        return found


def setters_of(project: ProjectView) -> Setters:
    """The setters of a project, gathered when first asked for."""
    return project.shared("setters", lambda: Setters(project))


def fills_another(frame: Frame, position: int) -> bool:
    """Whether code puts something into a container that it was passed or has made: it may be any other one."""
    index = index_of(frame.code)
    for change in index.at(position):
        made = index.source(change.owner) if isinstance(change, ir.ElementChange) else None
        while isinstance(made, ir.Item):
            made = index.source(made.source)
        if isinstance(change, ir.ElementChange) and not isinstance(made, (ir.Attr, ir.Global, ir.Cell)):
            return True
    return False
