"""Other code for functions, classes and modules of a solved program: they are run anew in the contexts that they have.

What the old code did outside of itself stays: a value only grows, but for the names of modules and classes that nothing
else writes. So what is found of the new code is found exactly, but for what the old has written and it reads again; of
other functions it may be too much.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridize.domain.objects import BOTTOM, Cell, Heap
from hybridize.flow.contexts import Contexts
from hybridize.flow.engine import Engine
from hybridize.flow.frames import Frame, Step
from hybridize.flow.handed import NOT_HANDED
from hybridize.flow.world import World
from hybridize.program.edited import has_same_parameters
from hybridize.program.ir import Code
from hybridize.program.lowering import walk_codes


def replace_bodies(engine: Engine, changed: Sequence[tuple[Code, Code]]) -> frozenset[Code]:
    """Gives codes the bodies of others, and solves what rests on them; says which codes were run."""
    world = engine.world
    kept = {code for _, new in changed for code in walk_codes(new)}
    gone = {code for old, _ in changed for code in (walk_codes(old) if old.is_function else [old])} - kept
    other = [old for old, new in changed if not has_same_parameters(old, new)]
    for old, new in changed:
        old.become(new)
    emptied = _forget_writes(world, gone)
    _forget_graphs(world, gone)
    before = {frame: frame.runs for frame in world.frames}
    for old, _ in changed:
        contexts = world.by_code.get(old)
        if contexts is None:
            continue
        again = world.by_code[old] = Contexts(old, contexts.limit)
        again.level = contexts.level
        frames = [frame for frame in contexts.frames.values() if not frame.dead]
        if old in other:
            for frame in frames:
                _end(engine, frame)
            continue
        again.frames = contexts.frames
        for frame in frames:
            _begin_again(frame)
            engine.cells.enqueue(frame)
    for frame in world.module_frames.values():
        if any(frame.code is old for old, _ in changed):
            _begin_again(frame)
            engine.cells.enqueue(frame)
    engine.solve()
    for cell in emptied:
        if not cell.value:
            engine.cells.wake(cell.readers)
    engine.solve()
    return frozenset(frame.code for frame in world.frames if frame.runs != before.get(frame, 0))


def _begin_again(frame: Frame) -> None:
    """Takes back what a frame has found out of its code; who calls it, and with what, stays."""
    code = frame.code
    frame.vals, frame.edges = code.template.copy(), bytearray(code.edges)
    free = {name: cell for name, cell in frame.cells.items() if name in code.free}
    frame.cells = {**{name: Cell() for name in code.cells}, **free}
    frame.ret = frame.yields = BOTTOM
    frame.handed = NOT_HANDED
    frame.step = frame.base = Step(frame)
    frame.runs = 0
    frame.lenient = frame.exhausted = False
    for noted in (frame.steps, frame.looking, frame.sites):
        noted.clear()


def _end(engine: Engine, frame: Frame) -> None:
    """Ends a frame whose function takes other arguments now: who has called it calls it again."""
    frame.dead = True
    if frame.uses:
        engine.functions.release(frame)
    for step in frame.waiters:
        step.dirty = True
        engine.cells.enqueue(step.frame)


def _forget_writes(world: World, gone: set[Code]) -> list[Cell]:
    """Forgets which places of old code have written what, and what only modules and classes among it have."""
    owners: list[Heap] = [*world.allocated.values(), *world.modules.values()]
    cells = [cell for owner in owners for cell in (*owner.fields.values(), owner.rest) if cell is not None]
    cells += [cell for frame in world.frames for cell in frame.cells.values()]
    emptied = []
    for cell in cells:
        places = [place for place in cell.writes if place[0] in gone]
        if places and len(places) == len(cell.writes) and all(not code.is_function for code, _ in places):
            cell.value = BOTTOM
            emptied.append(cell)
        for place in places:
            del cell.writes[place]
    return emptied


def _forget_graphs(world: World, gone: set[Code]) -> None:
    """Forgets what old code has made graphs of: if it still does, it tells so when it is run."""
    for code, made in list(world.hybrids.items()):
        for place in [place for place in made if place[0] in gone]:
            del made[place]
        if not made:
            del world.hybrids[code]
    world.switched -= {place for place in world.switched if place[0] in gone}
