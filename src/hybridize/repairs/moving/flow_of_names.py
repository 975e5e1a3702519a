"""What a run of statements takes from the code around it and gives back: the names, for moving it into a function."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from hybridize.repairs.holding.fields import is_preceded
from hybridize.repairs.source.names import scopes_around
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source.bindings import bound_in, reads, stored_in
from hybridize.source.syntax import children, walk

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ODD = (
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Delete),
    *(ast.Global, ast.Nonlocal, ast.ClassDef, ast.Import, ast.ImportFrom),
)


def used_later(file: SourceFile, scope: ast.AST, block: Sequence[ast.stmt], names: set[str]) -> list[str]:
    """Those of some names, bound by statements of a scope, that code outside of the statements may read from them.

    What only forgets them (`del tape`) does not read them.
    """
    loop = _outermost(file, scope, block)
    found = dict.fromkeys(names & file.hidden)
    for node in walk(scope):
        if not isinstance(node, ast.Name) or node.id not in names:
            continue
        if isinstance(node.ctx, ast.Del) or (isinstance(node.ctx, ast.Store) and not _is_updated(file, node)):
            continue
        if not start(block[0]) <= start(node) < end(block[-1]) and is_bound_by(file, scope, block, node):
            found[node.id] = None
    if loop is not None:  # what a round reads of the one before, if nothing in front binds it anew
        around = file.block(block[0])
        anew = reads(around[: around.index(block[0])]).surely
        found.update(dict.fromkeys((reads(block).needed & names) - anew))
    return sorted(found)


def is_bound_by(file: SourceFile, scope: ast.AST, block: Sequence[ast.stmt], node: ast.Name) -> bool:
    """Whether a use of a name, in a scope, may be of what a block of the scope has bound it to."""
    loop = _outermost(file, scope, block)
    early = start(loop if loop is not None else block[0])
    if start(node) < early and not _is_delayed(file, node, scope):
        return False
    return not _is_other(file, node, scope) and not _is_bound_anew(file, scope, node, block, early)


def _outermost(file: SourceFile, scope: ast.AST, block: Sequence[ast.stmt]) -> ast.AST | None:
    """The outermost loop of a scope that is around a block, if there is one."""
    around = itertools.takewhile(lambda each: each is not scope, file.around(block[0]))
    return next((n for n in reversed([*around]) if isinstance(n, (ast.For, ast.While))), None)


def _is_updated(file: SourceFile, node: ast.Name) -> bool:
    return isinstance(file.parents[node], ast.AugAssign)


def _is_delayed(file: SourceFile, node: ast.AST, scope: ast.AST) -> bool:
    """Whether a read is in a function of its own, which may run at any time."""
    return file.function(node) is not (scope if isinstance(scope, FunctionNode) else None)


def _is_other(file: SourceFile, node: ast.Name, scope: ast.AST) -> bool:
    """Whether a name is that of a function or comprehension within the scope."""
    for inner in scopes_around(file, node):
        if inner is scope:
            return False
        if node.id in bound_in(inner):
            return True
    return False


def _is_bound_anew(
    file: SourceFile, scope: ast.AST, node: ast.Name, block: Sequence[ast.stmt], early: tuple[int, int]
) -> bool:
    """Whether another statement has surely bound a name since the block, in the same round of every loop.

    `early` is where the outermost loop around the block starts; what is read above it is read a round later.
    """
    first, last = start(block[0]), end(block[-1])
    for outer in file.around(node):
        if outer is scope:
            break
        apart = not (start(outer) <= first and last <= end(outer))
        if isinstance(outer, ast.For) and apart and node.id in stored_in(outer.target):
            return True
        if isinstance(outer, ast.With) and apart and start(node) >= start(outer.body[0]):
            opened = [item.optional_vars for item in outer.items if item.optional_vars is not None]
            if node.id in frozenset().union(*map(stored_in, opened)):
                return True
    since = last if start(node) >= last else early
    writes = [
        file.statement(each)
        for each in file.bound.get(node.id, ())
        if start(each) >= since and not first <= start(each) < last
    ]
    writes = [w for w in writes if isinstance(w, (ast.Assign, ast.AnnAssign, ast.With))]
    return is_preceded(file, [w for w in writes if file.function(w) is file.function(node)], node)


def forbidden(block: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """What keeps statements from moving into a function: jumps out of them, and what asks who calls."""
    for statement in block:
        yield from _forbidden(statement, loops=0)


def _forbidden(node: ast.AST, loops: int) -> Iterator[ast.AST]:
    jumps = isinstance(node, (ast.Break, ast.Continue)) and not loops
    if jumps or isinstance(node, _ODD):
        yield node
    if isinstance(node, ast.Name) and node.id in ("super", "locals", "vars", "eval", "exec", "globals", "__class__"):
        yield node
    if isinstance(node, (FunctionNode, ast.Lambda)):
        return  # its returns are its own
    inner = loops + isinstance(node, (ast.For, ast.While))
    for child in children(node):
        yield from _forbidden(child, inner)
