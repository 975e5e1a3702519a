"""What lowers one scope: its expressions and statements one by one, by tables of functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from hybridize.program import ir
from hybridize.program.builder import Builder, Incoming, position
from hybridize.program.code import Code, CodeKind
from hybridize.program.growth import Lists
from hybridize.program.ir import NO_SLOT, Block
from hybridize.program.scopes import Scope, Scopes
from hybridize.records import dataclass

Refinement: TypeAlias = tuple[str, str, int, bool]  # variable, kind, slot of classes, polarity


@dataclass(frozen=True, slots=True)
class Tables:
    """The function that lowers each kind of expression and statement."""

    expressions: Mapping[type[ast.expr], Callable[[Lowering, Any], int]]
    statements: Mapping[type[ast.stmt], Callable[[Lowering, Any], bool | None]]


class OpenLoop:
    """A loop being lowered: where `break` and `continue` go, and the versions they bring there."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.breaks: list[Incoming] = []
        self.continues: list[Incoming] = []


class Lowering(Builder):
    """Lowers one scope. `lists` watches the lists that it makes."""

    def __init__(self, code: Code, scope: Scope, scopes: Scopes, counts: dict[str, int], tables: Tables) -> None:
        super().__init__(code, scope, scopes)
        self.loops: list[OpenLoop] = []
        self.lists = Lists()
        self.counts = counts
        self.tables = tables

    def inner(self, code: Code, scope: Scope) -> Lowering:
        """What lowers a scope inside of this one."""
        return Lowering(code, scope, self.scopes, self.counts, self.tables)

    def store(self, name: str, slot: int, pos: int, *, comprehension: bool = False) -> None:
        if self.lists.watched:
            self.lists.stored(name)
        super().store(name, slot, pos, comprehension=comprehension)

    def load(self, name: str, pos: int) -> int:
        if self.lists.watched:
            self.lists.read(name)
        return super().load(name, pos)

    def expr(self, node: ast.expr) -> int:
        """The slot of an expression's value."""
        return self.tables.expressions[type(node)](self, node)

    def optional(self, node: ast.expr | None) -> int:
        """The slot of an optional part, `NO_SLOT` if absent."""
        return NO_SLOT if node is None else self.expr(node)

    def elements(self, nodes: Sequence[ast.expr]) -> tuple[tuple[int, bool], ...]:
        """Slots of elements, each with whether it is starred."""
        return tuple([(self.expr(n.value), True) if type(n) is ast.Starred else (self.expr(n), False) for n in nodes])

    def log_changes(self, changes: dict[str, int]) -> None:
        """Keeps variables that a walrus inside a skipped operand bound: they may be bound afterwards."""
        for name, version in changes.items():
            if name not in self.env:
                self.assign(name, version)

    def branch(
        self, lower: Callable[[], object], refinements: Sequence[Refinement] = ()
    ) -> tuple[Block, dict[str, int]]:
        """Lowers a branch into a block of its own; returns it with the versions that it changed."""
        saved, self.out = self.out, []
        self.nesting += 1
        mark = len(self.log)
        for name, kind, classes, polarity in refinements:
            if name in self.env and name not in self.unsettled:
                dst = self.slot()
                self.emit(ir.Refine(self.code.position, dst, self.env[name], kind, polarity, classes))
                self.assign(name, dst)
        lower()
        changes = self.undo(mark)
        self.nesting -= 1
        block, self.out = tuple(self.out), saved
        return block, changes

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Lowers statements into the present block; false where control never reaches the end."""
        for statement in statements:
            if self.tables.statements[type(statement)](self, statement) is False:
                return False
        return True

    def nested(
        self, statements: Sequence[ast.stmt], refinements: Sequence[Any] = ()
    ) -> tuple[Block, dict[str, int], bool]:
        """Lowers statements into a block of their own: the block, the versions it changed, whether it falls through."""
        falls = [True]

        def lower() -> None:
            falls[0] = self.block(statements)

        block, changes = self.branch(lower, refinements)
        return block, changes, falls[0]

    def finish(self) -> Code:
        """The finished code."""
        self.lists.count_appends(self)
        self.code.body = tuple(self.out)
        self.code.edges = self.edges
        return self.code

    def child(self, name: str, kind: CodeKind, node: Any) -> Code:
        """The code of a function or class that this scope defines."""
        parent = self.code
        qualname = name if parent.is_module else f"{parent.qualname}.{name}"
        code = Code(name, qualname, kind, parent.path, position(node), node.end_lineno or node.lineno, parent=parent)
        decorators = getattr(node, "decorator_list", ())
        code.node = node
        code.first_line = decorators[0].lineno if decorators else node.lineno
        code.occurrence = self.counts[qualname] = self.counts.get(qualname, 0) + 1
        parent.children.append(code)
        return code
