"""Objects of which a run of a program makes one: what branches of one condition make, or a class that a name chooses.

`model = Small() if args.small else Large()` and `model = getattr(models, name)()` make one object, of which the
analysis sees several. They meet only where the place is run again, as whoever calls a library may have it run.
"""

from __future__ import annotations

from typing import Final, TypeVar

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import Inst, LibInst
from hybridize.facts.origins import starts_program
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.source import Role
from hybridize.tracing.control import control
from hybridize.tracing.running.processes import meeting, processes
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView, ProjectView

#: So many calls are gone up to the module that begins.
_CALLS: Final = 8

_O = TypeVar("_O", bound=object)


def together(project: ProjectView, objects: set[_O]) -> set[_O]:
    """Those of some objects that one run of a program may hold beside another of them."""
    found = meeting(project, objects)
    return {a for a in found if any(a is not b and not _is_other(project, a, b) for b in found)}


def _is_other(project: ProjectView, a: object, b: object) -> bool:
    """Whether a run that makes one of two objects does not make the other."""
    if not isinstance(a, (Inst, LibInst)) or not isinstance(b, (Inst, LibInst)):
        return False
    (code, first), (other, second) = a.site, b.site
    if code is not other or a.frame != b.frame or not isinstance(code, Code):
        return False
    if project.roles.of(code.path) is Role.LIBRARY and code.kind != "module":
        return False
    frames = [frame for frame in project.solution.frames.get(code, ()) if frame.uid == a.frame]
    once = all(_runs_once(project, frame, pos) for frame in frames for pos in (first, second))
    return len(frames) == 1 and once and excludes(project, frames[0], first, second)


def _runs_once(project: ProjectView, frame: Frame, position: int) -> bool:
    """Whether one run of the program, and no test, comes to a place, and once: by one call that no loop is around."""
    if processes(project).is_tested(frame):
        return False
    for _ in range(_CALLS):
        if position in index_of(frame.code).looped:
            return False
        if frame.code.kind == "module":
            return True
        calls = [(by, pos) for by, pos in frame.incoming if by is not None and not by.gone]
        if len(calls) != 1:
            return False
        caller, position = calls[0]
        how = caller.calls.get((position, frame))
        if how not in DIRECT and not starts_program(caller, position):
            return False
        frame = caller
    return False


def excludes(project: ProjectView, frame: Frame, first: int, second: int) -> bool:
    """Whether a call at one place, or one in the other branch of a condition, is not made where the first one is."""
    structure = control(FrameView(project, frame)).structure
    sites = [[s for s in structure.of(ir.Call) if s.instr.position == pos] for pos in (first, second)]
    if first == second:
        return len(sites[0]) == 1
    return all(sites) and all(_are_apart(a, b) for a in sites[0] for b in sites[1])


def _are_apart(a: Site, b: Site) -> bool:
    """Whether two places stand in the two branches of a condition."""
    branches = {id(site): part for site, part in a.around() if isinstance(site.instr, ir.If)}
    return any(branches.get(id(site), part) != part for site, part in b.around())
