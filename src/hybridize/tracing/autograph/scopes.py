"""The functions that AutoGraph makes of branches and loops, and the variables that are theirs.

The body of each `if`, `for` and `while` becomes a function. A variable that nothing outside of it reads is local there
where a plain statement binds it; what inner branches bind is the variable of the nearest function around that does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.records import dataclass
from hybridize.source.syntax import children

_COMPOSITE: Final = (ast.If, ast.For, ast.While)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_JUMPS: Final = (ast.Return, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True)
class Scope:
    """One such function: what it is made of (`None`: the function itself), and the statements of it."""

    owner: ast.If | ast.For | ast.While | None
    body: list[ast.stmt]


def scopes(function: ast.AST, inner: ast.If) -> list[Scope]:
    """Those around a condition, inside out; empty where one is not told, as in the `else` of a loop."""
    body = getattr(function, "body", None)
    found = _around(body, inner) if isinstance(body, list) else None
    return [] if found is None or not isinstance(body, list) else [*found, Scope(None, body)]


def _around(body: list[ast.stmt], inner: ast.If) -> list[Scope] | None:
    """The scopes in some statements that hold a condition, inside out; None where they don't hold it."""
    for each in body:
        if each is inner:
            return []
        if isinstance(each, _FUNCTIONS) or not _holds(each, inner):
            continue
        parts = [each.body, each.orelse] if isinstance(each, ast.If) else None
        if parts is None and isinstance(each, (ast.For, ast.While)):
            parts = [each.body]
        for part in parts or ():
            found = _around(part, inner)
            if found is not None and isinstance(each, _COMPOSITE):
                return [*found, Scope(each, part)]
        if parts is None:
            return next((found for part in _blocks(each) if (found := _around(part, inner)) is not None), None)
    return None


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    return outer.lineno <= inner.lineno <= (outer.end_lineno or outer.lineno)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that AutoGraph leaves where they are: those of `with` and `try`."""
    if isinstance(statement, (ast.With, ast.Try)):
        yield statement.body
    if isinstance(statement, ast.Try):
        yield from (handler.body for handler in statement.handlers)
        yield from (statement.orelse, statement.finalbody)


def bindings(body: list[ast.stmt], name: str) -> list[int]:
    """The lines where plain statements bind a variable: not those inside of branches, loops and functions."""
    return [each.lineno for each in _plain(body) if name in _bound(each)]


def _plain(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for each in body:
        if not isinstance(each, _COMPOSITE):
            yield each
            for part in _blocks(each):
                yield from _plain(part)


def _bound(statement: ast.AST) -> set[str]:
    """The names that a plain statement gives a value."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, _FUNCTIONS):
        return {getattr(statement, "name", "")}
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return set()
    heads: list[ast.AST] = list(statement.items) if isinstance(statement, ast.With) else [statement]
    return set() if isinstance(statement, ast.Try) else set(_stored(heads))


def _stored(todo: list[ast.AST]) -> Iterator[str]:
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif not isinstance(each, (*_FUNCTIONS, *_COMPREHENSIONS)):
            todo += children(each)


def jumps(body: list[ast.stmt], first: int, last: int) -> bool:
    """Whether control may leave some statements between two lines: AutoGraph makes a branch of what follows then."""
    todo: list[ast.AST] = list(body)
    while todo:
        each = todo.pop()
        if isinstance(each, _JUMPS) and first <= each.lineno < last:
            return True
        if not isinstance(each, _FUNCTIONS):
            todo += children(each)
    return False
