"""Steps that decide where control goes: branches, loops, handlers, results; joins and refinements."""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.lattice import join, widen
from hybridize.domain.objects import BOTTOM, NONE_V, Stream, Unknown
from hybridize.flow import steps
from hybridize.flow.ending import ENDED, only_raises
from hybridize.flow.engine import Engine, Handler
from hybridize.flow.frames import Frame
from hybridize.flow.narrowing import fits_shape
from hybridize.flow.steps import kept, on
from hybridize.flow.transfer.names import missing_value
from hybridize.flow.truth import truth
from hybridize.flow.turns import follow, follow_while, is_decided, items_in_turn
from hybridize.library.lengths import length_of
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import ALWAYS, NO_SLOT, Block, Instr

#: A loop is interpreted at most so often; widening makes it stable long before.
MAX_ITERATIONS = 12


def _phi(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Phi) -> None:
    result = BOTTOM
    edges = frame.edges
    for edge, slot in instr.incoming:
        if edge == ALWAYS or edges[edge]:
            value = vals[slot]
            if value:
                result = join(result, value)
    vals[instr.target] = result


def _refine(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Refine) -> None:
    dst, kind, polarity = instr.target, instr.kind, instr.holds
    value = vals[instr.source]
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
        kept = engine.protocols.narrow(frame, value, vals[instr.classes] or BOTTOM, polarity)
    elif instr.shape is not None:
        kept = frozenset(o for o in value if fits_shape(o, instr.shape)[0 if polarity else 1])
    else:
        kept = value
    vals[dst] = value if len(kept) == len(value) else join(BOTTOM, kept)


def _return(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Return) -> bool:
    value = vals[instr.value]
    if not value:
        value = missing_value(frame)
    engine.returned(frame, value)
    return False


def _yield(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Yield) -> None:
    dst, src = instr.target, instr.value
    engine.yielded(frame, vals[src] or BOTTOM)
    vals[dst] = join(NONE_V, engine.cells.read(frame, engine.world.sent(frame.code)))


def _yield_from(engine: Engine, frame: Frame, vals: list[Any], instr: ir.YieldFrom) -> None:
    dst, src, pos = instr.target, instr.source, instr.position
    engine.yielded(frame, engine.heap.elements(frame, vals[src] or BOTTOM, pos))
    result = BOTTOM
    for obj in vals[src] or BOTTOM:
        if isinstance(obj, Stream) and obj.origin:
            engine.cells.read(frame, engine.world.finished(obj.origin))
            for callee in engine.world.contexts(obj.origin).frames.values():
                result = join(result, callee.ret)
    vals[dst] = result or NONE_V


def _raise(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Raise) -> bool:
    frame.ended = frame.ended or only_raises(frame.code)
    return False


def _assert(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Assert) -> bool | None:
    may, _ = engine.condition(frame, vals[instr.condition], instr.position)
    return None if may else False


def _jump(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Jump) -> bool:
    frame.edges[instr.edge] = 1
    return False


def _if(engine: Engine, frame: Frame, vals: list[Any], instr: ir.If) -> bool | None:
    condition, then, other = instr.condition, instr.then, instr.orelse
    first, second, pos = instr.then_edge, instr.else_edge, instr.position
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


def _undecided(engine: Engine, frame: Frame, instr: ir.If) -> bool | None:
    """Both ways of a branch, where it matters what surely runs."""
    frame.doubts += 1
    falls = False
    for block, edge in ((instr.then, instr.then_edge), (instr.orelse, instr.else_edge)):
        if engine.execute(frame, block):
            frame.edges[edge] = 1
            falls = True
    frame.doubts -= 1
    return None if falls else False


def _loop(engine: Engine, frame: Frame, vals: list[Any], loop: ir.Loop) -> bool | None:
    if not frame.code.appends:
        return _turns(engine, frame, vals, loop)
    outer = frame.around
    value = vals[loop.iterable] if loop.is_for and not loop.breaks and loop.iterable != NO_SLOT else BOTTOM
    frame.around = (*outer, length_of(engine, frame, value or BOTTOM))
    falls = _turns(engine, frame, vals, loop)
    frame.around = outer
    return falls


def _turns(engine: Engine, frame: Frame, vals: list[Any], loop: ir.Loop) -> bool | None:
    edges = frame.edges
    items = items_in_turn(engine, frame, loop)
    if items is not None:
        return follow(engine, frame, loop, items)
    if is_decided(engine, loop):
        ended, after = follow_while(engine, frame, loop, loop.position)
        if ended:
            return after
    edges[loop.entry] = 1
    outer = frame.looping
    frame.looping = outer or bool(loop.phis)
    leaves = _iterate(engine, frame, vals, loop, loop.position)
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


def _iterate(engine: Engine, frame: Frame, vals: list[Any], loop: ir.Loop, pos: int) -> bool | None:
    """Executes a loop until nothing changes; whether it may end without `break`, None where control never gets in."""
    leaves = loop.is_for
    for iteration in range(MAX_ITERATIONS):
        changed = iteration == 0
        for phi in loop.phis:
            slot = phi.target
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
            enters = bool(vals[loop.test[-1].target])
        else:
            enters, exits = engine.condition(frame, vals[loop.condition], pos)
            leaves = leaves or exits
        if not enters:
            break
        if engine.execute(frame, loop.body):
            frame.edges[loop.back] = 1
        elif loop.is_for and not any(frame.edges[edge] for edge in (loop.back, *loop.continues)):
            turns = _ends(frame, loop.body) and loop.iterable != NO_SLOT
            leaves = not (turns and length_of(engine, frame, vals[loop.iterable] or BOTTOM))
        if not loop.phis:
            break
    return leaves


def _ends(frame: Frame, block: Block) -> bool:
    """Whether each turn of a loop raises or ends the program, if it is come to, whatever conditions say."""
    return any(isinstance(i, ir.Raise) or (isinstance(i, ir.Call) and frame.vals[i.target] is ENDED) for i in block)


def _try(engine: Engine, frame: Frame, vals: list[Any], statement: ir.Try) -> bool | None:
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
            vals[handler.caught] = engine.protocols.caught(
                frame, vals[handler.type_slot] if handler.type_slot >= 0 else None
            )
        if engine.execute(frame, handler.body):
            edges[handler.fallthrough] = 1
            falls = True
    frame.doubts -= 1
    engine.execute(frame, statement.join)
    if not engine.execute(frame, statement.final):
        return False
    return None if falls else False


def _enter(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Enter) -> None:
    dst, src, pos = instr.target, instr.source, instr.position
    value = vals[src]
    vals[dst] = engine.protocols.enter_context(frame, value, pos) if value else missing_value(frame)


def _exit(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Exit) -> None:
    src, pos = instr.source, instr.position
    engine.protocols.exit_context(frame, vals[src] or BOTTOM, pos)


STEPS: Final[dict[type[Instr], Handler]] = dict(
    [
        on(ir.Phi, _phi),
        kept(ir.Refine, _refine, steps.refined),
        on(ir.Return, _return),
        on(ir.Yield, _yield),
        on(ir.YieldFrom, _yield_from),
        on(ir.Raise, _raise),
        on(ir.Assert, _assert),
        on(ir.Jump, _jump),
        on(ir.If, _if),
        on(ir.Loop, _loop),
        on(ir.Try, _try),
        on(ir.Enter, _enter),
        on(ir.Exit, _exit),
    ]
)
