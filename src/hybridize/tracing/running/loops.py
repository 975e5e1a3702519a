"""Where code runs again and again: inside loops, or in functions that are called more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from hybridize.domain.words import APPENDS
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import Index, index_of, instructions
from hybridize.program.ir import Instr

_DEPTH = 6
#: Methods that add elements to a list or deque, in an order.
ADDS: Final = (*sorted(APPENDS), "appendleft")


def runs_often(frame: Frame, pos: int) -> bool:
    """Whether a place is executed more than once in a run: in a loop, or in a function called so or from two places."""
    return _repeats(frame, pos, lambda _: True, twice=True)


def runs_in_loop(frame: Frame, pos: int, counts: Callable[[Frame], bool]) -> bool:
    """Whether a place is in a loop, or in a function that is called in one by code that counts."""
    return _repeats(frame, pos, counts, twice=False)


def _repeats(frame: Frame, pos: int, counts: Callable[[Frame], bool], *, twice: bool) -> bool:
    level = [(frame, pos)]
    seen: set[Frame] = set()
    for depth in range(_DEPTH, -1, -1):
        if any(at in index_of(each.code).looped and counts(each) for each, at in level):
            return True
        above = []
        for each in dict.fromkeys(each for each, _ in level):
            if depth == 0 or each in seen or each.code.is_body:
                continue
            seen.add(each)
            sites = [(caller, at) for caller in each.callers for at, callee in caller.calls if callee is each]
            if twice and len({(caller.code, at) for caller, at in sites}) > 1:
                return True
            above += [(caller, at) for caller, at in sites if caller is not each]
        level = above
    return False


def filling(
    index: Index, made: ir.Dict | ir.Generator | ir.List | ir.Set, others: Iterable[Instr] = ()
) -> Iterator[tuple[Instr, list[ir.Loop]]]:
    """What a comprehension puts into the list or dictionary that an instruction makes, with the loops that do it.

    `others` are further instructions that add to it. A comprehension and its loops stand at one position.
    """
    fills = [i for i in index.of(ir.Append, ir.Put) if index.original(i.owner) == made.target]
    if not fills and not others:
        return
    loops = index.of(ir.Loop)
    inside = [{id(each) for part in (loop.test, loop.body) for each in instructions(part)} for loop in loops]
    for instr in (*fills, *others):
        around = [n for n, ids in enumerate(inside) if id(instr) in ids and id(made) not in ids]
        yield instr, [loops[n] for n in around]
