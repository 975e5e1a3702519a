"""The intermediate representation: structured code over single-assignment slots.

A function is a tree of blocks; a block is a tuple of instructions; an instruction is a flat tuple
`(opcode, destination slot, operands ..., position)`. Every local variable version has a slot of its own, joined by
`PHI` instructions, so that values of locals are flow-sensitive without any copied environment. A `PHI` operand names
the edge that must have been executed for it to count (`ALWAYS` where any path may bring it).

A position is `line << 16 | column` (column in UTF-8 bytes from 0, as `ast` gives it).
"""

from __future__ import annotations

import ast
from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hybridize.records import dataclass, field

Instr: TypeAlias = tuple[Any, ...]
Block: TypeAlias = tuple[Instr, ...]

ALWAYS: Final = -1
NO_SLOT: Final = -1


class Op(IntEnum):
    """Operation codes. `d` is the destination slot, `p` the position; other letters are slots unless said otherwise."""

    COPY = 0  # d, s, p
    GLOBAL = auto()  # d, name, p             a module variable or builtin
    CELL = auto()  # d, name, p               a captured variable
    SET_GLOBAL = auto()  # -, name, s, p
    SET_CELL = auto()  # -, name, s, p
    SET_NAME = auto()  # -, name, s, p        a class body's variable
    DEL_GLOBAL = auto()  # -, name, p
    DEL_CELL = auto()  # -, name, p              a captured variable
    DEL_LOCAL = auto()  # -, s, p                what the variable held
    ATTR = auto()  # d, o, name, p
    SET_ATTR = auto()  # -, o, name, s, p
    DEL_ATTR = auto()  # -, o, name, p
    ITEM = auto()  # d, o, index, p
    SET_ITEM = auto()  # -, o, index, s, p
    DEL_ITEM = auto()  # -, o, index, p
    SLICE = auto()  # d, lower, upper, step, p   (NO_SLOT where absent)
    BINARY = auto()  # d, operator name, l, r, p
    INPLACE = auto()  # d, operator name, l, r, p
    UNARY = auto()  # d, operator name, s, p
    COMPARE = auto()  # d, operator name, l, r, p
    BOOLOP = auto()  # d, (slots), p             the value of `and` / `or`: any of its operands
    CALL = auto()  # d, f, ((slot, starred) ...), ((name or None, slot) ...), p
    TUPLE = auto()  # d, ((slot, starred) ...), p
    LIST = auto()  # d, ((slot, starred) ...), p
    SET = auto()  # d, ((slot, starred) ...), p
    GENERATOR = auto()  # d, p                   a generator expression's object
    DICT = auto()  # d, ((key slot or NO_SLOT, value slot) ...), p
    FORMAT = auto()  # d, (slots), (conversions), (texts), p   an f-string; each conversion "r", "s", "a" or ""
    APPEND = auto()  # -, list, s, p             an element of a comprehension
    SIZED = auto()  # -, list, s, p              a comprehension has as many elements as its source
    PUT = auto()  # -, dict, key, s, p           an entry of a dict comprehension
    UNPACK = auto()  # (slots), s, star index or -1, p
    FUNC = auto()  # d, code, ((name, slot) ... defaults), p
    CLASS = auto()  # d, code, ((slot, starred) bases), ((name, slot) keywords), p
    IMPORT = auto()  # d, dotted name, bind top (bool), p
    IMPORT_FROM = auto()  # d, module name, level, name, p
    IMPORT_STAR = auto()  # -, module name, level, p
    PHI = auto()  # d, ((edge, slot) ...), p
    REFINE = auto()  # d, s, kind, argument (slot or None), polarity, p
    RETURN = auto()  # -, s, p
    YIELD = auto()  # d, s, p
    YIELD_FROM = auto()  # d, s, p
    AWAIT = auto()  # d, s, p
    RAISE = auto()  # -, s, p
    ASSERT = auto()  # -, condition, p
    JUMP = auto()  # -, edge, p                  break, continue
    IF = auto()  # -, condition, then, else, then edge, else edge, p
    LOOP = auto()  # -, Loop, p
    TRY = auto()  # -, Try, p
    ENTER = auto()  # d, s, async (bool), p
    EXIT = auto()  # -, s, lines of the body (range), p
    ITER = auto()  # d, s, p                     the elements' common value of an iterable
    MATCH = auto()  # d, s, pattern kind, argument, p   a sub-value that a pattern captures
    DYNAMIC = auto()  # -, what, p               code the analysis can't see (exec, dynamic class syntax)


