"""The operations of the intermediate representation: structured code over single-assignment slots.

A function is a tree of blocks; a block is a tuple of instructions; each operation is a class here, whose fields say by
their type what they are to it (`Slot`: an operand, `Target`: the slot that it writes ...). That is its only definition:
what it reads and writes, its blocks, edges and its printed form follow from the fields (`program.operands`). Readers
ask `isinstance(made, ir.Call)`, or for what is alike (`ir.Sequence`: `program.instruction`), and then read fields.
What holds blocks or leads along edges stands in `program.branching`.

Every version of a local variable has a slot of its own, joined by `Phi`: locals are flow-sensitive without any copies.
"""

from __future__ import annotations

import ast
from typing import Final, TypeAlias

from hybridize.program.branching import Handler as Handler
from hybridize.program.branching import If as If
from hybridize.program.branching import Joins as Joins
from hybridize.program.branching import Jump as Jump
from hybridize.program.branching import Loop as Loop
from hybridize.program.branching import Phi as Phi
from hybridize.program.branching import Try as Try
from hybridize.program.code import Code as Code
from hybridize.program.instruction import ALWAYS as ALWAYS
from hybridize.program.instruction import NO_SLOT as NO_SLOT
from hybridize.program.instruction import Assignment as Assignment
from hybridize.program.instruction import Block as Block
from hybridize.program.instruction import Change as Change
from hybridize.program.instruction import Computed as Computed
from hybridize.program.instruction import Copy as Copy
from hybridize.program.instruction import ElementChange as ElementChange
from hybridize.program.instruction import Ending as Ending
from hybridize.program.instruction import (
    Entries,
    Keyed,
    Mention,
    Named,
    Slot,
    Slots,
    Starred,
    Targets,
    ValueInstr,
    record,
)
from hybridize.program.instruction import Fill as Fill
from hybridize.program.instruction import Instr as Instr
from hybridize.program.instruction import Load as Load
from hybridize.program.instruction import Opaque as Opaque
from hybridize.program.instruction import Operator as Operator
from hybridize.program.instruction import Outer as Outer
from hybridize.program.instruction import Part as Part
from hybridize.program.instruction import Passing as Passing
from hybridize.program.instruction import Sequence as Sequence
from hybridize.program.instruction import SetOuter as SetOuter
from hybridize.program.instruction import Store as Store
from hybridize.program.instruction import TwoSided as TwoSided
from hybridize.program.instruction import Unbinding as Unbinding

#: What a pattern asks for: kind, number of elements, whether there may be more.
Shape: TypeAlias = tuple[str, int, bool]


# Names ----------------------------------------------------------------------------------------------------------------


@record
class Global(Outer):
    """Reads a module variable or builtin."""


@record
class Cell(Outer):
    """Reads a captured variable."""


@record
class SetGlobal(SetOuter):
    """Assigns a module variable."""


@record
class SetCell(SetOuter):
    """Assigns a captured variable."""


@record
class SetName(Instr):
    """Assigns a variable of a class body."""

    name: str
    value: Slot


@record
class DelGlobal(Unbinding):
    """Deletes a module variable."""


@record
class DelCell(Unbinding):
    """Deletes a captured variable."""


@record
class DelLocal(Instr):
    """Deletes a local variable, which held a value."""

    value: Mention


@record
class DelName(Unbinding):
    """Deletes a variable of a class body."""


@record
class Import(ValueInstr):
    """`import name`; binds the top package where there is no `as`."""

    name: str
    binds_top: bool


@record
class ImportFrom(ValueInstr):
    """`from module import name`, with `level` dots."""

    module: str
    level: int
    name: str


@record
class ImportStar(Instr):
    """`from module import *`, with `level` dots."""

    module: str
    level: int


# Parts of objects -----------------------------------------------------------------------------------------------------


@record
class Attr(Load):
    """`owner.name`"""

    owner: Slot
    name: str


@record
class SetAttr(Assignment, Change):
    """`owner.name = value`"""

    owner: Slot
    name: str
    value: Slot


@record
class DelAttr(Change):
    """`del owner.name`"""

    owner: Slot
    name: str


@record
class Item(ValueInstr, Part):
    """`source[index]`"""

    source: Slot
    index: Slot


