"""Loops over few known items, followed item by item in small programs: each turn sees what the one before it left."""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.lattice import join, join_all, varying
from hybridize.domain.objects import BOTTOM, Container, Stream, Tup, Value, counter
from hybridize.flow.engine import Engine
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import ALWAYS, NO_SLOT, Instr

#: Loops are followed item by item while loops within each other take no more turns than these.
MAX_TURNS: Final = 24


def items_in_turn(engine: Engine, frame: Frame, loop: ir.Loop) -> list[Value] | None:
    """The items of a `for` that is followed item by item: few of them, known by position, in a small program."""
    if not loop.is_for or loop.breaks or not engine.world.follows_loops or loop.iterable == NO_SLOT:
        return None
    if any(edge == ALWAYS for phi in loop.phis for edge, _ in phi.incoming):
        return None
    value = frame.vals[loop.iterable]
    if not value or len(value) != 1:
        return None
    (obj,) = value
    if isinstance(obj, Stream):
        items = _counted(obj)
    elif isinstance(obj, Tup) or (isinstance(obj, Container) and obj.kind in ("list", "generator")):
        items = engine.calls.spread(frame, value, loop.test[-1].position)
    else:
        return None
    if not items or not all(items) or engine.cells.turns * len(items) > MAX_TURNS:
        return None
    return items


def _counted(obj: Stream) -> list[Value] | None:
    """The elements of a range of known length."""
    if obj.kind != "range" or obj.count is None or not 0 < obj.count <= MAX_TURNS:
        return None
    return [obj.element] * obj.count if obj.bounds is None else [counter(i).value for i in obj.bounds]


def follow(engine: Engine, frame: Frame, loop: ir.Loop, items: list[Value]) -> bool | None:
    """Executes a loop item by item; what follows sees what the last turn left."""
    vals, edges = frame.vals, frame.edges
    edges[loop.entry] = 1
    engine.execute(frame, loop.test)
    turns = _Turns(frame, loop)
    outer = frame.turn
    fills = _filled(engine, frame, loop, len(items))
    body = loop.body if fills is None else loop.body[:-1]
    start = frame.filled.get(loop.fills, 0) if loop.within else 0
    engine.cells.turns *= len(items)
    try:
        for turn in range(len(items) + 1):
            _begin_turn(frame, loop, turn)
            if turn == len(items):
                break
            edges[:] = turns.before
            vals[loop.test[-1].target] = items[turn]
            frame.turn = (*outer, turn)
            falls = engine.execute(frame, body)
            if falls:
                edges[loop.back] = 1
            if fills is not None:
                _fill(engine, frame, fills, start + turn, loop.body[-1])
            if not turns.goes_on(falls):
                edges[:] = turns.union
                return False  # this turn returns or raises
    finally:
        engine.cells.turns //= len(items)
        frame.turn = outer
        _count_filled(engine, frame, loop, None if fills is None else len(items))
    for slot, value in zip(turns.slots, turns.seen, strict=True):
        vals[slot] = value  # whoever looks at the loop sees all turns
    vals[loop.test[-1].target] = join_all(items)
    edges[:] = turns.union
    return _exhausted(engine, frame, loop)


class _Turns:
    """What the turns of a loop have left so far: the edges that they took, the values that were assigned."""

    def __init__(self, frame: Frame, loop: ir.Loop) -> None:
        self.frame = frame
        self.loop = loop
        self.union = bytearray(frame.edges)
        index = index_of(frame.code)
        for edge in index.inner_edges(loop):
            frame.edges[edge] = 0  # set by an earlier run of the frame: each turn sets its own
        self.before = bytes(frame.edges)
        self.slots = index.assigned(loop)
        self.seen: list[Any] = [None] * len(self.slots)

    def goes_on(self, falls: bool) -> bool:
        """Adds a turn, which came to the end of the body or not: whether another one may follow."""
        vals, edges = self.frame.vals, self.frame.edges
        for i, flag in enumerate(edges):
            self.union[i] |= flag
        for i, slot in enumerate(self.slots):
            self.seen[i] = join(self.seen[i] or BOTTOM, vals[slot] or BOTTOM)
        return falls or any(edges[edge] for edge in self.loop.continues)


def _exhausted(engine: Engine, frame: Frame, loop: ir.Loop) -> bool | None:
    """Leaves a loop at its end: False where its `else` returns or raises."""
    frame.edges[loop.exhausted] = 1
    if engine.execute(frame, loop.orelse):
        frame.edges[loop.done] = 1
        return None
    return False