if not TYPE_CHECKING:
    # Rules and facts compare codes millions of times: plain numbers in the slots of one object are found, compared and
    # hashed several times as fast as the members of an enumeration. `Op(code)` still is the member, with its name.
    Op = type(
        "Op",
        (),
        {
            "__slots__": tuple(Op.__members__),
            "__call__": staticmethod(Op),
            "__iter__": lambda self: iter(range(len(self.__slots__))),
        },
    )()
    for _member in Op(0).__class__:
        setattr(Op, _member.name, _member.value)


@dataclass(slots=True)
class Loop:
    """A `for` or `while`. `phis` join the entry edge with back edges; the condition block ends in slot `condition`.

    A `for` loop has `condition` NO_SLOT: it may end at any time; its condition block fetches the next element.
    """

    phis: Block
    test: Block
    condition: int
    body: Block
    orelse: Block
    entry: int  # edges
    back: int
    exhausted: int
    done: int
    is_for: bool
    iterable: int = NO_SLOT
    breaks: tuple[int, ...] = ()
    continues: tuple[int, ...] = ()
    fills: int = NO_SLOT  # the list that a comprehension gives one element in each turn, by the last instruction
    nests: bool = False  # a loop inside this one does so
    within: bool = False  # this one stands in another of the same comprehension
    slots: tuple[int, ...] | None = None  # what the body assigns (`flow.turns`), gathered when first asked for
    inner: tuple[int, ...] | None = None  # the edges inside the body, likewise


@dataclass(slots=True)
class Handler:
    """An `except` clause: its phis join what the body may have assigned before the exception."""

    phis: Block
    body: Block
    fallthrough: int
    type_slot: int = NO_SLOT
    catches: Block = ()
    caught: int = NO_SLOT


@dataclass(slots=True)
class Try:
    """A `try` statement."""

    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    fallthrough: int
    join: Block
    final: Block


@dataclass(slots=True)
class Param:
    """A parameter: `kind` is `positional`, `normal`, `varargs`, `keyword` or `kwargs`; `slot` is where it arrives."""

    name: str
    kind: str
    slot: int
    annotation: ast.expr | None
    has_default: bool
    default: ast.expr | None = None


@dataclass(slots=True)
class Growth:
    """An append that runs once in each turn of the loops between it and the making of its list.

    `outer` loops are around the list's making, `depth` around the append; `guarded` if it stands in a branch of its
    own, `peeked` if elements of the list are read between its appends.
    """

    outer: int
    depth: int
    guarded: bool
    peeked: bool


@dataclass(slots=True, eq=False, repr=False)
class Code:
    """A lowered module, class body, function or lambda. `kind` says which; positions are those of `def`."""

    name: str
    qualname: str
    kind: str
    path: str
    position: int
    end_line: int
    params: tuple[Param, ...] = ()
    template: list[Any] = field(default_factory=list)
    body: Block = ()
    edges: int = 0
    free: frozenset[str] = frozenset()
    cells: frozenset[str] = frozenset()
    children: list[Code] = field(default_factory=list)
    parent: Code | None = None
    is_generator: bool = False
    is_async: bool = False
    decorators: tuple[ast.expr, ...] = ()
    returns: ast.expr | None = None
    slot_names: dict[int, str] = field(default_factory=dict)
    module: Any = None
    uid: int = 0
    first_line: int = 0
    size: int = 0
    abstract: bool = False
    occurrence: int = 1
    bound: frozenset[str] = frozenset()
    fields: tuple[str, ...] = ()
    #: Appends to a list of the same function that count (`program.growth`), by their position.
    appends: dict[int, Growth] = field(default_factory=dict)
    index: Any = None  # program.index: made when first asked for
    plain: bool | None = None  # whether every parameter takes one positional argument (flow.functions), likewise
    node: ast.AST | None = None  # the syntax; of very big programs it is not kept (program.build)

    def __repr__(self) -> str:
        return f"<code {self.path}:{self.qualname}>"

    @property
    def line(self) -> int:
        """The line of `def`, from 1."""
        return self.position >> 16

    @property
    def column(self) -> int:
        """The column of `def`, from 1, in UTF-8 bytes."""
        return (self.position & 0xFFFF) + 1