@record
class SetItem(Fill):
    """`owner[index] = value`"""

    owner: Slot
    index: Slot
    value: Slot


@record
class DelItem(ElementChange):
    """`del owner[index]`"""

    owner: Slot
    index: Slot


@record
class Slice(Opaque):
    """`lower:upper:step`"""

    lower: Slot
    upper: Slot
    step: Slot


@record
class Unpack(Part):
    """`a, *b = source`; `star` is the index of the starred target or -1."""

    targets: Targets
    source: Slot
    star: int


@record
class Iter(ValueInstr, Part):
    """What the elements of an iterable have in common."""

    source: Slot


# Values ---------------------------------------------------------------------------------------------------------------


@record
class Binary(Operator):
    """`left + right`"""


@record
class Inplace(Operator):
    """`left += right`"""


@record
class Compare(TwoSided):
    """`left < right`"""


@record
class Unary(Computed):
    """`-operand`"""

    operand: Slot


@record
class BoolOp(ValueInstr):
    """The value of `and` or `or` where all operands are there already: any of them."""

    operands: Slots
    operator: str


@record
class Call(ValueInstr):
    """`function(*arguments, **keywords)`"""

    function: Slot
    arguments: Starred
    keywords: Keyed


@record
class Tuple(Sequence):
    """`(a, *b)`"""


@record
class List(Sequence):
    """`[a, *b]`"""


@record
class Set(ValueInstr):
    """`{a, *b}`"""

    elements: Starred


@record
class Dict(ValueInstr):
    """`{key: value, **more}`"""

    entries: Entries


@record
class Generator(ValueInstr):
    """The object of a generator expression."""


@record
class Format(ValueInstr):
    """An f-string: its values, their conversions ("r", "s", "a" or ""), and its texts with `None` for each value."""

    values: Slots
    conversions: tuple[str, ...]
    texts: tuple[str | None, ...]


@record
class Append(Fill):
    """Adds an element of a comprehension."""

    owner: Slot
    value: Slot


@record
class Put(Fill):
    """Adds an entry of a dict comprehension."""

    owner: Slot
    key: Slot
    value: Slot


@record
class Sized(Instr):
    """A comprehension has as many elements as its source."""

    owner: Mention
    source: Mention


@record
class Func(Opaque):
    """Makes a function, with the defaults of parameters."""

    code: Code
    defaults: Named


@record
class Class(Opaque):
    """Makes a class."""

    code: Code
    bases: Starred
    keywords: Keyed


# Control --------------------------------------------------------------------------------------------------------------


@record
class Refine(Copy):
    """A value where a test holds, or not; `kind`: "truth", "none", "callable", "isinstance" or a pattern's "shape"."""

    source: Slot
    kind: str
    holds: bool
    classes: Mention = NO_SLOT
    shape: Shape | None = None


@record
class Annotated(Copy):
    """`name: annotation = source`: the value, for which the annotation stands in where it is unknown."""

    source: Slot
    annotation: ast.expr


@record
class Match(ValueInstr):
    """What a pattern asks or captures; `kind`: "class", "shape", "position" (the part at `index`), "test" (others)."""

    source: Slot
    kind: str
    classes: Mention = NO_SLOT
    shape: Shape | None = None
    index: int = -1


@record
class Return(Ending):
    """`return value`"""

    value: Slot


@record
class Yield(Opaque):
    """`yield value`: what is sent."""

    value: Slot


@record
class YieldFrom(Opaque):
    """`yield from source`: its result."""

    source: Slot


@record
class Await(ValueInstr):
    """`await source`"""

    source: Slot


@record
class Raise(Ending):
    """`raise value`; `NO_SLOT` raises again."""

    value: Slot


@record
class Assert(Instr):
    """`assert condition`"""

    condition: Slot


@record
class Enter(ValueInstr):
    """What a context manager gives at the beginning of a `with` statement."""

    source: Slot
    is_async: bool


@record
class Exit(Instr):
    """The end of a `with` statement, of whose body the lines are given."""

    source: Slot
    lines: range


#: All operations: not what several of them are alike in.
OPERATIONS: Final[tuple[type[Instr], ...]] = tuple(
    each
    for each in list(globals().values())
    if isinstance(each, type) and issubclass(each, Instr) and not each.__subclasses__()
)