def _begin_turn(frame: Frame, loop: ir.Loop, turn: int) -> None:
    """Gives the loop's variables what comes in: from before the loop, or from the turn before."""
    vals, edges = frame.vals, frame.edges
    joined = []
    for phi in loop.phis:
        value = BOTTOM
        for edge, slot in phi.incoming:
            if edge == loop.entry if turn == 0 else edge != loop.entry and edges[edge]:
                value = join(value, vals[slot] or BOTTOM)
        joined.append(value)
    for phi, value in zip(loop.phis, joined, strict=True):
        vals[phi.target] = value


def is_decided(engine: Engine, loop: ir.Loop) -> bool:
    """Whether a `while` may be followed turn by turn, as long as its condition has one answer in each."""
    if loop.is_for or loop.breaks or not loop.phis or not engine.world.follows_loops:
        return False
    return not any(edge == ALWAYS for phi in loop.phis for edge, _ in phi.incoming)


def follow_while(engine: Engine, frame: Frame, loop: ir.Loop, pos: int) -> tuple[bool, bool | None]:
    """Executes a `while` turn by turn: whether that went to its end, and if so whether control falls through.

    Given up where a condition is open, or after many turns: what the turns so far left is then where iteration goes on.
    """
    vals, edges = frame.vals, frame.edges
    edges[loop.entry] = 1
    turns = _Turns(frame, loop)
    outer, around = frame.turn, engine.cells.turns
    ended, goes_on = False, True
    try:
        for turn in range(MAX_TURNS // around):
            _begin_turn(frame, loop, turn)
            for phi in loop.phis:
                vals[phi.target] = varying(vals[phi.target])  # another number in each turn
            edges[:] = turns.before
            frame.turn = (*outer, turn)
            if not engine.execute(frame, loop.test):
                break
            enters, exits = engine.condition(frame, vals[loop.condition], pos)
            if enters == exits:
                break
            if exits:
                ended = True
                break
            engine.cells.turns = around * (turn + 1)
            falls = engine.execute(frame, loop.body)
            if falls:
                edges[loop.back] = 1
            goes_on = turns.goes_on(falls)
            if not goes_on:
                ended = True
                break
    finally:
        engine.cells.turns, frame.turn = around, outer
    edges[:] = turns.union
    for slot, value in zip(turns.slots, turns.seen, strict=True):
        vals[slot] = join(vals[slot] or BOTTOM, value or BOTTOM)
    if not ended:
        return False, None
    return True, _exhausted(engine, frame, loop) if goes_on else False  # a turn returns or raises


def _filled(engine: Engine, frame: Frame, loop: ir.Loop, length: int) -> list[Container] | None:
    """The lists that a loop of a comprehension fills by position; None for any other loop."""
    if loop.fills == NO_SLOT or (loop.within and loop.fills not in frame.filled):
        return None
    if loop.nests:
        frame.filled.setdefault(loop.fills, 0)
        return None
    found = _lists(frame, loop)
    if not loop.within:
        _check_length(engine, found, length)
    return found


def _lists(frame: Frame, loop: ir.Loop) -> list[Container]:
    return [obj for obj in frame.vals[loop.fills] or BOTTOM if isinstance(obj, Container)]


def _check_length(engine: Engine, lists: list[Container], length: int) -> None:
    """A list that is filled again with another number of elements has none by position any more."""
    for made in lists:
        appended = sum(key is not None for key in made.order)  # by counted appends, later on
        if made.exact and made.fields and len(made.fields) != length + appended:
            engine.cells.lose_exactness(made)


def _count_filled(engine: Engine, frame: Frame, loop: ir.Loop, length: int | None) -> None:
    """Counts what the inner loops of a comprehension have given, at the end of each."""
    if loop.within and length is not None:
        frame.filled[loop.fills] += length
    elif loop.nests and not loop.within and loop.fills in frame.filled:
        _check_length(engine, _lists(frame, loop), frame.filled.pop(loop.fills))


def _fill(engine: Engine, frame: Frame, lists: list[Container], turn: int, append: Instr) -> None:
    assert isinstance(append, ir.Append), "what ends the body of such a loop"
    for made in lists:
        cell = made.cell(turn) if made.exact else made.rest_cell()
        engine.cells.write(frame, cell, frame.vals[append.value] or BOTTOM, append.position)
