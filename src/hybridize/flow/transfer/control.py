"""Steps that decide where control goes: branches, loops, handlers, results; joins and refinements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hybridize.domain.lattice import join, widen
from hybridize.domain.objects import (
    BOTTOM,
    NONE_V,
    Stream,
    Unknown,
)
from hybridize.flow import steps
from hybridize.flow.frames import Frame
from hybridize.flow.narrowing import fits_shape
from hybridize.flow.steps import Handler, kept
from hybridize.flow.transfer.names import missing_value
from hybridize.flow.truth import truth
from hybridize.flow.turns import follow, follow_while, is_decided, items_in_turn
from hybridize.library.lengths import length_of
from hybridize.program.index import index_of
from hybridize.program.ir import ALWAYS, NO_SLOT, Instr, Loop, Op, Try

if TYPE_CHECKING:
    from hybridize.flow.engine import Engine


#: A loop is interpreted at most so often; widening makes it stable long before.
MAX_ITERATIONS = 12


def _phi(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    result = BOTTOM
    edges = frame.edges
    for edge, slot in instr[2]:
        if edge == ALWAYS or edges[edge]:
            value = vals[slot]
            if value:
                result = join(result, value)
    vals[instr[1]] = result


def _refine(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, kind, argument, polarity, _ = instr
    value = vals[src]
    if not value:
        vals[dst] = value
        return
    if kind == "none":
        kept = value & NONE_V if polarity else value - NONE_V
        if polarity and not kept and any(isinstance(o, Unknown) for o in value):
            kept = NONE_V
    elif kind == "truth":
        kept = frozenset(o for o in value if truth(engine, frame, o.value)[0 if polarity else 1])
    elif kind == "isinstance":
        kept = engine.narrow(frame, value, vals[argument] or BOTTOM, polarity)
    elif kind == "shape":
        kept = frozenset(o for o in value if fits_shape(o, argument)[0 if polarity else 1])
    else:
        kept = value
    vals[dst] = value if len(kept) == len(value) else join(BOTTOM, kept)


def _return(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool:
    value = vals[instr[2]]
    if not value:
        value = missing_value(frame)
    engine.returned(frame, value)
    return False


def _yield(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, _ = instr
    engine.yielded(frame, vals[src] or BOTTOM)
    vals[dst] = join(NONE_V, engine.read(frame, engine.world.sent(frame.code)))


def _yield_from(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, pos = instr
    engine.yielded(frame, engine.elements(frame, vals[src] or BOTTOM, pos))
    result = BOTTOM
    for obj in vals[src] or BOTTOM:
        if isinstance(obj, Stream) and obj.origin:
            engine.read(frame, engine.world.finished(obj.origin))
            for callee in engine.world.contexts(obj.origin).frames.values():
                result = join(result, callee.ret)
    vals[dst] = result or NONE_V


def _raise(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool:
    return False


def _assert(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    may, _ = engine.condition(frame, vals[instr[2]], instr[3])
    return None if may else False


def _jump(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool:
    frame.edges[instr[2]] = 1
    return False


def _if(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    _, _, condition, then, other, first, second, pos = instr
    may, may_not = engine.condition(frame, vals[condition], pos)
    if may and may_not and (frame.code.appends or index_of(frame.code).fills):
        return _undecided(engine, frame, instr)
    falls = False
    if may and engine.execute(frame, then):
        frame.edges[first] = 1
        falls = True
    if may_not and engine.execute(frame, other):
        frame.edges[second] = 1
        falls = True
    return None if falls else False


def _undecided(engine: Engine, frame: Frame, instr: Instr) -> bool | None:
    """Both ways of a branch, where it matters what surely runs."""
    frame.doubts += 1
    falls = False
    for block, edge in ((instr[3], instr[5]), (instr[4], instr[6])):
        if engine.execute(frame, block):
            frame.edges[edge] = 1
            falls = True
    frame.doubts -= 1
    return None if falls else False


def _loop(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    if not frame.code.appends:
        return _turns(engine, frame, vals, instr)
    loop: Loop = instr[2]
    outer = frame.around
    value = vals[loop.iterable] if loop.is_for and not loop.breaks and loop.iterable != NO_SLOT else BOTTOM
    frame.around = (*outer, length_of(engine, frame, value or BOTTOM))
    falls = _turns(engine, frame, vals, instr)
    frame.around = outer
    return falls


def _turns(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    loop: Loop = instr[2]
    edges = frame.edges
    items = items_in_turn(engine, frame, loop)
    if items is not None:
        return follow(engine, frame, loop, items)
    if is_decided(engine, loop):
        ended, after = follow_while(engine, frame, loop, instr[3])
        if ended:
            return after
    edges[loop.entry] = 1
    outer = frame.looping
    frame.looping = outer or bool(loop.phis)
    leaves = _iterate(engine, frame, vals, loop, instr[3])
    frame.looping = outer
    if leaves is None:
        return False
    falls = any(edges[edge] for edge in loop.breaks)
    if leaves:
        edges[loop.exhausted] = 1
        if engine.execute(frame, loop.orelse):
            edges[loop.done] = 1
            falls = True
    return None if falls else False


def _iterate(engine: Engine, frame: Frame, vals: list[Any], loop: Loop, pos: int) -> bool | None:
    """Executes a loop until nothing changes; whether it may end without `break`, None where control never gets in."""
    leaves = loop.is_for
    for iteration in range(MAX_ITERATIONS):
        changed = iteration == 0
        for phi in loop.phis:
            slot = phi[1]
            old = vals[slot] or BOTTOM
            _phi(engine, frame, vals, phi)
            new = vals[slot]
            if iteration > 1:
                new = vals[slot] = widen(old, new)
            if new is not old and new != old:
                changed = True
        if not changed:
            break
        if not engine.execute(frame, loop.test):
            return None
        if loop.is_for:
            enters = bool(vals[loop.test[-1][1]])
        else:
            enters, exits = engine.condition(frame, vals[loop.condition], pos)
            leaves = leaves or exits
        if not enters:
            break
        if engine.execute(frame, loop.body):
            frame.edges[loop.back] = 1
        if not loop.phis:
            break
    return leaves


def _try(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> bool | None:
    statement: Try = instr[2]
    edges = frame.edges
    falls = False
    frame.doubts += 1
    if engine.execute(frame, statement.body) and engine.execute(frame, statement.orelse):
        edges[statement.fallthrough] = 1
        falls = True
    for handler in statement.handlers:
        engine.execute(frame, handler.phis)
        engine.execute(frame, handler.catches)
        if handler.caught != NO_SLOT:
            vals[handler.caught] = engine.caught(frame, vals[handler.type_slot] if handler.type_slot >= 0 else None)
        if engine.execute(frame, handler.body):
            edges[handler.fallthrough] = 1
            falls = True
    frame.doubts -= 1
    engine.execute(frame, statement.join)
    if not engine.execute(frame, statement.final):
        return False
    return None if falls else False


def _enter(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, src, _, pos = instr
    value = vals[src]
    vals[dst] = engine.enter_context(frame, value, pos) if value else missing_value(frame)


def _exit(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, src, _, pos = instr
    engine.exit_context(frame, vals[src] or BOTTOM, pos)


STEPS: Final[dict[Op, Handler]] = {
    Op.PHI: _phi,
    Op.REFINE: kept(_refine, steps.refined),
    Op.RETURN: _return,
    Op.YIELD: _yield,
    Op.YIELD_FROM: _yield_from,
    Op.RAISE: _raise,
    Op.ASSERT: _assert,
    Op.JUMP: _jump,
    Op.IF: _if,
    Op.LOOP: _loop,
    Op.TRY: _try,
    Op.ENTER: _enter,
    Op.EXIT: _exit,
}
