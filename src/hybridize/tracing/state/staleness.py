"""Which places the program writes between two calls of a function: asked for many functions, answered in one walk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from hybridize.domain.objects import (
    NONE,
    Cell,
    Class,
    Container,
    Heap,
    Inst,
    LibInst,
    Mod,
    Obj,
    Stream,
    Tensor,
    Unknown,
)
from hybridize.domain.session import solved
from hybridize.domain.tensors import VARIABLE
from hybridize.domain.words import SETTING_UP
from hybridize.facts.calls.public import Strangers
from hybridize.facts.state.guards import stored
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import operands
from hybridize.records import dataclass
from hybridize.tracing.running.short_lived import remade_at
from hybridize.tracing.state.order import Events, Order, Sites
from hybridize.tracing.state.parts import Part
from hybridize.tracing.state.setters import setters_of
from hybridize.tracing.state.writes import Place, Writes, makes, writes_of
from hybridize.tracing.views import FunctionView, ProjectView

#: So many bits are kept at once for all frames together, and at least so many for each.
_MEMORY: Final = 1_500_000_000
_FEWEST: Final = 2_000
#: So many methods lead from a constructor to one that sets up: an override that calls the one that it overrides.
_HELPERS: Final = 2


#: Where a place is seen to change between two calls: in a run of the program, in tests alone, or nowhere.
RUNS: Final = "runs"
TESTS: Final = "tests"
OPEN: Final = "open"


@dataclass(frozen=True, slots=True)
class Stale:
    """How a place comes to be written between two calls; `unless` is what can be assumed so that it is not."""

    seen: str = RUNS
    unless: str = ""


@dataclass(slots=True)
class _Question:
    """A function, and the places in question, with a bit for each; `asked` are all of them."""

    function: FunctionView
    places: dict[Place, int]
    asked: int
    extent: int


def stale(
    project: ProjectView, questions: Sequence[tuple[FunctionView, Mapping[Place, Sequence[Frame]]]]
) -> list[dict[Place, Stale]]:
    """For functions with the places that they read, and their frames that do: the places that are written in between.

    Those count that some run of the program shows, and those that it leaves open.
    """
    answers: list[dict[Place, Stale]] = []
    for batch in _batches(project, questions):
        answers += _answers(project, batch)
    return answers


def _batches(
    project: ProjectView, questions: Sequence[tuple[FunctionView, Mapping[Place, Sequence[Frame]]]]
) -> Iterator[Sequence[tuple[FunctionView, Mapping[Place, Sequence[Frame]]]]]:
    """The questions in groups, so that what is kept for each frame about each place fits into memory."""
    most = max(_FEWEST, _MEMORY // max(len(project.extents.components), 1))
    first = size = 0
    for i, (_, places) in enumerate(questions):
        if size and size + len(places) > most:
            yield questions[first:i]
            first, size = i, 0
        size += len(places)
    yield questions[first:]


def _answers(
    project: ProjectView, questions: Sequence[tuple[FunctionView, Mapping[Place, Sequence[Frame]]]]
) -> list[dict[Place, Stale]]:
    """The answers to some questions, by one walk."""
    events = Events()
    makers = Makers()
    asked = [_ask(project, events, makers, function, places) for function, places in questions]
    written, tested = _between(project, events, makers) if events.every else (0, 0)
    answers: list[dict[Place, Stale]] = []
    for question in asked:
        found = (written | tested) & question.asked
        answer = {
            place: Stale(RUNS if written & bit else TESTS) for place, bit in question.places.items() if found & bit
        }
        if question.asked:
            answer = {**_left_open(project, question), **answer}
        answers.append(answer)
    return answers


def extent_of(function: FunctionView) -> int:
    """What calls of a function may run, module bodies excepted."""
    extents = function.project.extents
    return extents.without_bodies(extents.of_all(function.frames))


def counts(project: ProjectView, extent: int, frame: Frame, place: Place) -> bool:
    """Whether what a frame writes counts for a function of this extent: not its own writes, nor those of makers."""
    return not makes(frame, place, writes_of(project).owners.get(place)) and not project.extents.has(extent, frame)


def _ask(
    project: ProjectView,
    events: Events,
    makers: Makers,
    function: FunctionView,
    places: Mapping[Place, Sequence[Frame]],
) -> _Question:
    """Adds a question to the events."""
    first = events.every.bit_length()
    bits = {place: 1 << first + i for i, place in enumerate(places)}
    asked = ((1 << len(places)) - 1) << first
    question = _Question(function, bits, asked, extent_of(function))
    if not places:
        return question
    events.every |= asked
    known = writes_of(project)
    for place, frames in places.items():
        for frame in frames:
            events.call(frame, bits[place], asked)
        for frame, position in known.at(place):
            if counts(project, question.extent, frame, place):
                events.write(frame, position, bits[place], asked)
    makers.add(question.function, question.places, question.asked)
    return question


def _between(project: ProjectView, events: Events, makers: Makers) -> tuple[int, int]:
    """The places that some run of the program writes between two calls, and those that some run of a test does."""
    events.spread(ranks_of(project))
    order = order_of(project, events, makers)
    written = tested = 0
    for frame in starts_of(project):
        found = order.stale(frame)
        if project.roles.is_test(frame.code.path):
            tested |= found
        else:
            written |= found
    return written, tested


def order_of(project: ProjectView, events: Events, makers: Makers, *, strict: bool = False) -> Order:
    """The order of some events in the program; strict, where only what is sure to run counts."""
    return Order(events, makers.of, project.shared("sites of calls", Sites), strict=strict)


@solved
def ranks_of(project: ProjectView) -> dict[Frame, int]:
    """Numbers of frames, lower for callees."""
    return {frame: rank for rank, component in enumerate(project.extents.components) for frame in component}


def starts_of(project: ProjectView) -> list[Frame]:
    """Where runs of the program begin: module bodies, and what nothing calls."""
    return project.shared("starts of runs", lambda: _starts(project.solution))


def _starts(solution: Solution) -> list[Frame]:
    bodies = list(solution.world.module_frames.values())
    live = {frame for frames in solution.frames.values() for frame in frames}
    roots = {callee: None for body in bodies for _, callee in body.roots if callee in live}
    return [*bodies, *roots]


def _is_called(function: FunctionView) -> bool:
    """Whether the program itself calls a function."""
    return function.facts.reached or function.is_called


def _left_open(project: ProjectView, question: _Question) -> dict[Place, Stale]:
    """What callers whom nobody sees may write: of a function that the program calls, and of one that only they do."""
    if not _is_called(question.function):
        return _open(project, question)
    found = _called_back(project, question)
    if _strangers(project).serves(question.function.code):
        found = {**_open(project, question), **found}
    return found


def _open(project: ProjectView, question: _Question) -> dict[Place, Stale]:
    """Of a function that nothing calls: whoever will may call the writers of its places in between."""
    known = writes_of(project)
    strangers = _strangers(project)
    found: dict[Place, Stale] = {}
    for place in question.places:
        owner = known.owners.get(place)
        codes = {
            frame.code: None
            for frame, _ in known.at(place)
            if counts(project, question.extent, frame, place)
            and not (_makes_both(frame, place, question.function.code) or _makes_owner(frame, owner))
        }
        if not question.function.is_hybrid:  # of a graph that is there only what its own objects show is told
            codes |= {code: None for code, _ in setters_of(project).at(place, question.function, question.extent)}
        writers = [code for code in codes if strangers.may_call(code, shared=_shared(owner))]
        if writers:
            first = len(writers) == 1 and not _keeps_data(known, place, writers[0])
            first = first and (starts_empty(known, place) or _sets_up(project, known, place, writers[0]))
            unless = f"assumed that `{writers[0].qualname}` runs before it, and not again" if first else ""
            found[place] = Stale(OPEN, unless)
    return found


def _called_back(project: ProjectView, question: _Question) -> dict[Place, Stale]:
    """Of a function that the program calls: routes and callbacks write what it reads, and run again at any time."""
    known = writes_of(project)
    strangers = _strangers(project)
    found: dict[Place, Stale] = {}
    for place in question.places:
        writers = {
            frame.code
            for frame, position in known.at(place)
            if _shared(known.owners.get(place))
            and counts(project, question.extent, frame, place)
            and not _writes_first(frame, position, place, question.function.code)
        }
        if any(strangers.handed(code) for code in writers) and strangers.may_call(question.function.code, shared=True):
            found[place] = Stale(OPEN)
    return found


def _strangers(project: ProjectView) -> Strangers:
    return project.shared("strangers", lambda: Strangers(project.solution, project.roles))


def _shared(owner: Obj | None) -> bool:
    """Whether a place is no field of an object that a constructor makes."""
    return owner is None or isinstance(owner, (Class, Mod))


def starts_empty(known: Writes, place: Place) -> bool:
    """Whether what makes a place leaves it empty: who writes it then gives it its first value.

    A field or variable that constructors, class and module bodies set to None or not at all; a container without items.
    """
    place = place.whole if isinstance(place, Part) else place
    if isinstance(place, Container):
        made = index_of(place.site[0]).at(place.site[1])
        if not any(isinstance(instr, (ir.List, ir.Dict)) and not operands(instr) for instr in made):
            return False
    owner = known.owners.get(place)
    for frame, pos in known.every.get(place, ()):
        # A module that sets a field of an object uses what a constructor, or a first call, has made.
        if (frame.code.is_body and not isinstance(owner, Inst)) or makes(frame, place, owner):
            values = [frame.vals[slot] or () for slot in stored(frame, pos)]
            if isinstance(place, Container) or not values or any(o is not NONE for value in values for o in value):
                return False
    return isinstance(place, Container) or all(not code.is_class for code, _ in place.writes)


def _sets_up(project: ProjectView, known: Writes, place: Place, writer: Code) -> bool:
    """Whether only constructors of the object call a method, which keeps nothing as it is given: no setter."""
    frames = project.solution.frames.get(writer, ())
    called = [frame for frame in frames if any(True for _ in frame.seen_calls())] or frames
    if not called or not all(_is_of_construction(frame, place, known.owners.get(place), _HELPERS) for frame in called):
        return False
    index, given = index_of(writer), {param.slot for param in writer.params}
    return all(
        index.original(slot) not in given
        for frame, pos in known.at(place)
        if frame.code is writer
        for slot in stored(frame, pos)
    )


def _is_of_construction(frame: Frame, place: Place, owner: Heap | None, far: int) -> bool:
    """Whether only constructors of an object, or methods that these alone call, are seen to call a method.

    Where none is, a default of a constructor may decide against it (`restore=False`): then what its text calls counts.
    """
    callers = {caller for caller, _, _ in frame.seen_calls() if not caller.gone}
    beside = frame.code.parent.children if frame.code.in_class and frame.code.parent is not None else ()
    if not callers:
        return any(code.name in SETTING_UP and frame.code.name in index_of(code).attributes for code in beside)
    return all(
        makes(caller, place, owner) or (far > 0 and _is_of_construction(caller, place, owner, far - 1))
        for caller in callers
    )


def _keeps_data(known: Writes, place: Place, writer: Code) -> bool:
    """Whether a method that is given something keeps tensors or arrays, no variables: with other data it runs again.

    So does a method that gives something to an object of a library, which keeps what it finds there (`adapt(data)`).
    """
    if len(writer.params) < 2:
        return False
    values = [f.vals[slot] or () for f, pos in known.at(place) if f.code is writer for slot in stored(f, pos)]
    data = (Tensor, Stream, Unknown) if place in known.states.values() else (Tensor,)
    return any(isinstance(obj, data) and not _is_variable(obj) for value in values for obj in value)


def _is_variable(obj: Obj) -> bool:
    return isinstance(obj, Tensor) and obj.kind == VARIABLE


def _makes_both(frame: Frame, place: Place, code: Code) -> bool:
    """Whether the call that writes a variable of its own makes the function too: no other call writes that variable."""
    if all(frame.cells[name] is not place for name in frame.code.cells):
        return False
    outer = code.parent
    while outer is not None and outer is not frame.code:
        outer = outer.parent
    return outer is not None


def _writes_first(frame: Frame, position: int, place: Place, code: Code) -> bool:
    """Whether a call writes a variable of its own before it makes the function, and not again."""
    if not _makes_both(frame, place, code):
        return False
    while code.parent is not None and code.parent is not frame.code:
        code = code.parent
    index = index_of(frame.code)
    made = [instr.position for instr in index.of(ir.Func) if instr.code is code]
    again = position in index.looped
    return bool(made) and all(position < each and not (again and each in index.looped) for each in made)


def _makes_owner(frame: Frame, owner: Obj | None) -> bool:
    """Whether the call that writes a field of a library's object makes the object: it is still being set up."""
    return isinstance(owner, LibInst) and owner.site[0] is frame.code


