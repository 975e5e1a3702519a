"""Places that a function reads and code outside of it writes: they outlive a call, and may change until the next.

Not what each call is given or makes anew; nor the containers that a function fills before it makes another one inside,
which reads them (`factory` of a training step): each call of the one around makes its own, and a function with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybridize.domain.objects import Cell, Container
from hybridize.facts.side_effects.arguments import within
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.tracing.state.parts import Part
from hybridize.tracing.state.setters import setters_of
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.state.writes import Place, Writes, writes_of
from hybridize.tracing.views import FunctionView


def outliving(function: FunctionView, reads: Iterable[tuple[Place, Sequence[Frame]]]) -> dict[Place, list[Frame]]:
    """Of the places that frames of a function read those that may change between two calls, with these frames."""
    known = writes_of(function.project)
    extent = extent_of(function)
    places: dict[Place, list[Frame]] = {}
    for place, frames in reads:
        if _is_filled_before(place, function.code, known):
            continue
        left = [each for each in frames if not _is_argument(place, each) and not _is_local(place, each, function)]
        written = left and known.writers(place, function.project.extents) & ~extent
        if written or (left and setters_of(function.project).at(place, function, extent)):
            places.setdefault(place, []).extend(left)
    return places


def _is_local(place: Place, frame: Frame, function: FunctionView) -> bool:
    """Whether a captured variable belongs to a function that each call runs anew, around the one that reads it."""
    if not isinstance(place, Cell) or isinstance(place, Part):
        return False
    if any(frame.cells.get(name) is place for name in frame.code.cells):
        return not frame.code.is_body
    outer = frame.code.parent
    while outer is not None and outer is not function.code.parent:
        owners = [f for f in function.project.solution.frames.get(outer, ()) if place in f.cells.values()]
        if owners and any(f.cells.get(name) is place for f in owners for name in outer.cells):
            extents = function.project.extents
            return bool(extents.with_code(outer) & extent_of(function)) or outer is function.code
        outer = outer.parent
    return False


def _is_argument(place: Place, frame: Frame) -> bool:
    """Whether a container arrives as an argument: each call looks into it anew."""
    whole = place.whole if isinstance(place, Part) else place
    return isinstance(whole, Container) and any(within(whole, value) for value in frame.args)


def _is_filled_before(place: Place, code: Code, known: Writes) -> bool:
    """Whether the function around a nested one makes a container, and all writes of it stand before the nested one."""
    whole = place.whole if isinstance(place, Part) else place
    outer = code.parent
    if not isinstance(whole, Container) or outer is None or outer.kind != "function" or whole.site[0] is not outer:
        return False
    index = index_of(outer)
    first, *others = [instr.position for instr in index.of(ir.Func) if instr.code is code] or [-1]
    if others or first < 0 or first in index.looped:
        return False
    return all(frame.code is outer and pos < first for frame, pos in known.at(place))
