"""Variables that a `try` sets before its handler runs, as AutoGraph sees them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.program import ir
from hybridize.source.syntax import walk
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView


def unbound(view: FrameView, site: Site) -> frozenset[str]:
    """The variables that have no value yet at a condition in an `except` clause, though AutoGraph takes them to have.

    The body of the `try` assigns them, and nothing before it: where it fails first, they are not bound, and the branch
    that the condition becomes asks for them.
    """
    if not any(isinstance(outer.instr, ir.Try) and part == "handler" for outer, part in site.around()):
        return frozenset()
    line = site.instr.position >> 16
    node = view.node
    for each in walk(node) if node is not None else ():
        if isinstance(each, ast.Try):
            for handler in each.handlers:
                if handler.lineno <= line <= (handler.end_lineno or line):
                    before = _assigned(s for s in walk(node or each) if _ends_before(s, each.lineno))
                    before |= {param.name for param in view.code.params}
                    before |= _assigned(n for s in handler.body if _ends_before(s, line) for n in walk(s))
                    return frozenset(_assigned(n for s in each.body for n in walk(s)) - before)
    return frozenset()


def _ends_before(node: ast.AST, line: int) -> bool:
    end = getattr(node, "end_lineno", None)
    return end is not None and end < line


def _assigned(nodes: Iterator[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
