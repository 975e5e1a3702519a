"""Witnesses: an order of events in the program by which a graph does harm, each event with its place.

A rule says what could happen; whether it does hangs on who calls what, and when. Two orders are looked for, both with
one object of `tf.function` that is not made anew in between:

- stale: the function is called (and traced), what its graph has frozen is written, the function is called again;
- left: the function is called, which writes while it is traced, and what it has left there is read before anybody
  writes it anew, by code outside of the graph or by the next call.

They are looked for in the run of each program, in its order: loops turn, branches are taken or not. Where no run shows
it, callers of a library whom nobody sees may do it, by its public functions: that is less than a witness, and said so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from hybridize.closure import closure
from hybridize.domain.calls import REPEATED, How
from hybridize.domain.objects import Cell, Container, Heap, Inst, Lit, Obj
from hybridize.domain.places import place_words
from hybridize.domain.words import SETTING_UP
from hybridize.facts.calls.work import Counts
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_at, edges_to, variable
from hybridize.facts.state.undone import undone
from hybridize.flow.frames import Frame
from hybridize.library.costs import BATCHES
from hybridize.library.keras.running import STEP_OF
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments, operands
from hybridize.records import dataclass
from hybridize.tracing.retraced.in_step import keeps_step
from hybridize.tracing.running.data_functions import is_given_to_data
from hybridize.tracing.running.short_lived import makers_of_short_lived, remade_at
from hybridize.tracing.running.speaking import only_tells_traces
from hybridize.tracing.state.order import Events, Order, Relation
from hybridize.tracing.state.parts import Part, constants
from hybridize.tracing.state.setters import fills_another
from hybridize.tracing.state.staleness import Makers, counts, extent_of, order_of, ranks_of, starts_empty, starts_of
from hybridize.tracing.state.writes import Place, name_of, writes_of
from hybridize.tracing.views import FunctionView, ProjectView

#: Functions, with the places they read and their frames that do.
Questions = Sequence[tuple[FunctionView, Mapping[Place, Sequence[Frame]]]]

#: So many turns of a loop have some arguments of one size.
_LONG: Final = float(BATCHES)
#: What is read at more places are several objects that the analysis has taken together.
_MANY: Final = 300
_NO_VALUE: Final[frozenset[Obj]] = frozenset()


@dataclass(frozen=True, slots=True)
class Witness:
    """The events in their order, and a sentence that names them.

    `often`: a loop calls the function again and again, between two writes or with one in each turn: whatever the
    sizes of its arguments are, it is not traced anew each time, or the loop does nothing else. `cause` is the function
    that writes, and where its caller comes back to the graph: all that it makes stale there is mended by one change.
    """

    said: str
    events: tuple[Evidence, ...]
    often: bool = False
    cause: tuple[Evidence, ...] = ()


def stale_witnesses(project: ProjectView, questions: Questions) -> list[dict[Place, Witness]]:
    """Of the places that hybrid functions read those that a run is seen to write between two calls of one graph."""
    events, makers = Events(), Makers()
    bits: list[dict[Place, int]] = []
    for function, places in questions:
        first = events.every.bit_length()
        mine = {place: 1 << first + i for i, place in enumerate(places)}
        asked = sum(mine.values())
        extent = extent_of(function)
        for place, frames in places.items():
            owner = writes_of(project).owners.get(place)
            for frame in frames:
                if _is_one(frame, owner):
                    events.call(frame, mine[place], asked)
            writers = [
                (frame, position)
                for frame, position in writes_of(project).at(place)
                if counts(project, extent, frame, place)
                and not project.roles.is_test(frame.code.path)
                and not is_traced(project, frame)
                and not _is_put_back(project, function, frame, position)
            ]
            plain = [each for each in writers if _is_plain(*each)]  # the module's own, which comes first
            later = [each for each in writers if each not in plain]
            one = len(plain) < 2 and _gives_one(place, later)
            for frame, position in writers:
                note = events.settle if one and (frame, position) in later else events.write
                note(frame, position, mine[place], asked)
        events.every |= asked
        makers.add(function, mine, asked)
        _add_graphs(project, makers, function, asked)
        bits.append(mine)
    search = _Search(project, events, makers)
    return [
        {place: told for place, bit in mine.items() if (told := search.between(function, place, bit)) is not None}
        for (function, _), mine in zip(questions, bits, strict=True)
    ]


def _is_put_back(project: ProjectView, function: FunctionView, frame: Frame, position: int) -> bool:
    """Whether what writes takes it back before it ends, and does not run the function in between."""
    extents = project.extents
    return position in undone(frame.code) and not extents.of(frame) & extents.with_code(function.code)


def _is_plain(frame: Frame, position: int) -> bool:
    """Whether a module body gives a variable a value, and once."""
    index = index_of(frame.code)
    stores = any(isinstance(instr, ir.SetGlobal) for instr in index.at(position))
    return stores and frame.code.is_module and position not in index.looped


def is_called_again(function: FunctionView) -> bool:
    """Whether some run may call a hybrid function more than once, with the same graph: what happens once per trace is
    else what happens once per call. Callers of a library do, and what Keras trains."""
    project = function.project
    if project.public.has(function.code) or _is_driven(function.frames):
        return True
    events, makers = Events(every=1), Makers()
    for frame in function.frames:
        events.call(frame, 0, 1)
        events.again[frame] = 1
    makers.add(function, {}, 1)
    _add_graphs(project, makers, function, 1)
    search = _Search(project, events, makers)
    return any(search.order.stale(frame) for frame in starts_of(project))


def _is_driven(frames: Iterable[Frame]) -> bool:
    """Whether a library calls a function as often as it likes, or something that leads there."""
    for frame in closure(frames, lambda each: each.callers):
        for caller, pos, how in edges_to(frame):
            methods = (index_of(caller.code).source(call.function) for call in calls_at(caller.code, pos))
            trains = any(isinstance(method, ir.Attr) and method.name in STEP_OF for method in methods)
            mapped = how is How.HYBRID and is_given_to_data(caller, pos)
            if how in REPEATED or mapped or (how is How.KERAS and trains):
                return True
    return False


def _gives_one(place: Place, writers: Sequence[tuple[Frame, int]]) -> bool:
    """Whether all that write a field or variable give it the same constant."""
    if isinstance(place, (Part, Container)):
        return False
    found: set[Obj] = set()
    for frame, position in writers:
        stores = [instr for instr in index_of(frame.code).at(position) if isinstance(instr, ir.Assignment)]
        if not stores:
            return False
        found.update(o for instr in stores for o in frame.vals[instr.value] or ())
    return len(found) == 1 and all(isinstance(o, Lit) and not o.varies for o in found)


def open_witnesses(function: FunctionView, places: Sequence[Place]) -> dict[Place, Witness]:
    """The places that callers of a library whom nobody sees may change between two calls of one graph: by a setter.

    A setter is a public function that writes a field or variable which has a value from the start: what gets its first
    value is being set up, and who fills a container that it is given, or makes, fills another. A graph that a function
    makes for itself is new with each call of that function.
    """
    project = function.project
    makers = project.solution.world.hybrids.get(function.code, ())
    if not makers or any(code.is_function and code.name not in SETTING_UP for code, _ in makers):
        return {}
    public = project.public
    extent, known = extent_of(function), writes_of(project)
    found: dict[Place, Witness] = {}
    for place in places:
        for frame, position in known.at(place):
            setter = public.has(frame.code) and frame.code.name not in SETTING_UP
            if (
                setter
                and not fills_another(frame, position)
                and counts(project, extent, frame, place)
                and not starts_empty(known, place)
            ):
                where = Evidence(f"`{frame.code.name}` changes it", frame.code.path, position >> 16)
                said = f"(where a caller runs `{frame.code.name}` in between, {_at(project, where)})"
                found[place] = Witness(said, (where,), cause=(_writer(frame),))
                break
    return found


def _writer(frame: Frame) -> Evidence:
    return Evidence("writes", frame.code.path, frame.code.line)


def left_witness(
    function: FunctionView, places: Sequence[Place], found: set[Place], *, late: bool = False
) -> Witness | None:
    """Where something is read that a call of a hybrid function has left in some places while it was traced.

    `found` are the places of which a call reads what was there before: the next call gets what this one has left.
    `late`: what the first call leaves there is as good as what eager code would, but not what a later one does.
    """
    project = function.project
    events, makers = Events(late=late), Makers()
    codes = {frame.code for frame in project.extents.frames(extent_of(function))}
    bits = {place: 1 << i for i, place in enumerate(places)}
    asked = sum(bits.values())
    events.every = asked
    again = sum(bit for place, bit in bits.items() if place in found)
    for frame in function.frames:
        events.call(frame, asked & ~again, asked)
        events.again[frame] = again
    for place, bit in bits.items():
        readers = (each for each in _readers(project, place, codes) if not late or not only_tells_traces(*each))
        reads = list(islice(readers, _MANY + 1))
        if len(reads) > _MANY:
            return None
        for frame, position in reads:
            events.use(frame, position, bit, asked)
        for frame, position in writes_of(project).every.get(place, ()) if isinstance(place, Cell) else ():
            if frame.code is not function.code:  # what the graph runs, too, writes anew where eager code calls it
                events.clear(frame, position, bit, asked)
    makers.add(function, bits, asked)
    _add_graphs(project, makers, function, asked)
    search = _Search(project, events, makers)
    for bit in bits.values():
        told = search.left(function, bit, carried=bool(bit & again))
        if told is not None:
            return told
    return None


def left_for_others(function: FunctionView, places: Sequence[Place], found: set[Place]) -> Witness | None:
    """The same where callers whom nobody sees do it: a public function is called again, or shows what is left."""
    project = function.project
    public = project.public
    if function.is_called:
        return None
    if found:  # somebody decorates what is called more than once
        return Witness("(the next call reads what this one has left)", ())
    codes = {frame.code for frame in project.extents.frames(extent_of(function))}
    for place in places if public.has(function.code) else ():
        for frame, position in _readers(project, place, codes):
            if public.has(frame.code) and frame.code.name not in SETTING_UP:
                where = Evidence(f"`{frame.code.name}` reads it", frame.code.path, position >> 16)
                return Witness(f"(`{frame.code.name}` reads it at {_at(project, where)})", (where,))
    return None


def is_traced(project: ProjectView, frame: Frame) -> bool:
    """Whether only graphs run code, while they are traced: what it writes there is told of those."""
    known: dict[Frame, bool] = project.shared("traced alone", dict)
    if frame not in known:
        known[frame] = True  # a recursion: what else calls it decides
        hybrid = frame.code in project.solution.world.hybrids
        known[frame] = hybrid or (bool(frame.callers) and all(is_traced(project, each) for each in frame.callers))
    return known[frame]


def _is_one(frame: Frame, owner: Heap | None) -> bool:
    """Whether a frame is of calls on one object; of several taken together nobody knows whose field is meant."""
    if not isinstance(owner, Inst) or not frame.args:
        return True
    mine = [o for o in frame.args[0] if isinstance(o, Inst)]
    return len(mine) <= 1 or owner not in mine


def _add_graphs(project: ProjectView, makers: Makers, function: FunctionView, asked: int) -> None:
    """Adds the calls of `tf.function`: each makes an object without a graph."""
    for code, position in project.solution.world.hybrids.get(function.code, ()):
        for made in remade_at(project, code, position) if not code.is_class else ():
            makers.site(made, asked)
    for code in makers_of_short_lived(function):
        makers.nested[code] = makers.nested.get(code, 0) | asked


def _readers(project: ProjectView, place: Place, codes: set[Code]) -> Iterator[tuple[Frame, int]]:
    """What reads a place outside of some code: tests, which look at everything, don't count."""
    whole = place.whole if isinstance(place, Part) else place
    if isinstance(whole, Container):
        looked = project.shared("looks into containers", lambda: _looks(project))
        found: Iterable[tuple[Frame, int]] = looked.get(whole, ())
    else:
        owner = writes_of(project).owners.get(place)
        found = _fields(project, owner, whole) if owner is not None else _variables(project, whole)
    for frame, position in found:
        another = isinstance(place, Part) and _is_of_another(frame, position, place.key)
        if frame.code not in codes and not another and not project.roles.is_test(frame.code.path):
            yield frame, position


