"""Where code runs again and again: inside loops, or in functions that are called more than once."""

from __future__ import annotations

from functools import cache

from hybridize.facts.origins import instructions
from hybridize.flow.frames import Frame
from hybridize.program.ir import Block, Code, Loop, Op, Try

_DEPTH = 6


@cache
def looped_positions(code: Code) -> frozenset[int]:
    """The positions of instructions inside a loop of a function's own body."""
    found: set[int] = set()
    _collect(code.body, found)
    return frozenset(found)


def _collect(block: Block, found: set[int]) -> None:
    for instr in block:
        op = instr[0]
        if op == Op.IF:
            _collect(instr[3], found)
            _collect(instr[4], found)
        elif op == Op.LOOP:
            loop: Loop = instr[2]
            for part in (loop.test, loop.body):
                found.update(inner[-1] for inner in instructions(part))
            _collect(loop.orelse, found)
        elif op == Op.TRY:
            statement: Try = instr[2]
            for part in (statement.body, statement.orelse, statement.join, statement.final):
                _collect(part, found)
            for handler in statement.handlers:
                _collect(handler.body, found)


def runs_often(frame: Frame, pos: int, depth: int = _DEPTH) -> bool:
    """Whether a place is executed more than once in a run: in a loop, or in a function called so or from two places."""
    if pos in looped_positions(frame.code):
        return True
    if depth == 0 or frame.code.kind in ("module", "class"):
        return False
    sites = [(caller, at) for caller in frame.callers for at, callee in caller.calls if callee is frame]
    if len({(caller.code, at) for caller, at in sites}) > 1:
        return True
    return any(runs_often(caller, at, depth - 1) for caller, at in sites if caller is not frame)
