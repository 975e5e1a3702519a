"""What instructions read, write, execute and hold: as the fields of their operations say, by their roles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from hybridize.closure import closure
from hybridize.program.instruction import Block, Instr
from hybridize.program.ir import OPERATIONS, Call, Handler, Opaque, Passing, Phi


def operands(instr: Instr | Handler) -> list[int]:
    """The slots that an instruction reads; those of the blocks in it not counted."""
    return _READS[type(instr)](instr)


def arguments(call: Call) -> list[int]:
    """The slots of a call's arguments."""
    return [*(slot for slot, _ in call.arguments), *(slot for _, slot in call.keywords)]


def joined(instr: Instr | None) -> list[int]:
    """The slots that come together in a join; of anything else none."""
    return operands(instr) if isinstance(instr, Phi) else []


def written(instr: Instr | Handler) -> list[int]:
    """The slots that an instruction writes; those of the blocks in it not counted."""
    return _WRITES[type(instr)](instr)


def edges_of(instr: Instr | Handler) -> list[int]:
    """The edges that an instruction may execute; those of the blocks in it not counted."""
    return _EDGES[type(instr)](instr)


def blocks_of(instr: Instr | Handler) -> list[Block]:
    """The blocks inside an instruction, in order."""
    return _BLOCKS[type(instr)](instr)


def members(group: type[Instr]) -> list[type[Instr]]:
    """The operations of a group, or the operation itself."""
    return [each for each in OPERATIONS if issubclass(each, group)]


def hands_on(operation: type) -> bool:
    """Whether what an operation writes is made of what it reads."""
    found = roles(operation).values()
    return not (issubclass(operation, Opaque) or _READ.keys().isdisjoint(found) or _WRITTEN.keys().isdisjoint(found))


def roles(operation: type) -> dict[str, str]:
    """The fields of an operation, in order, with their roles: what their types are called (`program.instruction`)."""
    found: dict[str, str] = {}
    for each in reversed(operation.__mro__):
        found.update(getattr(each, "__annotations__", {}))
    return found


#: How an expression lists what a field of a role holds.
_Parts: TypeAlias = dict[str, str]

_READ: Final[_Parts] = {
    "Slot": "i.{0}",
    "Slots": "*i.{0}",
    "Starred": "*[slot for slot, _ in i.{0}]",
    "Keyed": "*[slot for _, slot in i.{0}]",
    "Named": "*[slot for _, slot in i.{0}]",
    "Entries": "*[slot for pair in i.{0} for slot in pair]",
    "Incoming": "*[slot for _, slot in i.{0}]",
    "Handlers": "*[slot for each in i.{0} for slot in operands(each)]",
}
_WRITTEN: Final[_Parts] = {"Target": "i.{0}", "Targets": "*i.{0}"}
_EXECUTED: Final[_Parts] = {
    "Edge": "i.{0}",
    "Edges": "*i.{0}",
    "Handlers": "*[edge for each in i.{0} for edge in edges_of(each)]",
}
_HELD: Final[_Parts] = {
    "Block": "i.{0}",
    "Joins": "i.{0}",
    "Handlers": "*[block for each in i.{0} for block in blocks_of(each)]",
}
#: Types of fields that hold nothing of this.
OTHER_ROLES: Final = frozenset(
    {"Position", "Mention", "Code", "str", "int", "bool", "range", "tuple[str, ...]", "tuple[str | None, ...]"}
    | {"Shape | None", "ast.expr"}
)
KNOWN_ROLES: Final = frozenset().union(_READ, _WRITTEN, _EXECUTED, _HELD, OTHER_ROLES)


def reader(operation: type) -> Callable[[list[Any], Any], Any]:
    """What gives the values of all slots that an instruction reads, of what stands in the slots."""
    parts = [
        f"v[i.{name}]" if role == "Slot" else f"*[v[slot] for slot in [{_READ[role].format(name)}]]"
        for name, role in roles(operation).items()
        if role in _READ
    ]
    shown = parts[0] if len(parts) == 1 and parts[0][0] != "*" else f"({''.join(f'{part}, ' for part in parts)})"
    found: Callable[[list[Any], Any], Any] = eval(f"lambda v, i: {shown}")
    return found


class _Lists(dict[type, Callable[[Any], list[Any]]]):
    """By operation, what lists all that its fields of some roles hold; each is compiled when it is first asked for.

    Of slots and edges only those that are there count: not `NO_SLOT`.
    """

    def __init__(self, parts: _Parts, *, numbers: bool) -> None:
        self._parts = parts
        self._numbers = numbers

    def __missing__(self, operation: type) -> Callable[[Any], list[Any]]:
        shown = [self._parts[role].format(name) for name, role in roles(operation).items() if role in self._parts]
        listed = f"[{', '.join(shown)}]"
        if shown and self._numbers:
            listed = f"[each for each in {listed} if each >= 0]"
        found: Callable[[Any], list[Any]] = eval(f"lambda i: {listed}")
        self[operation] = found
        return found


_READS: Final = _Lists(_READ, numbers=True)
_WRITES: Final = _Lists(_WRITTEN, numbers=True)
_EDGES: Final = _Lists(_EXECUTED, numbers=True)
_BLOCKS: Final = _Lists(_HELD, numbers=False)
#: Operations that hold blocks.
NESTED: Final = frozenset({each for each in OPERATIONS if not _HELD.keys().isdisjoint(roles(each).values())})


def read_slots(flat: list[Instr]) -> frozenset[int]:
    """The slots whose value is used for something, not only handed on."""
    sources: dict[int, list[int]] = {}
    found: set[int] = set()
    for instr in flat:
        if isinstance(instr, Passing):
            sources.setdefault(instr.target, []).extend(operands(instr))
        else:
            found.update(operands(instr))
    return frozenset(closure(found, lambda slot: sources.get(slot, ())))
