"""What is asked of a code again and again, gathered once: its instructions in order, by operation and by position."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from hybridize.program.ir import Block, Code, Handler, Instr, Loop, Op, Try
from hybridize.program.operands import operands, read_slots

_NESTED = frozenset({Op.IF, Op.LOOP, Op.TRY})


class Index:
    """The instructions of one code, nested ones included. Made by `index_of`; nothing in it may be changed."""

    def __init__(self, code: Code) -> None:
        self.flat: list[Instr] = []
        _flatten(code.body, self.flat)
        self._body = code.body

    @cached_property
    def definitions(self) -> dict[int, Instr]:
        """The instruction that defines each slot."""
        found: dict[int, Instr] = {}
        for instr in self.flat:
            dst = instr[1]
            if isinstance(dst, tuple):
                for slot in dst:
                    found[slot] = instr
            elif dst >= 0:
                found[dst] = instr
        return found

    @cached_property
    def uses(self) -> dict[int, list[Instr]]:
        """The instructions that read each slot, in order."""
        found: dict[int, list[Instr]] = {}
        for instr in self.flat:
            slots = operands(instr)
            for slot in slots if len(slots) < 2 else dict.fromkeys(slots):
                if slot in found:
                    found[slot].append(instr)
                else:
                    found[slot] = [instr]
        return found

    def original(self, slot: int) -> int:
        """The slot that the value in a slot was first in, copies of it passed over."""
        made = self.definitions.get(slot)
        while made is not None and made[0] in (Op.COPY, Op.REFINE):
            slot = made[2]
            made = self.definitions.get(slot)
        return slot

    def source(self, slot: int) -> Instr | None:
        """The instruction that makes the value in a slot, copies of it passed over."""
        return self.definitions.get(self.original(slot))

    @cached_property
    def by_op(self) -> dict[Op, list[Instr]]:
        """The instructions of each operation, in order."""
        found: dict[Op, list[Instr]] = {}
        for instr in self.flat:
            found.setdefault(instr[0], []).append(instr)
        return found

    def of(self, op: Op) -> list[Instr]:
        """The instructions of an operation, in order."""
        return self.by_op.get(op) or []

    @cached_property
    def attributes(self) -> dict[str, list[Instr]]:
        """The reads of attributes, by name."""
        found: dict[str, list[Instr]] = {}
        for instr in self.of(Op.ATTR):
            found.setdefault(instr[3], []).append(instr)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """The module variables and builtins that are read."""
        return frozenset(instr[2] for instr in self.of(Op.GLOBAL))

    @cached_property
    def _by_position(self) -> dict[int, list[Instr]]:
        found: dict[int, list[Instr]] = {}
        for instr in self.flat:
            found.setdefault(instr[-1], []).append(instr)
        return found

    def at(self, position: int) -> list[Instr]:
        """The instructions at a position, in order."""
        return self._by_position.get(position) or []

    @cached_property
    def calls(self) -> dict[int, tuple[Instr, ...]]:
        """The call instructions at each position: all calls of a chain `f(x).g(y)` stand at its start."""
        found: dict[int, tuple[Instr, ...]] = {}
        for instr in self.of(Op.CALL):
            found[instr[-1]] = (*found.get(instr[-1], ()), instr)
        return found

    @cached_property
    def read(self) -> frozenset[int]:
        """The slots that something other than a join reads in the end."""
        return read_slots(self.flat)

    @cached_property
    def looped(self) -> frozenset[int]:
        """The positions of the instructions inside a loop of the code itself."""
        return frozenset(self.loops)

    @cached_property
    def loops(self) -> dict[int, tuple[int, ...]]:
        """The loops of the code itself that are around each position, by number, the outermost first."""
        found: dict[int, tuple[int, ...]] = {}
        for number, instr in enumerate(self.of(Op.LOOP)):
            loop: Loop = instr[2]
            for pos in {inner[-1] for part in (loop.test, loop.body) for inner in instructions(part)}:
                found[pos] = (*found.get(pos, ()), number)
        return found

    @cached_property
    def fills(self) -> bool:
        """Whether the code may add layers to a model one by one, so that it matters what surely runs."""
        return "add" in self.attributes


def index_of(code: Code) -> Index:
    """The index of a code, made when first asked for."""
    found: Index | None = code.index
    if found is None:
        found = code.index = Index(code)
    return found


def instructions(block: Block) -> Iterator[Instr]:
    """All instructions of a block, nested ones included."""
    found: list[Instr] = []
    _flatten(block, found)
    return iter(found)


def _flatten(block: Block, found: list[Instr]) -> None:
    for instr in block:
        found.append(instr)
        if instr[0] in _NESTED:
            for part in blocks_of(instr):
                _flatten(part, found)


def blocks_of(instr: Instr) -> tuple[Block, ...]:
    """The blocks inside an instruction, in order."""
    op = instr[0]
    if op == Op.IF:
        return instr[3], instr[4]
    if op == Op.LOOP:
        loop: Loop = instr[2]
        return loop.phis, loop.test, loop.body, loop.orelse
    if op == Op.TRY:
        statement: Try = instr[2]
        handled = [block for handler in statement.handlers for block in _of_handler(handler)]
        return statement.body, *handled, statement.orelse, statement.join, statement.final
    return ()


def _of_handler(handler: Handler) -> tuple[Block, Block, Block]:
    return handler.phis, handler.catches, handler.body
