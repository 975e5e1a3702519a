"""What lowering makes of a module, class body, function or lambda: its code."""

from __future__ import annotations

import ast
from typing import Any, Final

from hybridize.program.instruction import Block
from hybridize.records import dataclass, field


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

    def become(self, other: Code) -> None:
        """Takes over what another code is, where both are the same function of the same parent."""
        parent = self.parent
        for name in _SLOTS:
            setattr(self, name, getattr(other, name))
        self.parent = parent
        for child in self.children:
            child.parent = self

    @property
    def line(self) -> int:
        """The line of `def`, from 1."""
        return self.position >> 16

    @property
    def column(self) -> int:
        """The column of `def`, from 1, in UTF-8 bytes."""
        return (self.position & 0xFFFF) + 1


_SLOTS: Final = tuple(Code.__annotations__)
