"""Calls that give back an argument: the caller gets what it passed, not all that any call of the function was given.

A decorator that registers a class and returns it would else give each class the name of every other. What counts is a
parameter that is returned as it came in, and one that goes, likewise, through further such calls (a wrapper's lambda).
"""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Func
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code

NOT_HANDED: Final = -1
#: What passes its argument on to another call is a wrapper, and small; other functions are not looked at for that.
_WRAPPER: Final = 24
#: For each value that a function returns: the parameter that it is, or the call that gives it.
Returned = tuple[int | ir.Call, ...]


def returned_parameters(code: Code) -> Returned:
    """What a function returns, if that may be a parameter on every path; else nothing."""
    if not code.params or not code.body or code.is_generator or code.is_async:
        return ()
    last = code.body[-1]
    slots = {param.slot: i for i, param in enumerate(code.params) if not param.is_starred}
    if not isinstance(last, ir.Return) or (last.value not in slots and code.size > _WRAPPER):
        return ()
    found: list[int | ir.Call] = []
    index = index_of(code)
    for instr in index.of(ir.Return):
        made = index.definitions.get(instr.value)
        if instr.value in slots:
            found.append(slots[instr.value])
        elif isinstance(made, ir.Call) and code.size <= _WRAPPER:
            found.append(made)
        else:
            return ()
    return tuple(found)


def handed(frame: Frame, returned: Returned) -> int:
    """Which parameter a frame that has run hands back, whatever it is given."""
    found = {each if isinstance(each, int) else _through(frame, each) for each in returned}
    return found.pop() if len(found) == 1 else NOT_HANDED


def _through(frame: Frame, call: ir.Call) -> int:
    """The parameter that a call gets from the frame, and gives back."""
    found: set[int] = set()
    for func in frame.vals[call.function] or ():
        callee = frame.sites.get((call.position, func)) if isinstance(func, Func) else None
        slot = _passed(callee, call) if callee is not None and callee.handed != NOT_HANDED else NOT_HANDED
        found.add(frame.code.place_of(slot))
    return found.pop() if len(found) == 1 else NOT_HANDED


def _passed(callee: Frame, call: ir.Call) -> int:
    """The slot of the argument for the parameter that a callee hands back."""
    param = callee.code.params[callee.handed]
    for name, slot in call.keywords:
        if name == param.name:
            return slot
    for i, (slot, starred) in enumerate(call.arguments):
        if starred:
            break
        if i == callee.handed and not param.by_name:
            return slot
    return NOT_HANDED
