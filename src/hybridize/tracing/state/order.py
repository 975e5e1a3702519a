"""Which changes of state may happen between two calls of a function, in the order in which the program runs.

For each place (a field, a global, a container) a program's run is a word of events: the function is called (F), the
place is written (W), the place is new again because the object that holds it was made (N). A call uses what an earlier
call's trace froze where the word contains F, W, F without an N between. What a piece of code does to the automaton of
that pattern is a relation between its states; relations compose, join at branches, and repeat in loops. A relation for
many places at once is a matrix of bit masks, one bit for each place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias, cast

from hybridize.domain.calls import REPEATED, UNORDERED, How
from hybridize.domain.objects import Bound, Class, Func, Inst, Wrapper
from hybridize.facts.calls.frequency import run_as
from hybridize.facts.origins import calls_at
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Block, Instr
from hybridize.program.operands import NESTED
from hybridize.records import dataclass, field

#: Per state before (nothing yet, called, called and then written) the masks of the states after, `stale` the last.
Relation: TypeAlias = tuple[tuple[int, int, int, int], tuple[int, int, int, int], tuple[int, int, int, int]]


def identity(every: int) -> Relation:
    """Nothing happens."""
    return ((every, 0, 0, 0), (0, every, 0, 0), (0, 0, every, 0))


def called(mask: int, every: int) -> Relation:
    """The function is called, for the places in the mask."""
    rest = every & ~mask
    return ((rest, mask, 0, 0), (0, every, 0, 0), (0, 0, rest, mask))


def written(mask: int, every: int) -> Relation:
    """The places in the mask are written."""
    rest = every & ~mask
    return ((every, 0, 0, 0), (0, rest, mask, 0), (0, 0, every, 0))


def settled(mask: int, every: int) -> Relation:
    """The places in the mask get the one value that they ever get: a later call finds what the first one has found,
    unless one was before."""
    rest = every & ~mask
    return ((rest, 0, 0, 0), (0, rest, mask, 0), (0, 0, every, 0))


def renewed(mask: int, every: int) -> Relation:
    """The places in the mask are made anew."""
    rest = every & ~mask
    return ((every, 0, 0, 0), (mask, rest, 0, 0), (mask, 0, rest, 0))


def once_more(mask: int, every: int) -> Relation:
    """The function is called, for places of which a second call uses what the first one has left there."""
    rest = every & ~mask
    return ((rest, mask, 0, 0), (0, rest, 0, mask), (0, 0, rest, mask))


def counted(mask: int, every: int) -> Relation:
    """The function is called: for the places in the mask it matters whether that is the first time."""
    rest = every & ~mask
    return ((rest, mask, 0, 0), (0, rest, mask, 0), (0, 0, every, 0))


def emptied(mask: int, every: int) -> Relation:
    """What calls have left in the places in the mask is overwritten: the next call is not the first one."""
    rest = every & ~mask
    return ((every, 0, 0, 0), (0, every, 0, 0), (0, mask, rest, 0))


def used_late(mask: int, every: int) -> Relation:
    """What a later call than the first has left in the places in the mask is read, or should have left there."""
    rest = every & ~mask
    return ((every, 0, 0, 0), (0, every, 0, 0), (0, 0, rest, mask))


def used(mask: int, every: int) -> Relation:
    """What a call has left in the places in the mask is read."""
    rest = every & ~mask
    return ((every, 0, 0, 0), (0, rest, 0, mask), (0, 0, rest, mask))


def then(a: Relation, b: Relation) -> Relation:
    """One after the other."""
    rows = []
    for row in a:
        after = [0, 0, 0, row[3]]
        for middle in range(3):
            if row[middle]:
                for end in range(4):
                    after[end] |= row[middle] & b[middle][end]
        rows.append((after[0], after[1], after[2], after[3]))
    return (rows[0], rows[1], rows[2])


def either(a: Relation, b: Relation) -> Relation:
    """One or the other."""
    rows = [(p[0] | q[0], p[1] | q[1], p[2] | q[2], p[3] | q[3]) for p, q in zip(a, b, strict=True)]
    return (rows[0], rows[1], rows[2])


def chosen(mask: int, a: Relation, b: Relation) -> Relation:
    """What the one does to the places in the mask, and the other to the rest."""
    rows = [tuple(x & mask | y & ~mask for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True)]
    return cast("Relation", tuple(rows))


def repeated(a: Relation, every: int) -> Relation:
    """Any number of times."""
    found = identity(every)
    while True:
        more = either(found, then(found, a))
        if more == found:
            return found
        found = more


@dataclass(slots=True)
class Events:
    """What happens where, for the questions of any number of functions at once; each question has places of its own.

    `calls` has for the frames of a function the places that their extent reads, `asked` all the places of its question:
    what the function's own code does is no matter to it. `writes` has for a frame and a position in it the places that
    are written there, `settles` those that only ever get one value, `leads` for each frame the places of the questions
    to whose events it leads.
    `late` says that what the first call leaves behind is right, as long as no other comes after it.
    Of what a call leaves behind: `again` has for the frames of a function the places that carry something to the next
    call, `uses` and `clears` for a frame and a position the places that are read there, and overwritten unread.
    """

    every: int = 0
    late: bool = False
    calls: dict[Frame, int] = field(default_factory=dict)
    again: dict[Frame, int] = field(default_factory=dict)
    uses: dict[Frame, dict[int, int]] = field(default_factory=dict)
    clears: dict[Frame, dict[int, int]] = field(default_factory=dict)
    asked: dict[Frame, int] = field(default_factory=dict)
    writes: dict[Frame, dict[int, int]] = field(default_factory=dict)
    settles: dict[Frame, dict[int, int]] = field(default_factory=dict)
    leads: dict[Frame, int] = field(default_factory=dict)

    def call(self, frame: Frame, read: int, asked: int) -> None:
        """Notes that calls of a frame, one of the function that a question is about, read some places."""
        self.calls[frame] = self.calls.get(frame, 0) | read
        self.asked[frame] = self.asked.get(frame, 0) | asked
        self.lead(frame, asked)

    def write(self, frame: Frame, position: int, place: int, asked: int) -> None:
        """Notes that a frame writes a place."""
        self._at(self.writes, frame, position, place, asked)

    def settle(self, frame: Frame, position: int, place: int, asked: int) -> None:
        """Notes that a frame gives a place the one value that it ever gets."""
        self._at(self.settles, frame, position, place, asked)

    def use(self, frame: Frame, position: int, place: int, asked: int) -> None:
        """Notes that a frame reads a place."""
        self._at(self.uses, frame, position, place, asked)

    def clear(self, frame: Frame, position: int, place: int, asked: int) -> None:
        """Notes that a frame overwrites a place, whatever was there."""
        self._at(self.clears, frame, position, place, asked)

    def _at(self, kind: dict[Frame, dict[int, int]], frame: Frame, position: int, place: int, asked: int) -> None:
        row = kind.setdefault(frame, {})
        row[position] = row.get(position, 0) | place
        self.lead(frame, asked)

    def lead(self, frame: Frame, asked: int) -> None:
        """Notes that a frame matters to a question."""
        self.leads[frame] = self.leads.get(frame, 0) | asked

    def spread(self, ranks: Mapping[Frame, int]) -> None:
        """Carries on who leads to events, to callers. `ranks` are lower for callees: with them each is seen once."""
        last = len(ranks)
        todo = [(ranks.get(frame, last), frame.uid, frame) for frame in self.leads]
        heapify(todo)
        queued = set(self.leads)
        while todo:
            _, _, frame = heappop(todo)
            queued.discard(frame)
            found = self.leads[frame]
            for caller in frame.callers:
                old = self.leads.get(caller, 0)
                if found & ~old:
                    self.leads[caller] = old | found
                    if caller not in queued:
                        queued.add(caller)
                        heappush(todo, (ranks.get(caller, last), caller.uid, caller))


class Order:
    """The relations of frames, for given events.

    Args:
        events: what happens where.
        makes: for a frame and a position in it, the places that are made there; position -1: when the frame starts.
        sites: what is known of the program's calls already.
        strict: a call that may run one of several functions counts only where all of them do.
    """

    def __init__(
        self, events: Events, makes: Callable[[Frame], dict[int, int]], sites: Sites, *, strict: bool = False
    ) -> None:
        self.events = events
        self.every = events.every
        self.nothing = identity(events.every)
        self.sites = sites
        self.strict = strict
        self._makes = makes
        self.use = used_late if events.late else used
        self.clear = emptied if events.late else renewed
        self._relations: dict[Frame, Relation] = {}

    def stale(self, frame: Frame) -> int:
        """The places that a run of a frame may write between two calls."""
        return self._frame(frame)[0][3] if self.matters(frame) else 0

    def makes(self, frame: Frame) -> dict[int, int]:
        """The places that a frame makes, by position, of the questions to whose events it leads."""
        leads = self.events.leads[frame]
        return {position: found & leads for position, found in self._makes(frame).items() if found & leads}

    def _frame(self, frame: Frame) -> Relation:
        found = self._relations.get(frame)
        if found is None:
            asked = self.events.asked.get(frame, 0)
            own = self._own(frame) if asked else self.nothing
            self._relations[frame] = found = own  # of a recursive call
            if self.events.leads[frame] & ~asked:
                makes = self.makes(frame)
                found = _Walk(self, frame, makes).block(frame.code.body)
                start = makes.get(-1, 0)
                if start:
                    found = then(renewed(start, self.every), found)
                if asked:
                    found = chosen(asked, own, found)
            self._relations[frame] = found
        return found

    def _own(self, frame: Frame) -> Relation:
        """What a call of a function does to the places of its own questions."""
        call = counted if self.events.late else called
        own = call(self.events.calls[frame], self.every)
        again = self.events.again.get(frame, 0)
        return then(own, once_more(again, self.every)) if again else own

    def matters(self, frame: Frame) -> bool:
        """Whether a call of a frame leads to any event."""
        return frame in self.events.leads

    def own_steps(self, frame: Frame) -> Iterator[tuple[int, Relation]]:
        """What a frame does itself, by position."""
        kinds = ((self.events.uses, self.use), (self.events.writes, written), (self.events.settles, settled))
        for kind, does in kinds:
            for pos, mask in kind.get(frame, _NONE).items():
                yield pos, does(mask, self.every)

    def run(self, frame: Frame) -> Relation | None:
        """What a call of a frame does; None where it has no part in this."""
        return self._frame(frame) if frame in self.events.leads else None


class Sites:
    """Which callees each call of a frame runs, in their order: the same for every question about a solution."""

    def __init__(self) -> None:
        self._frames: dict[Frame, dict[int, list[tuple[Frame, How]]]] = {}
        self._run: dict[tuple[Frame, int], list[tuple[Frame, How]]] = {}

    def of(self, frame: Frame) -> dict[int, list[tuple[Frame, How]]]:
        """The calls of a frame that stand in an order, by position: callees, and how they are called."""
        found = self._frames.get(frame)
        if found is None:
            found = self._frames[frame] = {}
            for (pos, callee), how in frame.calls.items():
                if how not in UNORDERED:
                    found.setdefault(pos, []).append((callee, how))
        return found

    def run_by(self, frame: Frame, instr: Instr, pos: int) -> list[tuple[Frame, How]]:
        """What an instruction at a position runs."""
        key = (frame, id(instr))  # instructions live as long as their code
        found = self._run.get(key)
        if found is None:
            some = self.of(frame).get(pos, ())
            found = [(callee, how) for callee, how in some if _is_callee(frame, instr, callee)]
            found = [(callee, run_as(frame, pos, how) if how is How.CALLBACK else how) for callee, how in found]
            if not isinstance(instr, ir.Call):  # `app.run`, which is read before it is called
                found = [each for each in found if each[1] is not How.START]
            self._run[key] = found
        return found


class _Walk:
    """One frame's code."""

    def __init__(self, order: Order, frame: Frame, makes: dict[int, int]) -> None:
        self.order = order
        self.frame = frame
        self.every = order.every
        self.nothing = order.nothing
        self.makes = makes
        self.writes = order.events.writes.get(frame, _NONE)
        self.settles = order.events.settles.get(frame, _NONE)
        self.uses = order.events.uses.get(frame, _NONE)
        self.clears = order.events.clears.get(frame, _NONE)
        every = order.sites.of(frame)
        self.callees = {p: some for p, some in every.items() if any(order.matters(c) for c, _ in some)}
        kinds = (self.callees, self.makes, self.writes, self.settles, self.uses, self.clears)
        self.events = frozenset(pos for kind in kinds for pos in kind)

    def block(self, block: Block) -> Relation:
        """What a block does."""
        found = nothing = self.nothing
        for instr in block:
            if instr.position in self.events or type(instr) in NESTED:
                made = self._instr(instr)
                if made is not None:
                    found = made if found is nothing else then(found, made)
        return found

    def _instr(self, instr: Instr) -> Relation | None:
        match instr:
            case ir.If():
                first, second = self.block(instr.then), self.block(instr.orelse)
                return None if first is second is self.nothing else either(first, second)
            case ir.Loop():
                return self._loop(instr)
            case ir.Try():
                return self._try(instr)
            case ir.Passing():
                return None
        pos = instr.position
        found = self._calls(instr, pos) if pos in self.callees else None
        new = self.makes.get(pos, 0) if type(instr) in _MAKERS else 0
        if new:
            renew = renewed(new, self.every)
            found = renew if found is None else then(renew, found)
        clear, use = self.order.clear, self.order.use
        for kind, does in ((self.uses, use), (self.writes, written), (self.settles, settled), (self.clears, clear)):
            mask = kind.get(pos, 0) if kind is self.uses or isinstance(instr, _WRITERS) else 0
            if mask:
                more = does(mask, self.every)
                found = more if found is None else then(found, more)
        return found

    def _loop(self, loop: ir.Loop) -> Relation | None:
        test, body, after = self.block(loop.test), self.block(loop.body), self.block(loop.orelse)
        if test is body is after is self.nothing:
            return None
        return then(then(repeated(then(test, body), self.every), test), after)

    def _try(self, statement: ir.Try) -> Relation:
        found = self.block(statement.body)
        handled = identity(self.every)
        for handler in statement.handlers:
            handled = either(handled, self.block(handler.body))
        found = then(then(found, handled), self.block(statement.orelse))
        return then(found, self.block(statement.final))

    def _calls(self, instr: Instr, pos: int) -> Relation | None:
        found: Relation | None = None
        again = False
        joined: set[int] = set()
        callees = self.order.sites.run_by(self.frame, instr, pos)
        for callee, how in callees:
            does = self.order.run(callee) or self.nothing
            if id(does) not in joined:
                joined.add(id(does))
                found = does if found is None else either(found, does)
            again = again or how in REPEATED
        if found is not None and self.order.strict and len(joined) > 1 and not self._is_chosen_before(instr):
            found = chosen(self._unsure(callees), self.nothing, found)
        return repeated(found, self.every) if found is not None and again else found

    def _is_chosen_before(self, instr: Instr) -> bool:
        """Whether which function a call runs is settled before the loops around it: each turn calls the same one."""
        index = index_of(self.frame.code)
        func = index.source(instr.function) if isinstance(instr, ir.Call) else None
        base = index.source(func.owner) if isinstance(func, ir.Attr) else func
        if base is None or isinstance(base, (ir.Cell, ir.Iter, ir.Item)):
            return False  # a parameter: calls that were taken together may have passed different ones
        if isinstance(base, ir.Global):
            cell = self.frame.module.fields.get(base.name)
            return cell is not None and not any(pos in index_of(code).looped for code, pos in cell.writes)
        around = set(index.loops.get(instr.position, ()))
        return not around & set(index.loops.get(base.position, ()))

    def _unsure(self, callees: list[tuple[Frame, How]]) -> int:
        """The places of which some functions that one call may run call their function, and some don't."""
        rows = [(self.order.run(callee) or self.nothing)[0] for callee, _ in callees]
        calls = [row[1] | row[2] | row[3] for row in rows]
        some = every = calls[0]
        for each in calls[1:]:
            some |= each
            every &= each
        return some & ~every


