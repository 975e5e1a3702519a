"""The syntax tree of a module to its code, functions and classes included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.program import control, definitions, expressions, ir, patterns, statements
from hybridize.program.code import Code, CodeKind
from hybridize.program.overwritten import overwritten_names
from hybridize.program.scope_lowering import Lowering, Tables
from hybridize.program.scopes import collect_scopes

_TABLES: Final = Tables(
    expressions.EXPRESSIONS,
    {**statements.STATEMENTS, **control.STATEMENTS, **definitions.STATEMENTS, **patterns.STATEMENTS},
)


def lower_module(tree: ast.Module, path: str, name: str) -> Code:
    """The code of a module; functions and classes hang below it as `children`.

    Raises:
        RecursionError: the source nests too deeply.
    """
    scopes = collect_scopes(tree)
    code = Code(
        "<module>", "<module>", CodeKind.MODULE, path, 1 << 16, max((s.end_lineno or 1 for s in tree.body), default=1)
    )
    code.node = tree
    code.bound = frozenset(scopes.of[tree].bound | scopes.global_writes)
    lowering = Lowering(code, scopes.of[tree], scopes, {}, _TABLES)
    lowering.dead = overwritten_names(tree.body, scopes.of[tree].bound - scopes.global_writes)
    lowering.block(tree.body)
    lowering.emit(ir.Return(1 << 16, lowering.constant(None)))
    lowering.finish()
    for child in walk_codes(code):
        child.size = len(child.template)
    return code


def walk_codes(code: Code) -> Iterator[Code]:
    """A code and all below it, in source order."""
    stack = [code]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))
