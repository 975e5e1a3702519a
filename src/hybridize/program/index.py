"""What is asked of a code again and again, gathered once: its instructions in order, by operation and by position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Final, TypeVar, overload

from hybridize.closure import closure
from hybridize.program import ir
from hybridize.program.ir import Block, Code, Instr
from hybridize.program.operands import NESTED, blocks_of, edges_of, operands, read_slots, written

A = TypeVar("A", bound=Instr)
B = TypeVar("B", bound=Instr)
C = TypeVar("C", bound=Instr)
D = TypeVar("D", bound=Instr)


_SINGLE: Final = frozenset(ir.OPERATIONS)


class Index:
    """The instructions of one code, nested ones included. Made by `index_of`; nothing in it may be changed."""

    def __init__(self, code: Code) -> None:
        self.flat: list[Instr] = []
        _flatten(code.body, self.flat)
        self._of: dict[tuple[type[Instr], ...], list[Any]] = {}
        self._assigned: dict[ir.Loop, tuple[int, ...]] = {}
        self._inner_edges: dict[ir.Loop, tuple[int, ...]] = {}

    @cached_property
    def definitions(self) -> dict[int, Instr]:
        """The instruction that defines each slot."""
        found: dict[int, Instr] = {}
        for instr in self.flat:
            slot = instr.target
            if slot >= 0:
                found[slot] = instr
            elif isinstance(instr, ir.Unpack):
                found.update(dict.fromkeys(instr.targets, instr))
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
        return self._originals.get(slot, slot)

    def source(self, slot: int) -> Instr | None:
        """The instruction that makes the value in a slot, copies of it passed over."""
        return self.definitions.get(self._originals.get(slot, slot))

    @cached_property
    def _originals(self) -> dict[int, int]:
        """Of the slots that copies are in, those that the values were first in."""
        found: dict[int, int] = {}
        for copied, made in self.definitions.items():
            slot: int = copied
            while isinstance(made, ir.Copy):
                slot = made.source
                if slot not in self.definitions:
                    break
                made = self.definitions[slot]
            if slot != copied:
                found[copied] = slot
        return found

    def upstream(
        self, slots: Iterable[int], following: Callable[[Instr], Iterable[int]], most: int | None = None
    ) -> Iterator[tuple[int, Instr | None]]:
        """The slots that some values come from, copies passed over, each with what makes it: those themselves, and what
        `following` says of each that the code makes. At most so many."""

        def before(slot: int) -> Iterable[int]:
            made = self.definitions.get(slot)
            return map(self.original, following(made)) if made is not None else ()

        return ((slot, self.definitions.get(slot)) for slot in closure(map(self.original, slots), before, most))

    @cached_property
    def by_operation(self) -> dict[type[Instr], list[Any]]:
        """The instructions of each operation, in order."""
        found: dict[type[Instr], list[Any]] = {}
        for instr in self.flat:
            found.setdefault(type(instr), []).append(instr)
        return found

    @overload
    def of(self, one: type[A], /) -> list[A]: ...
    @overload
    def of(self, one: type[A], two: type[B], /) -> list[A | B]: ...
    @overload
    def of(self, one: type[A], two: type[B], three: type[C], /) -> list[A | B | C]: ...
    @overload
    def of(self, one: type[A], two: type[B], three: type[C], four: type[D], /) -> list[A | B | C | D]: ...
    @overload
    def of(self, *operations: type[A]) -> list[A]: ...
    def of(self, *operations: type[Instr]) -> list[Any]:
        """The instructions of some operations: those of the first in order, then those of the next."""
        found = self._of.get(operations)
        if found is None:
            if len(operations) == 1:
                (one,) = operations
                known = self.by_operation.get(one, [])
                found = known if one in _SINGLE else [instr for instr in self.flat if isinstance(instr, one)]
            else:
                found = [instr for each in operations for instr in self.of(each)]
            self._of[operations] = found
        return found

    @cached_property
    def attributes(self) -> dict[str, list[ir.Attr]]:
        """The reads of attributes, by name."""
        found: dict[str, list[ir.Attr]] = {}
        for instr in self.of(ir.Attr):
            found.setdefault(instr.name, []).append(instr)
        return found

    @cached_property
    def main_calls(self) -> frozenset[int]:
        """Where calls stand under `if __name__ == "__main__":`, which run where the module is the program itself."""
        names = {i.target for i in self.of(ir.Global) if i.name == "__name__"}
        tests = {i.target for i in self.of(ir.Compare) if names & {i.left, i.right}}
        branches = [branch.then for branch in self.of(ir.If) if branch.condition in tests]
        return frozenset(i.position for branch in branches for i in instructions(branch) if isinstance(i, ir.Call))

    @cached_property
    def names(self) -> frozenset[str]:
        """The module variables and builtins that are read."""
        return frozenset(instr.name for instr in self.of(ir.Global))

    @cached_property
    def _by_position(self) -> dict[int, list[Instr]]:
        found: dict[int, list[Instr]] = {}
        for instr in self.flat:
            found.setdefault(instr.position, []).append(instr)
        return found

    def at(self, position: int) -> list[Instr]:
        """The instructions at a position, in order."""
        return self._by_position.get(position) or []

    @cached_property
    def calls(self) -> dict[int, tuple[ir.Call, ...]]:
        """The call instructions at each position: all calls of a chain `f(x).g(y)` stand at its start."""
        found: dict[int, tuple[ir.Call, ...]] = {}
        for call in self.of(ir.Call):
            found[call.position] = (*found.get(call.position, ()), call)
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
        for number, loop in enumerate(self.of(ir.Loop)):
            for pos in {inner.position for part in (loop.test, loop.body) for inner in instructions(part)}:
                found[pos] = (*found.get(pos, ()), number)
        return found

    def assigned(self, loop: ir.Loop) -> tuple[int, ...]:
        """The slots that the body of a loop writes."""
        found = self._assigned.get(loop)
        if found is None:
            found = tuple(slot for instr in instructions(loop.body) for slot in written(instr))
            self._assigned[loop] = found
        return found

    def inner_edges(self, loop: ir.Loop) -> tuple[int, ...]:
        """The edges inside the body of a loop, and those back from it."""
        found = self._inner_edges.get(loop)
        if found is None:
            inside = (edge for instr in instructions(loop.body) for edge in edges_of(instr))
            found = self._inner_edges[loop] = (*inside, loop.back, *loop.continues)
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
        if type(instr) in NESTED:
            for part in blocks_of(instr):
                _flatten(part, found)