def _is_of_another(frame: Frame, position: int, key: object) -> bool:
    """Whether what is read of a dictionary are entries of other keys."""
    read = [instr for instr in index_of(frame.code).at(position) if isinstance(instr, ir.Item)]
    keys = [constants(frame, instr.index) for instr in read]
    return bool(keys) and all(some is not None and key not in some for some in keys)


def _fields(project: ProjectView, owner: Heap, cell: Cell) -> Iterator[tuple[Frame, int]]:
    """What reads a field of an object."""

    def gather() -> dict[str, list[tuple[Code, ir.Attr]]]:
        found: dict[str, list[tuple[Code, ir.Attr]]] = {}
        for code in project.solution.frames:
            for name, some in index_of(code).attributes.items():
                found.setdefault(name, []).extend((code, instr) for instr in some)
        return found

    for code, instr in project.shared("reads of attributes", gather).get(str(name_of(cell, owner)), ()):
        for frame in project.solution.frames[code]:
            if owner in (frame.vals[instr.owner] or _NO_VALUE):
                yield frame, instr.position


def _variables(project: ProjectView, cell: Cell) -> Iterator[tuple[Frame, int]]:
    """What reads a global or captured variable."""

    def gather() -> dict[str, list[tuple[Code, ir.Outer]]]:
        found: dict[str, list[tuple[Code, ir.Outer]]] = {}
        for code in project.solution.frames:
            for instr in index_of(code).of(ir.Global, ir.Cell):
                found.setdefault(instr.name, []).append((code, instr))
        return found

    every = project.shared("reads of variables", gather)
    written = (i for f, pos in writes_of(project).every.get(cell, ()) for i in index_of(f.code).at(pos))
    for name in {str(instr.name) for instr in written if isinstance(instr, ir.SetOuter)}:
        for code, instr in every.get(name, ()):
            for frame in project.solution.frames[code]:
                if variable(frame, instr) is cell:
                    yield frame, instr.position


