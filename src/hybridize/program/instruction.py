"""What all instructions share, and what their fields may be to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, dataclass_transform

from hybridize.records import dataclass

ALWAYS: Final = -1
NO_SLOT: Final = -1

# What a field is to its instruction. `program.operands` knows these by name.

#: `line << 16 | column` (column in UTF-8 bytes from 0, as `ast` gives it).
Position: TypeAlias = int
#: The slot that an instruction writes.
Target: TypeAlias = int
Targets: TypeAlias = tuple[int, ...]
#: A slot whose value is read; `NO_SLOT` where there is none.
Slot: TypeAlias = int
Slots: TypeAlias = tuple[int, ...]
#: A slot that the program does not read here: only the analysis looks at it.
Mention: TypeAlias = int
#: Slots that are read, each with whether it is starred.
Starred: TypeAlias = tuple[tuple[int, bool], ...]
#: Names with the slots that are read for them; `None` is `**`.
Keyed: TypeAlias = tuple[tuple[str | None, int], ...]
#: The same where each has a name.
Named: TypeAlias = tuple[tuple[str, int], ...]
#: The slots of keys and values; the key is `NO_SLOT` where the value is a whole dict (`**`).
Entries: TypeAlias = tuple[tuple[int, int], ...]
#: The edges that lead to a join, each with the slot that it brings.
Incoming: TypeAlias = tuple[tuple[int, int], ...]
#: A way that control may take within the function: it counts if it has been executed.
Edge: TypeAlias = int
Edges: TypeAlias = tuple[int, ...]
Block: TypeAlias = "tuple[Instr, ...]"

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False)
def record(cls: type[T]) -> type[T]:
    """A record with slots that nobody changes (type checkers see to that), and that is equal to no other one."""
    return dataclass(slots=True, eq=False)(cls)


@record
class Instr:
    """An instruction. Those that write one slot are `ValueInstr`."""

    position: Position

    if TYPE_CHECKING:

        @property
        def target(self) -> Target: ...
    else:
        target = NO_SLOT


@record
class ValueInstr(Instr):
    """An instruction that writes one slot."""

    target: Target


# What several operations are alike in: whoever asks for one of a group asks for the group. One may be in several.


@record
class Load(ValueInstr):
    """Reads a name or attribute that outlives the call."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...


@record
class Outer(Load):
    """Reads a name that other functions may write."""

    name: str


@record
class Opaque(ValueInstr):
    """Gives nothing of what it reads: no part of it, and nothing computed of it."""


@record
class Store(Instr):
    """Keeps a value where other code may find it."""

    if TYPE_CHECKING:

        @property
        def value(self) -> Slot: ...


@record
class Assignment(Store):
    """Gives another value to a name or attribute that outlives the call."""

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...


@record
class SetOuter(Assignment):
    """Assigns to a name that other functions may read."""

    name: str
    value: Slot


@record
class Unbinding(Instr):
    """Deletes a name that others may read."""

    name: str


@record
class Change(Instr):
    """Changes an object: gives it a part, or takes one away."""

    if TYPE_CHECKING:

        @property
        def owner(self) -> Slot: ...


@record
class ElementChange(Change):
    """Changes what is in a container or array."""


@record
class Fill(ElementChange, Store):
    """Puts a value into a container or array."""


@record
class Part(Instr):
    """Takes elements out of what `source` holds."""

    if TYPE_CHECKING:

        @property
        def source(self) -> Slot: ...


@record
class Sequence(ValueInstr):
    """A display of elements in order."""

    elements: Starred


@record
class Computed(ValueInstr):
    """An operator, with one operand or two."""

    operator: str


@record
class TwoSided(Computed):
    """An operator with two operands."""

    left: Slot
    right: Slot


@record
class Operator(TwoSided):
    """An operator with two operands that gives a new value."""


@record
class Passing(ValueInstr):
    """Hands a value on: it is read only if the result is."""


@record
class Copy(Passing):
    """Hands on what `source` holds."""

    if TYPE_CHECKING:

        @property
        def source(self) -> Slot: ...


@record
class Ending(Instr):
    """Control does not get behind it."""
