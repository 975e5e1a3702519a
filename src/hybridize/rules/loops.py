"""Where code runs again and again: inside loops, or in functions that are called more than once."""

from __future__ import annotations

from hybridize.flow.frames import Frame
from hybridize.program.index import index_of

_DEPTH = 6


def runs_often(frame: Frame, pos: int) -> bool:
    """Whether a place is executed more than once in a run: in a loop, or in a function called so or from two places."""
    level = [(frame, pos)]
    seen: set[Frame] = set()
    for depth in range(_DEPTH, -1, -1):
        if any(at in index_of(each.code).looped for each, at in level):
            return True
        above = []
        for each in dict.fromkeys(each for each, _ in level):
            if depth == 0 or each in seen or each.code.kind in ("module", "class"):
                continue
            seen.add(each)
            sites = [(caller, at) for caller in each.callers for at, callee in caller.calls if callee is each]
            if len({(caller.code, at) for caller, at in sites}) > 1:
                return True
            above += [(caller, at) for caller, at in sites if caller is not each]
        level = above
    return False