_NONE: Final[Mapping[int, int]] = {}
#: Instructions that may allocate, and that may write.
_MAKERS: Final = frozenset({ir.Call, ir.List, ir.Dict, ir.Set, ir.Func, ir.Unpack, ir.Generator, ir.Item})
_WRITERS: Final = (ir.Store, ir.Change, ir.Call, ir.Inplace)


def _is_callee(frame: Frame, instr: Instr, callee: Frame) -> bool:
    """Whether an instruction makes a call: in a chain `f(x).g(y)` all calls stand at one position."""
    if not isinstance(instr, ir.Call):
        return not callee.code.is_lambda and callee.code.name not in _called_names(frame, instr.position)
    return len(calls_at(frame.code, instr.position)) < 2 or callee.code.name in _name_of(frame, instr)


def _called_names(frame: Frame, pos: int) -> set[str]:
    return {name for call in calls_at(frame.code, pos) for name in _name_of(frame, call)}


def _name_of(frame: Frame, call: ir.Call) -> set[str]:
    """The names that the function which a call runs may have."""
    names: set[str] = set()
    todo = list(frame.vals[call.function] or ())
    while todo:
        obj = todo.pop()
        match obj:
            case Func():
                names.add(obj.code.name)
            case Bound(func=Func() as func):
                names.add(func.code.name)
            case Bound(func=Wrapper() as wrapped):  # a method of which a graph is made
                todo.append(wrapped)
            case Class():
                names |= {"__init__", "__new__", "__post_init__"}
            case Inst():
                names |= {"__call__", "call"}
            case Wrapper() if len(names) < 20:
                todo += obj.inner
    return names
