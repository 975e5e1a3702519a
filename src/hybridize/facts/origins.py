"""Where a value without identity (an array, an iterator) came from, within one function: own work, or from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hybridize.domain.objects import Heap, Inst
from hybridize.flow.frames import Frame
from hybridize.program.ir import Block, Code, Handler, Instr, Loop, Op, Try

_definitions: dict[Code, dict[int, Instr]] = {}

_FRESH: Final = frozenset({Op.BINARY, Op.UNARY, Op.COMPARE, Op.TUPLE, Op.LIST, Op.SET, Op.DICT, Op.FORMAT, Op.SLICE})
#: Methods and functions whose result may share memory with their receiver or argument.
_VIEWS: Final = frozenset(
    {"reshape", "ravel", "view", "T", "transpose", "asarray", "squeeze", "swapaxes", "flat", "iter"}
)


def instructions(block: Block) -> Iterator[Instr]:
    """All instructions of a block, nested ones included."""
    for instr in block:
        yield instr
        op = instr[0]
        if op == Op.IF:
            yield from instructions(instr[3])
            yield from instructions(instr[4])
        elif op == Op.LOOP:
            loop: Loop = instr[2]
            for part in (loop.phis, loop.test, loop.body, loop.orelse):
                yield from instructions(part)
        elif op == Op.TRY:
            statement: Try = instr[2]
            yield from instructions(statement.body)
            for handler in statement.handlers:
                yield from _handler(handler)
            for part in (statement.orelse, statement.join, statement.final):
                yield from instructions(part)


def _handler(handler: Handler) -> Iterator[Instr]:
    for part in (handler.phis, handler.catches, handler.body):
        yield from instructions(part)


def definitions(code: Code) -> dict[int, Instr]:
    """The instruction that defines each slot of a code."""
    found = _definitions.get(code)
    if found is None:
        found = {}
        for instr in instructions(code.body):
            dst: Any = instr[1]
            if isinstance(dst, tuple):
                for slot in dst:
                    found[slot] = instr
            elif dst >= 0:
                found[dst] = instr
        _definitions[code] = found
    return found


def reset_origins() -> None:
    """Forgets the definitions of earlier analyses."""
    _definitions.clear()


def call_at(code: Code, position: int) -> Instr | None:
    """The call instruction at a position."""
    for instr in instructions(code.body):
        if instr[0] == Op.CALL and instr[-1] == position:
            return instr
    return None


def is_outer(frame: Frame, slot: int) -> bool:
    """Whether the value in a slot existed before the frame ran (it came by argument, global, closure or field)."""
    return _outer(frame, slot, set())


def _outer(frame: Frame, slot: int, seen: set[int]) -> bool:
    if slot in seen:
        return False
    seen.add(slot)
    code = frame.code
    if any(p.slot == slot for p in code.params):
        return True
    instr = definitions(code).get(slot)
    if instr is None:
        return False
    op = instr[0]
    if op in _FRESH:
        return False
    if op == Op.GLOBAL:
        return code.kind != "module"
    if op == Op.CELL:
        return instr[2] in code.free
    if op == Op.PHI:
        return any(_outer(frame, s, seen) for _, s in instr[2])
    if op in (Op.COPY, Op.REFINE, Op.ITEM, Op.ITER, Op.UNPACK, Op.ENTER):
        return _outer(frame, instr[2], seen)
    if op == Op.INPLACE:
        return _outer(frame, instr[3], seen)
    if op == Op.ATTR:
        return _field_is_outer(frame, instr, seen)
    if op == Op.CALL:
        return _result_is_outer(frame, instr, seen)
    return False


def _field_is_outer(frame: Frame, instr: Instr, seen: set[int]) -> bool:
    owner = frame.vals[instr[2]] or frozenset()
    if instr[3] in _VIEWS:
        return _outer(frame, instr[2], seen)
    heap = [o for o in owner if isinstance(o, Heap | Inst)]
    return any(o.frame != frame.uid for o in heap)


def _result_is_outer(frame: Frame, instr: Instr, seen: set[int]) -> bool:
    """A view of an outer array is outer; other results are fresh."""
    func = definitions(frame.code).get(instr[2])
    if func is None or func[0] not in (Op.ATTR, Op.GLOBAL):
        return False
    name = func[3] if func[0] == Op.ATTR else func[2]
    if name not in _VIEWS:
        return False
    if func[0] == Op.ATTR and not _is_module(frame, func[2]):
        return _outer(frame, func[2], seen)
    return any(_outer(frame, s, seen) for s, _ in instr[3][:1])


def _is_module(frame: Frame, slot: int) -> bool:
    return any(type(o).__name__ in ("Lib", "Mod") for o in frame.vals[slot] or ())
