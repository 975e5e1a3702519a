"""Why state that changes is likely the same whenever a graph is traced: what a person has nothing to do about.

Such state keeps a function eager, for whoever may call it some other way. Of a function that is hybrid already it is
told as information. What some run of the program shows, and what a setter leaves open, is told as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from hybridize.domain.nesting import held
from hybridize.domain.objects import Cell, Container, Heap, Inst, LibInst, Obj, Tensor
from hybridize.domain.tensors import VARIABLE
from hybridize.domain.words import SETTING_UP
from hybridize.facts.calls.callgraph import denotes
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.library import registry
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import operands
from hybridize.tracing.retraced.moving import from_elsewhere
from hybridize.tracing.running.short_lived import remade_at
from hybridize.tracing.running.switches import switches
from hybridize.tracing.state.order import Sites
from hybridize.tracing.state.parts import Part
from hybridize.tracing.state.reads import scan
from hybridize.tracing.state.staleness import OPEN, TESTS, Stale, counts, extent_of, starts_empty
from hybridize.tracing.state.within import Within
from hybridize.tracing.state.writes import ENVIRONMENT, FILES, Place, name_of, writes_of
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: What other processes and people change as well: that the program writes somewhere to a file says nothing of this one.
_OUTSIDE: Final = (ENVIRONMENT, FILES)
#: Who writes so many fields of an object is no setter of one.
_MANY: Final = 4
#: So deep what is kept is looked into.
_DEPTH: Final = 3


def doubtful(function: FunctionView, places: Mapping[Place, Stale]) -> set[Place]:
    """Of the places that a hybrid function reads, and some code writes between its calls, those in doubt."""
    project, before = function.project, found_before(function, places)
    if may_run_eagerly(project):
        return set(places)
    return {
        place
        for place, found in places.items()
        if found.unless
        or found.seen == TESTS
        or place not in before
        or _is_doubtful(project, function, place)
        or (found.seen == OPEN and _fills_object(project, place))
    }


def may_run_eagerly(project: ProjectView) -> bool:
    """Whether the program itself switches graphs off: it may change state in functions that it then runs eagerly."""
    return any(not project.roles.is_test(path) for path in switches(project)[0])


def _is_doubtful(project: ProjectView, function: FunctionView, place: Place) -> bool:
    owner = writes_of(project).owners.get(place)
    whole = place.whole if isinstance(place, Part) else place
    if whole in _OUTSIDE or isinstance(place, Container):
        return True  # containers of many calls and objects are taken together: which of them changes is not known
    if isinstance(owner, Heap) and isinstance(place, Cell) and (place is owner.rest or _is_variable(place, owner)):
        return True
    extent = extent_of(function)
    made = owner if owner is not None else whole if isinstance(whole, Container) else None
    if isinstance(made, (Inst, LibInst, Container)) and project.extents.with_code(made.site[0]) & extent:
        return True  # an object that the call makes itself
    if any(project.extents.has(extent, frame) for frame, _ in writes_of(project).at(place)):
        return True  # that the function itself changes it while it is traced is told as such (HY206, HY601)
    writers = [
        frame
        for frame, pos in writes_of(project).at(place)
        if counts(project, extent, frame, place) and puts_into(frame, pos, whole)
    ]
    known = [f for f in writers if not project.roles.is_test(f.code.path) and _names(f, place, owner)]
    if not known or is_settled(project, place) or is_outlived(function, known):
        return True
    if _is_same_again(project, place):
        return True
    return _made_anew(project, function, known) or all(_sets_up(project, frame.code) for frame in known)


def _is_same_again(project: ProjectView, place: Place) -> bool:
    """Whether the only code that gives a field a value gives the same one whenever it runs: a setting of the run."""
    known = writes_of(project)
    if (
        not isinstance(place, Cell)
        or not starts_empty(known, place)
        or len({(f.code, p) for f, p in known.at(place)}) > 1
    ):
        return False
    answers = from_elsewhere(project)
    for frame, pos in known.at(place):
        written = [i.value for i in index_of(frame.code).at(pos) if isinstance(i, ir.SetAttr)]
        if len(written) != 1 or answers.moves(frame, pos, written[0]):
            return False
    return True


def puts_into(frame: Frame, position: int, place: Place) -> bool:
    """Whether code puts something into a container: no read of a dictionary that then makes what is missing."""
    if not isinstance(place, Container):
        return True
    for instr in index_of(frame.code).at(position):
        if isinstance(instr, ir.ElementChange) and place in (frame.vals[instr.owner] or ()):
            return True
        method = index_of(frame.code).definitions.get(instr.function) if isinstance(instr, ir.Call) else None
        if isinstance(method, ir.Attr) and place in (frame.vals[method.owner] or ()):
            return True
    return False


def _names(writer: Frame, place: Place, owner: Heap | None) -> bool:
    """Whether who writes a field names it: an array that is changed in place may be another one of its kind."""
    name = name_of(place, owner) if isinstance(place, Cell) and owner is not None else None
    index = index_of(writer.code)
    return name is None or name in index.attributes or any(i.name == name for i in index.of(ir.SetAttr))


def _is_variable(place: Cell, owner: Heap) -> bool:
    """Whether a field keeps one variable whoever writes it, or is a property that assigns to one."""
    value = [o for o in place.value if isinstance(o, Tensor)]
    if len(place.value) == len(value) == 1 and value[0].kind == VARIABLE:
        return True
    # The older optimizers keep numbers in variables, too, from their first step on.
    return isinstance(owner, LibInst) and registry.is_assigned(
        owner.cls.replace(".legacy.", "."), str(name_of(place, owner))
    )


def _made_anew(project: ProjectView, function: FunctionView, writers: Iterable[Frame]) -> bool:
    """Whether whatever writes a place then makes a new graph of the function, by a call of `tf.function`."""
    made = function.facts.hybridization
    if made is None or made.is_decorator:
        return False
    makers = 0
    for where, position in project.solution.world.hybrids.get(function.code, ()):
        for code, _ in remade_at(project, where, position):
            makers |= project.extents.with_code(code)
    return all(project.extents.of(frame) & makers for frame in writers)


def _sets_up(project: ProjectView, code: Code, within: frozenset[Code] = frozenset()) -> bool:
    """Whether only constructors run a function: it sets up what they make."""
    callers = {c.code for f in project.solution.frames.get(code, ()) for c, _ in f.incoming if c is not None}
    inside = within | {code}
    return bool(callers) and all(
        each.name in SETTING_UP or (each not in inside and _sets_up(project, each, inside)) for each in callers
    )


def is_settled(project: ProjectView, place: Place) -> bool:
    """Whether a captured variable is bound before the functions that read it are made: each finds one value there."""
    for frame, position in writes_of(project).at(place):
        names = [name for name, cell in frame.cells.items() if cell is place]
        if not frame.code.is_function or not names or not any(name in frame.code.cells for name in names):
            return False
        readers = [
            code
            for code in frame.code.children
            if code in project.solution.frames and any(i.name in names for i in index_of(code).of(ir.Cell))
        ]
        if any(code.position < position for code in readers):
            return False
    return isinstance(place, Cell) and place not in writes_of(project).owners


def is_outlived(function: FunctionView, writers: Iterable[Frame]) -> bool:
    """Whether a graph is made within a call that nothing of it outlives, and that runs none of some writers."""
    project = function.project
    makers = {where for where, _ in project.solution.world.hybrids.get(function.code, ())}
    if not makers or any(not where.is_function for where in makers):
        return False
    frames = [frame for where in makers for frame in project.solution.frames.get(where, ())]
    some = project.extents.of_all(frames) | project.extents.set_of(frames)
    if any(project.extents.has(some, writer) for writer in writers):
        return False
    return not any(_hands_on(frame, function.code) for frame in frames)


def _hands_on(frame: Frame, code: Code) -> bool:
    """Whether a frame gives a function back, or keeps it where others find it."""
    if _holds(frame.ret, code):
        return True
    index = index_of(frame.code)
    kept = index.of(ir.SetAttr, ir.SetGlobal, ir.ElementChange)
    return any(slot >= 0 and _holds(frame.vals[slot] or (), code) for instr in kept for slot in operands(instr))


def _holds(value: Iterable[Obj], code: Code) -> bool:
    return any(denotes(obj, code) for obj in held(value, _DEPTH, parts))


def _fills_object(project: ProjectView, place: Place) -> bool:
    """Whether all that writes a field writes many of the object at once: it loads, fits or resets it as a whole."""
    owner = writes_of(project).owners.get(place)
    if not isinstance(owner, Heap):
        return False
    filled: dict[Code, set[Cell]] = {}
    for cell in owner.fields.values():
        for frame, _ in writes_of(project).every.get(cell, ()):
            filled.setdefault(frame.code, set()).add(cell)
    writers = {frame.code for frame, _ in writes_of(project).at(place)}
    return bool(writers) and all(len(filled.get(code, ())) >= _MANY for code in writers)


# What the call itself has written ----------------------------------------------------------------------------------


def found_before(function: FunctionView, places: Collection[Place], *, counting: bool = False) -> set[Place]:
    """Of some places those whose value from before the call a function may read; `counting`: and uses."""
    project, known = function.project, writes_of(function.project)
    bits = {place: 1 << i for i, place in enumerate(places)}
    reads: dict[Frame, dict[int, int]] = {}
    used = 0  # the places that are read otherwise than to write them
    for frame in project.extents.frames(extent_of(function)):
        for place, position in _reads_of(project, frame):
            if place in bits and not _empties(frame, position, place):
                row = reads.setdefault(frame, {})
                row[position] = row.get(position, 0) | bits[place]
                used |= 0 if (frame, position) in known.every.get(place, ()) else bits[place]
    writes: dict[Frame, dict[int, int]] = {}
    for place, bit in bits.items():
        for frame, position in known.at(place):
            row = writes.setdefault(frame, {})
            row[position] = row.get(position, 0) | bit
    sites = project.shared("sites of calls", Sites)
    found = Within(sites, reads, writes).found_by(function.frames)
    return {place for place, bit in bits.items() if found & bit & (used if counting else -1)}


def _empties(frame: Frame, position: int, place: Place) -> bool:
    """Whether a container is only reached to take out whatever is in it."""
    index = index_of(frame.code)
    methods = [index.source(call.function) for call in index.calls.get(position, ())]
    reached = [m.owner if isinstance(m, ir.Attr) and m.name == "clear" else -1 for m in methods]
    return bool(reached) and all(slot >= 0 and place in (frame.vals[slot] or ()) for slot in reached)


def _reads_of(project: ProjectView, frame: Frame) -> Mapping[tuple[Place, int], None]:
    """The places that change late and that a frame reads, with the positions."""
    known: dict[Frame, dict[tuple[Place, int], None]] = project.shared("state reads", dict)
    if frame not in known:
        hits = scan(FrameView(project, frame)) if not frame.code.is_body else ()
        known[frame] = {(hit.subject, hit.position): None for hit in hits if isinstance(hit.subject, (Cell, Container))}
    return known[frame]