class Makers:
    """Where places, or functions themselves, are made anew: what was traced before is of no account then."""

    def __init__(self) -> None:
        self.sites: dict[object, dict[int, int]] = {}
        self.owned: dict[Cell, int] = {}
        self.nested: dict[Code, int] = {}  # the questions about functions that a function makes

    def add(self, function: FunctionView, places: Mapping[Place, int], asked: int) -> None:
        """Adds those of a question: of a function, about some places, with a bit for each."""
        known = writes_of(function.project)
        for place, bit in places.items():
            owner: Obj | None = known.owners.get(place)
            if isinstance(owner, (Inst, LibInst, Container)):
                self.site(owner.site, bit)
            elif isinstance(place, Cell):
                self.owned[place] = self.owned.get(place, 0) | bit
        parent = function.code.parent
        # Objects of several turns of a loop are made at one place.
        sites = {o.site for f in function.frames if f.args for o in f.args[0] if isinstance(o, Inst)}
        if len(sites) == 1 and parent is not None and parent.is_class:
            self.site(next(iter(sites)), asked)
        if parent is None or parent.is_class:
            return
        # A loop makes it anew in each turn; another one of its name takes its place, and may be called as it was.
        made = [
            instr.position
            for instr in index_of(parent).of(ir.Func)
            if instr.code is function.code or (function.is_hybrid and instr.code.name == function.code.name)
        ]
        kept = {at for at in made if function.is_hybrid and not remade_at(function.project, parent, at)}
        if not parent.is_body and not (made and kept.issuperset(made)):
            self.nested[parent] = self.nested.get(parent, 0) | asked
        for at in made:
            if at not in kept:
                self.site((parent, at), asked)

    def site(self, made: tuple[object, int], bits: int) -> None:
        """Adds a place of the program that makes something: code, and the position in it."""
        code, pos = made
        row = self.sites.setdefault(code, {})
        row[pos] = row.get(pos, 0) | bits

    def lead(self, project: ProjectView, events: Events) -> None:
        """Lets what makes something count, also where it leads to nothing else that happens."""
        frames = project.solution.frames
        for code, row in self.sites.items():
            for frame in frames.get(code, ()) if isinstance(code, Code) else ():
                events.lead(frame, _all(row.values()))
        for code, bits in self.nested.items():
            for frame in frames.get(code, ()):
                events.lead(frame, bits)

    def of(self, frame: Frame) -> dict[int, int]:
        """The places that a frame makes, by position; -1: when it starts."""
        found = dict(self.sites.get(frame.code, ()))
        start = self.nested.get(frame.code, 0)
        for name in frame.code.cells:
            start |= self.owned.get(frame.cells[name], 0)
        if start:
            found[-1] = start
        return found


def _all(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
