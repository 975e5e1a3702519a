"""Which slots instructions read."""

from __future__ import annotations

from typing import Final

from hybridize.program.ir import Instr, Op


def operands(instr: Instr) -> list[int]:
    """The slots that an instruction reads; those of the blocks in it not counted."""
    op = instr[0]
    plain = _SINGLE.get(op)
    if plain is not None:
        return [instr[i] for i in plain if instr[i] >= 0]
    if op == Op.CALL:
        found = [instr[2], *[s for s, _ in instr[3]], *[s for _, s in instr[4]]]
    elif op in (Op.TUPLE, Op.LIST, Op.SET):
        found = [s for s, _ in instr[2]]
    elif op == Op.DICT:
        found = [s for pair in instr[2] for s in pair]
    elif op in (Op.BOOLOP, Op.FORMAT):
        found = list(instr[2])
    elif op in (Op.PHI, Op.FUNC):
        found = [s for _, s in (instr[2] if op == Op.PHI else instr[3])]
    elif op == Op.CLASS:
        found = [s for s, _ in instr[3]] + [s for _, s in instr[4]]
    elif op == Op.LOOP:
        found = [instr[2].condition, instr[2].iterable]
    elif op == Op.TRY:
        found = [h.type_slot for h in instr[2].handlers]
    else:
        found = []
    return [slot for slot in found if isinstance(slot, int) and slot >= 0]


#: Where the operands of plain instructions stand.
_SINGLE: Final[dict[Op, tuple[int, ...]]] = {
    Op.COPY: (2,),
    Op.SET_GLOBAL: (3,),
    Op.SET_CELL: (3,),
    Op.SET_NAME: (3,),
    Op.ATTR: (2,),
    Op.SET_ATTR: (2, 4),
    Op.DEL_ATTR: (2,),
    Op.ITEM: (2, 3),
    Op.SET_ITEM: (2, 3, 4),
    Op.DEL_ITEM: (2, 3),
    Op.SLICE: (2, 3, 4),
    Op.BINARY: (3, 4),
    Op.INPLACE: (3, 4),
    Op.UNARY: (3,),
    Op.COMPARE: (3, 4),
    Op.APPEND: (2, 3),
    Op.PUT: (2, 3, 4),
    Op.UNPACK: (2,),
    Op.REFINE: (2,),
    Op.RETURN: (2,),
    Op.YIELD: (2,),
    Op.YIELD_FROM: (2,),
    Op.AWAIT: (2,),
    Op.RAISE: (2,),
    Op.ASSERT: (2,),
    Op.IF: (2,),
    Op.ENTER: (2,),
    Op.EXIT: (2,),
    Op.ITER: (2,),
    Op.MATCH: (2,),
}
#: What only hands a value on: it is read only if the result is.
_PASSES: Final = frozenset({Op.PHI, Op.REFINE, Op.COPY})


def read_slots(flat: list[Instr]) -> frozenset[int]:
    """The slots whose value is used for something, not only handed on."""
    sources: dict[int, list[int]] = {}
    found: set[int] = set()
    for instr in flat:
        if instr[0] in _PASSES:
            sources.setdefault(instr[1], []).extend(operands(instr))
        else:
            found.update(operands(instr))
    todo = list(found)
    while todo:
        for slot in sources.get(todo.pop(), ()):
            if slot not in found:
                found.add(slot)
                todo.append(slot)
    return frozenset(found)
