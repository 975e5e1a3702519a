"""What lowering makes of a module, class body, function or lambda: its code."""

from __future__ import annotations

import ast
from enum import StrEnum
from typing import Any, Final

from hybridize.program.instruction import Block
from hybridize.records import dataclass, field


class CodeKind(StrEnum):
    """What a code is the body of."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    LAMBDA = "lambda"


class ParamKind(StrEnum):
    """How a parameter is given its argument."""

    POSITIONAL = "positional"  # by its place alone
    NORMAL = "normal"
    VARARGS = "varargs"
    KEYWORD = "keyword"  # by its name alone
    KWARGS = "kwargs"


@dataclass(slots=True)
class Param:
    """A parameter: `slot` is where it arrives."""

    name: str
    kind: ParamKind
    slot: int
    annotation: ast.expr | None
    has_default: bool
    default: ast.expr | None = None

    @property
    def by_place(self) -> bool:
        """Whether an argument without a name may be given to it alone."""
        return self.kind in (ParamKind.POSITIONAL, ParamKind.NORMAL)

    @property
    def by_name(self) -> bool:
        """Whether it takes its argument by its name alone."""
        return self.kind is ParamKind.KEYWORD

    @property
    def is_varargs(self) -> bool:
        """Whether it is `*args`."""
        return self.kind is ParamKind.VARARGS

    @property
    def is_kwargs(self) -> bool:
        """Whether it is `**kwargs`."""
        return self.kind is ParamKind.KWARGS

    @property
    def stars(self) -> str:
        """What stands before its name: it takes any number of arguments where there is something."""
        return {ParamKind.VARARGS: "*", ParamKind.KWARGS: "**"}.get(self.kind, "")

    @property
    def is_starred(self) -> bool:
        """Whether it takes any number of arguments."""
        return self.is_varargs or self.is_kwargs


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
    """A lowered module, class body, function or lambda; positions are those of `def`."""

    name: str
    qualname: str
    kind: CodeKind
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
    field_hints: dict[str, ast.expr] = field(default_factory=dict)
    #: Appends to a list of the same function that count (`program.growth`), by their position.
    appends: dict[int, Growth] = field(default_factory=dict)
    index: Any = None  # program.index: made when first asked for
    plain: bool | None = None  # whether every parameter takes one positional argument (flow.functions), likewise
    node: ast.AST | None = None  # the syntax; of very big programs it is not kept (program.build)

    def __repr__(self) -> str:
        return f"<code {self.path}:{self.qualname}>"

    @property
    def is_module(self) -> bool:
        return self.kind is CodeKind.MODULE

    @property
    def is_class(self) -> bool:
        return self.kind is CodeKind.CLASS

    @property
    def is_function(self) -> bool:
        """Whether it is that of a `def`."""
        return self.kind is CodeKind.FUNCTION

    @property
    def is_lambda(self) -> bool:
        return self.kind is CodeKind.LAMBDA

    @property
    def is_body(self) -> bool:
        """Whether it runs where it stands, and is not called: a module's or a class's."""
        return self.is_module or self.is_class

    @property
    def in_class(self) -> bool:
        """Whether it stands in the body of a class, as methods do."""
        return self.parent is not None and self.parent.is_class

    @property
    def in_function(self) -> bool:
        """Whether it stands in the body of a `def`."""
        return self.parent is not None and self.parent.is_function

    def place_of(self, slot: int) -> int:
        """The place of the parameter that arrives in a slot; -1 if none does."""
        return next((i for i, param in enumerate(self.params) if param.slot == slot), -1)

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
