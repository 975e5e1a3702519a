"""Other bodies for functions of a solved program: they are run anew in the contexts that they have.

What their old bodies did outside of themselves stays: a value only grows. So what is found of the new bodies is found
exactly, but for what their old ones have written and they read again; of other functions it may be too much.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridize.domain.objects import BOTTOM, Cell, Heap
from hybridize.flow.contexts import Contexts
from hybridize.flow.engine import Engine
from hybridize.flow.frames import Frame, Step
from hybridize.flow.handed import NOT_HANDED
from hybridize.flow.world import World
from hybridize.program.ir import Code
from hybridize.program.lowering import walk_codes


def replace_bodies(engine: Engine, changed: Iterable[tuple[Code, Code]]) -> None:
    """Gives functions the bodies of others, and solves what rests on them."""
    world = engine.world
    gone: set[Code] = set()
    for old, new in changed:
        gone.update(walk_codes(old))
        old.become(new)
    _forget_writes(world, gone)
    for old, _ in changed:
        contexts = world.by_code.get(old)
        if contexts is None:
            continue
        again = world.by_code[old] = Contexts(old, contexts.limit)
        again.level, again.frames = contexts.level, contexts.frames
        for frame in world.frames:
            if frame.code is old and not frame.dead:
                _begin_again(frame)
                engine.cells.enqueue(frame)
    engine.solve()


def _begin_again(frame: Frame) -> None:
    """Takes back what a frame has found out of its function; who calls it, and with what, stays."""
    code = frame.code
    frame.vals, frame.edges = code.template.copy(), bytearray(code.edges)
    frame.cells = {name: Cell() for name in code.cells}
    if frame.func is not None:
        frame.cells.update({name: cell for name, cell in frame.func.cells.items() if name in code.free})
    frame.ret = frame.yields = BOTTOM
    frame.handed = NOT_HANDED
    frame.step = frame.base = Step(frame)
    frame.runs = 0
    frame.lenient = frame.exhausted = False
    for noted in (frame.steps, frame.looking, frame.sites):
        noted.clear()


def _forget_writes(world: World, gone: set[Code]) -> None:
    """Forgets which places of old bodies have written what."""
    owners: list[Heap] = [*world.allocated.values(), *world.modules.values()]
    cells = [cell for owner in owners for cell in (*owner.fields.values(), owner.rest) if cell is not None]
    cells += [cell for frame in world.frames for cell in frame.cells.values()]
    for cell in cells:
        for place in [place for place in cell.writes if place[0] in gone]:
            del cell.writes[place]
