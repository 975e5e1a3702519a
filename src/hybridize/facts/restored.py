"""Changes that the function itself takes back: a context variable that is reset, a field put back at the end."""

from __future__ import annotations

from typing import Final

from hybridize.facts.origins import definitions
from hybridize.flow.frames import Effect, Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Block, Code, Instr, Op

#: Why such a change comes out the same when it happens once per trace and not once per call.
RESTORED: Final = "restored "
#: The calls that take back what the other has done.
_INVERSE: Final = {
    "contextvars.ContextVar.set": "contextvars.ContextVar.reset",
    "contextvars.ContextVar.reset": "contextvars.ContextVar.set",
}
#: How variables and fields are read and written: by operation code, the operand that names them.
_READS: Final = {Op.ATTR: 3, Op.GLOBAL: 2, Op.CELL: 2}
_WRITES: Final = {"attribute": Op.SET_ATTR, "global": Op.SET_GLOBAL, "closure": Op.SET_CELL}
_READ_BY: Final = {Op.SET_ATTR: Op.ATTR, Op.SET_GLOBAL: Op.GLOBAL, Op.SET_CELL: Op.CELL}


def is_restored(frame: Frame, effect: Effect) -> bool:
    """Whether a change does not outlive the call, because the same function takes it back before it ends."""
    if effect.kind == "mutate" and effect.detail in _INVERSE:
        other = _INVERSE[effect.detail]
        return any(e.target is effect.target and e.detail == other for e in frame.effects.values())
    op = _WRITES.get(effect.kind)
    if op is None:
        return False
    writes = [i for i in index_of(frame.code).of(op) if i[3 if op == Op.SET_ATTR else 2] == effect.detail]
    if len(writes) < 2 or not any(i[-1] == effect.position for i in writes):
        return False
    return _puts_back(frame.code, writes[-1]) and writes[-1] in _at_end(frame.code)


def _puts_back(code: Code, write: Instr) -> bool:
    """Whether a write stores what the same variable or field held before."""
    known = definitions(code)
    name, slot = (write[3], write[4]) if write[0] == Op.SET_ATTR else (write[2], write[3])
    made = known.get(slot)
    while made is not None and made[0] in (Op.COPY, Op.REFINE):
        made = known.get(made[2])
    if made is None or made[0] != _READ_BY[write[0]] or made[_READS[made[0]]] != name:
        return False
    if write[0] != Op.SET_ATTR:
        return True
    return _same(known, write[2], made[2])


def _same(known: dict[int, Instr], one: int, other: int) -> bool:
    """Whether two slots hold the same object: the same slot, or the same variable read twice."""
    if one == other:
        return True
    first, second = known.get(one), known.get(other)
    if first is None or second is None or first[0] != second[0]:
        return False
    if first[0] in (Op.GLOBAL, Op.CELL):
        return bool(first[2] == second[2])
    return first[0] == Op.ATTR and first[3] == second[3] and _same(known, first[2], second[2])


def _at_end(code: Code) -> list[Instr]:
    """The instructions that run whatever happens in between: under no condition, in no loop."""
    found: list[Instr] = []
    todo: list[Block] = [code.body]
    while todo:
        for instr in todo.pop():
            found.append(instr)
            if instr[0] == Op.TRY:
                todo += [instr[2].body, instr[2].final]
    return found