def _looks(project: ProjectView) -> dict[Obj, list[tuple[Frame, int]]]:
    """What looks into each container, or hands it to a function."""
    found: dict[Obj, list[tuple[Frame, int]]] = {}
    for code, frames in project.solution.frames.items():
        index = index_of(code)
        looked = [(item.source, item.position) for item in index.of(ir.Item)]
        looked += [(s, i.position) for i in index.of(ir.Iter, ir.Unpack, ir.Compare, ir.Binary) for s in operands(i)]
        for call in index.of(ir.Call):
            looked += [(slot, call.position) for slot in arguments(call) if slot >= 0]
        for frame in frames:
            for slot, position in looked:
                for obj in frame.vals[slot] or ():
                    if isinstance(obj, Container):
                        found.setdefault(obj, []).append((frame, position))
    return found


def _starts_but_tests(project: ProjectView) -> list[Frame]:
    """Where runs of the program begin that are no tests."""
    return [frame for frame in starts_of(project) if not project.roles.is_test(frame.code.path)]


class _Search:
    """Looks for the places of events in the runs of a program."""

    def __init__(self, project: ProjectView, events: Events, makers: Makers) -> None:
        self.project = project
        self.events = events
        makers.lead(project, events)
        self.order: Order = order_of(project, events, makers, strict=True)
        events.spread(ranks_of(project))
        self.starts = project.shared("starts but tests", lambda: _starts_but_tests(project)) if events.every else []

    def between(self, function: FunctionView, place: Place, bit: int) -> Witness | None:
        """The call, the write and the next call."""
        frame = self._whole(bit)
        if frame is None:
            return None
        steps = list(self._steps(frame))
        calls = [at for at, does in steps if does[0][1] & bit or does[0][2] & bit or does[0][3] & bit]
        writes = [at for at, does in steps if does[1][2] & bit or does[1][3] & bit]
        again = [at for at, does in steps if does[2][3] & bit]
        kept = {at for at in writes if again and all(keeps_step(function, frame, place, at, call) for call in again)}
        if kept:  # what stands before all calls gives the first value
            looped = index_of(frame.code).looped
            writes = [at for at in writes if at not in kept and (at in looped or at > min(calls, default=at))]
        if not (calls and writes and again):
            return None
        first, write, second = _in_order(frame, calls, writes, again)
        name, path = function.code.name, frame.code.path
        who, changed = self._deepest(frame, write, bit)
        events = (
            Evidence(f"`{name}` is called here, and traced", path, first >> 16),
            Evidence(f"then it is changed here, by `{who.code.name}`", who.code.path, changed >> 16),
            Evidence(f"and `{name}` is called again, with the same graph", path, second >> 16),
        )
        by = f"`{who.code.name}` changes it" if who.code.is_function else "changed"
        at = _at(self.project, events[1])
        said = f"({by} at {at}, and then `{name}` is called again at {_at(self.project, events[2])})"
        cause = (_writer(who), Evidence("again", path, second >> 16))
        return Witness(said, events, often=self._is_often(frame, write, second), cause=cause)

    def _is_often(self, frame: Frame, write: int, call: int) -> bool:
        """Whether a loop has the call without the write, or turns long with both."""
        loops, counts = index_of(frame.code).loops, self.project.shared("counts of witnesses", Counts)
        if set(loops.get(call, ())) - set(loops.get(write, ())):
            return True
        around = counts.places(frame.code).around
        both = [loop for loop in around.get(call, ()) if loop in around.get(write, ())]
        return any(counts.is_long(frame, loop, _LONG) for loop in both)

    def left(self, function: FunctionView, bit: int, *, carried: bool) -> Witness | None:
        """The call, and the read of what it has left."""
        frame = self._whole(bit)
        if frame is None:
            return None
        steps = list(self._steps(frame))
        name, path = function.code.name, frame.code.path
        calls = [at for at, does in steps if does[0][1] & bit or does[0][2] & bit or does[0][3] & bit]
        reads = [at for at, does in steps if does[1][3] & bit or does[2][3] & bit]
        if not (calls and reads):
            return None
        first = calls[0]
        read = next((at for at in reads if at > first), reads[0])
        here = Evidence(f"`{name}` is called here, and traced", path, first >> 16)
        inside = self._deepest(frame, read, bit, reads=True)
        if inside[0] in self.events.asked or (carried and not self.events.uses):
            there = Evidence(f"`{name}` is called again, and reads what was left", path, read >> 16)
            return Witness(
                f"(the next call, at {_at(self.project, there)}, reads what this one has left)", (here, there)
            )
        there = Evidence("and what it has left is read here", inside[0].code.path, inside[1] >> 16)
        by = f" by `{inside[0].code.name}`" if inside[0].code.is_function else ""
        return Witness(f"(read outside of the graph{by} at {_at(self.project, there)})", (here, there))

    def _whole(self, bit: int) -> Frame | None:
        """The innermost frame in whose run all of it happens."""
        frame = next((f for f in self.starts if self.order.stale(f) & bit), None)
        seen: set[Frame] = set()
        while frame is not None and frame not in seen:
            seen.add(frame)
            inner = (callee for callee in self._callees(frame) if self._does(callee)[0][3] & bit)
            frame = next((each for each in inner if each not in self.events.asked), None) or frame
        return frame

    def _callees(self, frame: Frame) -> list[Frame]:
        known = self.order.sites.of(frame)
        return [callee for pos in sorted(known) for callee, _ in known[pos] if self.order.matters(callee)]

    def _does(self, frame: Frame) -> Relation:
        return self.order.run(frame) or self.order.nothing

    def _steps(self, frame: Frame) -> Iterator[tuple[int, Relation]]:
        """What happens at the positions of a frame, in the order of its text."""
        found: dict[int, list[Relation]] = {}
        for pos, some in self.order.sites.of(frame).items():
            found.setdefault(pos, []).extend(self._does(callee) for callee, _ in some if self.order.matters(callee))
        for pos, relation in self.order.own_steps(frame):
            found.setdefault(pos, []).append(relation)
        for pos in sorted(found):
            yield from ((pos, relation) for relation in found[pos])

    def _deepest(self, frame: Frame, pos: int, bit: int, *, reads: bool = False) -> tuple[Frame, int]:
        """The code behind a call that writes or reads a place itself, and where."""
        kind = self.events.uses if reads else self.events.writes
        seen: set[Frame] = set()
        while frame not in seen:
            seen.add(frame)
            if kind.get(frame, {}).get(pos, 0) & bit:
                return frame, pos
            callees = [callee for callee, _ in self.order.sites.of(frame).get(pos, ()) if self.order.matters(callee)]
            row, column = (2 if self.events.late else 1, 3) if reads else (1, 2)
            inner = next((c for c in callees if self._does(c)[row][column] & bit or self._does(c)[row][3] & bit), None)
            if inner is None:
                return frame, pos
            if inner in self.events.asked:
                return inner, inner.code.position
            below = (at for at, does in self._steps(inner) if does[row][column] & bit or does[row][3] & bit)
            frame, pos = inner, next(below, inner.code.position)
        return frame, pos


def _at(project: ProjectView, where: Evidence) -> str:
    return place_words(where.path, where.line, project.cells(where.path))


def _in_order(frame: Frame, calls: list[int], writes: list[int], again: list[int]) -> tuple[int, int, int]:
    """A call, a write and a call that may follow each other: in the text, or in the turns of a loop around them all."""
    loops = index_of(frame.code).loops
    for write in writes:
        before = [at for at in calls if at < write]
        after = [at for at in again if at > write]
        if before and after:
            return before[-1], write, after[0]
    for write in writes:
        around = set(loops.get(write, ()))
        inside = [at for at in again if around & set(loops.get(at, ()))]
        if inside:
            return (calls if calls[0] not in inside else inside)[0], write, inside[0]
    return calls[0], writes[0], again[0]
