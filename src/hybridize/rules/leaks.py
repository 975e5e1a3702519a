"""Whether a tensor that is stored while tracing is seen by other code than that of the same trace."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Cell, Container, Heap
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.rules.doubts import found_before, runs_eagerly
from hybridize.rules.staleness import extent_of
from hybridize.rules.views import FunctionView, ProjectView
from hybridize.rules.writes import Place, name_of, writes_of


def stays_inside(function: FunctionView, frame: Frame, position: int) -> bool:
    """Whether only code that a call of the function runs, after the write, reads the fields that are written there.

    What nobody else reads is a symbol that nobody else gets: tests, which look at everything, don't count.
    """
    if runs_eagerly(function.project):
        return True
    codes = {each.code for each in function.project.extents.frames(extent_of(function))}
    every = _written_at(function.project).get((frame, position), [])
    # What the call has made itself is new each time: whether it gets out is asked of the field that keeps it.
    places = [place for place in every if not (isinstance(place, Container) and place.site[0] in codes)]
    fields = {place: writes_of(function.project).owners.get(place) for place in places}
    if not every or any(isinstance(place, Container) or owner is None for place, owner in fields.items()):
        return False
    if found_before(function, places):
        return False
    return not any(
        _read_elsewhere(function.project, place, owner, codes)
        for place, owner in fields.items()
        if isinstance(place, Cell) and owner is not None
    )


def _read_elsewhere(project: ProjectView, place: Cell, owner: Heap, codes: set[Code]) -> bool:
    name = name_of(place, owner)
    for code, frames in project.solution.frames.items():
        if code in codes or project.roles.is_test(code.path):
            continue
        for instr in index_of(code).attributes.get(name, ()):
            if any(owner in (frame.vals[instr[2]] or _NOTHING) for frame in frames):
                return True
    return False


def _written_at(project: ProjectView) -> dict[tuple[Frame, int], list[Place]]:
    """The places that are written at each position of a frame."""

    def gather() -> dict[tuple[Frame, int], list[Place]]:
        found: dict[tuple[Frame, int], list[Place]] = {}
        for place, writers in writes_of(project).every.items():
            for each in writers:
                found.setdefault(each, []).append(place)
        return found

    return project.shared("places by writers", gather)


_NOTHING: Final[frozenset[object]] = frozenset()
