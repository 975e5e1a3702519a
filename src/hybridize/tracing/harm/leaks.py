"""What a hybrid function leaves behind while it is traced: whether anybody sees it, and who."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Container, Inst
from hybridize.domain.session import solved
from hybridize.domain.words import SETTING_UP
from hybridize.facts.model import Evidence
from hybridize.facts.state.guards import asked_first
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.tracing.harm.doubts import found_before, may_run_eagerly
from hybridize.tracing.harm.witness import left_for_others, left_witness
from hybridize.tracing.hits import Level
from hybridize.tracing.state.parts import Part, constants
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.state.writes import Place, writes_of
from hybridize.tracing.views import FunctionView, ProjectView

#: Methods that give what they take out.
_TAKES: Final = frozenset({"pop", "popleft", "popitem", "setdefault"})


@dataclass(frozen=True, slots=True)
class Left:
    """How loudly it is told that something is left behind; what was seen of it, as a sentence and with its places."""

    level: Level | None
    said: str = ""
    events: tuple[Evidence, ...] = ()


_UNSEEN: Final = Left(Level.INFO)


def left_behind(function: FunctionView, frame: Frame, position: int, *, late: bool = False) -> Left:
    """Who reads what a hybrid function writes at a position while it is traced: a later call, or other code.

    `late`: what its first call writes is right.

    What nobody reads, or only after it was written anew, does no harm: a register of one call.
    """
    every = _written_at(function.project).get((frame, position), [])
    codes = {each.code for each in function.project.extents.frames(extent_of(function))}
    places = tuple(dict.fromkeys(_entry(function.project, p, frame, position) for p in every if _lasts(p, codes)))
    if may_run_eagerly(function.project) or not places or _is_own(frame, position, codes):
        return _UNSEEN
    known: dict[object, Left] = function.project.shared(("left behind", function.code), dict)
    key = (places, _takes(frame, position) or asked_first(frame, position), late)
    if key not in known:
        known[key] = _left(function, places, asks=key[1], late=late)
    return known[key]


def _is_own(frame: Frame, position: int, codes: set[Code]) -> bool:
    """Whether what is written may be an object that the call itself has made: a copy of what it got, by a setting."""
    written = (
        instr.owner for instr in index_of(frame.code).at(position) if isinstance(instr, (ir.SetAttr, ir.SetItem))
    )
    objects = [o for slot in written for o in frame.vals[slot] or ()]
    return any(isinstance(o, (Inst, Container)) and o.site[0] in codes for o in objects)


def _entry(project: ProjectView, place: Place, frame: Frame, position: int) -> Place:
    """Of a dictionary the entry that is written, where its key is known: others are not read for it."""
    written = [instr for instr in index_of(frame.code).at(position) if isinstance(instr, ir.SetItem)]
    if not isinstance(place, Container) or len(written) != 1:
        return place
    keys = constants(frame, written[0].index)
    found = writes_of(project).late_part(place, next(iter(keys))) if keys is not None and len(keys) == 1 else None
    return found if found is not None else place


def _lasts(place: Place, codes: set[Code]) -> bool:
    """Whether a place is no list or dictionary of which there are many: which one is meant is not known then.

    What the call has made itself is new each time: whether it gets out is asked of the field that keeps it.
    """
    whole = place.whole if isinstance(place, Part) else place
    if not isinstance(whole, Container):
        return True
    maker = whole.site[0]
    return maker not in codes and (maker.is_body or maker.name in SETTING_UP)


def _left(function: FunctionView, places: tuple[Place, ...], *, asks: bool, late: bool) -> Left:
    """The same of some places; `asks` says that the code which writes them looks first at what is there."""
    found = set(places) if asks else found_before(function, places, counting=True)
    witness = left_witness(function, places, found, late=late)
    if witness is not None:
        return Left(None, witness.said, witness.events)
    witness = left_for_others(function, places, found)
    return Left(Level.WARNING, witness.said, witness.events) if witness is not None else _UNSEEN


def _takes(frame: Frame, position: int) -> bool:
    """Whether a change of a container also gives what was in it."""
    index = index_of(frame.code)
    for instr in index.at(position):
        method = index.definitions.get(instr.function) if isinstance(instr, ir.Call) else None
        if isinstance(method, ir.Attr) and method.name in _TAKES and index.uses.get(instr.target):
            return True
    return False


@solved
def _written_at(project: ProjectView) -> dict[tuple[Frame, int], list[Place]]:
    """The places that are written at each position of a frame."""
    found: dict[tuple[Frame, int], list[Place]] = {}
    for place, writers in writes_of(project).every.items():
        for each in writers:
            found.setdefault(each, []).append(place)
    return found
