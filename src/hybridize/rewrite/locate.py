"""Where functions are in a module, and the blocks of statements on the way to each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.records import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Step:
    """One block on the way from the module to a function: the scope it belongs to, and the place taken in it.

    `before` are further blocks that have run when this one runs (a `try` body, seen from its `else`).
    """

    scope: ScopeNode
    block: list[ast.stmt]
    index: int
    before: tuple[list[ast.stmt], ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """A function definition: its node, its lexical path, and the blocks on the way to it, outermost first."""

    node: Function
    qualname: str
    trail: tuple[Step, ...]


def child_blocks(node: ast.stmt) -> Iterator[tuple[list[ast.stmt], tuple[list[ast.stmt], ...]]]:
    """The blocks of a compound statement in source order, each with those that have run before it."""
    if isinstance(node, (ast.Try, ast.TryStar)):
        yield node.body, ()
        for handler in node.handlers:
            yield handler.body, ()
        yield node.orelse, (node.body,)
        yield node.finalbody, ()
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield case.body, ()
    elif isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While)):
        yield node.body, ()
        yield node.orelse, ()
    elif isinstance(node, (ast.With, ast.AsyncWith, *SCOPES)):
        yield node.body, ()


def functions(tree: ast.Module) -> list[Site]:
    """Every `def` in source order."""
    found: list[Site] = []
    # An explicit stack: generated files nest deeper than Python's recursion limit.
    stack: list[tuple[ast.stmt, str, tuple[Step, ...]]] = []

    def push(
        scope: ScopeNode,
        blocks: list[tuple[list[ast.stmt], tuple[list[ast.stmt], ...]]],
        prefix: str,
        trail: tuple[Step, ...],
    ) -> None:
        for block, before in reversed(blocks):
            for index in range(len(block) - 1, -1, -1):
                statement = block[index]
                if hasattr(statement, "body") or isinstance(statement, ast.Match):
                    stack.append((statement, prefix, (*trail, Step(scope, block, index, before))))

    push(tree, [(tree.body, ())], "", ())
    while stack:
        node, prefix, trail = stack.pop()
        scope: ScopeNode = trail[-1].scope
        if isinstance(node, SCOPES):
            qualname = f"{prefix}{node.name}"
            if not isinstance(node, ast.ClassDef):
                found.append(Site(node, qualname, trail))
            scope, prefix = node, f"{qualname}."
        push(scope, list(child_blocks(node)), prefix, trail)
    return found
