"""Where code runs again and again: inside loops, or in functions that are called more than once."""

from __future__ import annotations

from hybridize.flow.frames import Frame
from hybridize.program.index import index_of

_DEPTH = 6


def runs_often(frame: Frame, pos: int, depth: int = _DEPTH) -> bool:
    """Whether a place is executed more than once in a run: in a loop, or in a function called so or from two places."""
    if pos in index_of(frame.code).looped:
        return True
    if depth == 0 or frame.code.kind in ("module", "class"):
        return False
    sites = [(caller, at) for caller in frame.callers for at, callee in caller.calls if callee is frame]
    if len({(caller.code, at) for caller, at in sites}) > 1:
        return True
    return any(runs_often(caller, at, depth - 1) for caller, at in sites if caller is not frame)
