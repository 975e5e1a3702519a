"""What a run of statements takes from the code around it and gives back: the names, for moving it into a function."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from hybridize.domain.session import cached
from hybridize.records import dataclass
from hybridize.repairs.fields import is_preceded
from hybridize.repairs.names import bound_in, scopes_around
from hybridize.repairs.text import FunctionNode, SourceFile, binds, end, start
from hybridize.source.syntax import children, walk

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Reads:
    """`needed`: names that are read before the statements surely bind them. `surely`: those bound whenever they end."""

    needed: frozenset[str]
    surely: frozenset[str]


def reads(block: Sequence[ast.stmt], bound: frozenset[str] = frozenset(), *, looped: bool = False) -> Reads:
    """What statements read of what they do not bind themselves before.

    `bound` is bound when they start; `looped` takes it that every loop runs at least once.
    """
    needed: set[str] = set()
    for statement in block:
        found = _of_statement(statement, bound, looped)
        needed |= found.needed
        bound = found.surely
    return Reads(frozenset(needed), bound)


@cached
def _of_statement(node: ast.stmt, bound: frozenset[str], looped: bool) -> Reads:
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            begin = bound | walrus(test)
            one, two = reads(body, begin, looped=looped), reads(orelse, begin, looped=looped)
            both = (one.surely if not _leaves(body) else two.surely) & (
                two.surely if not _leaves(orelse) else one.surely
            )
            return Reads((_loads(test) - bound) | one.needed | two.needed, both)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            inner = reads(body, bound | _stores(target), looped=looped)
            rest = reads(orelse, bound, looped=looped)
            needed = (_loads(iterable) - bound) | inner.needed | rest.needed
            return Reads(needed, inner.surely if looped else bound)
        case ast.While(test=test, body=body, orelse=orelse):
            inner = reads(body, bound, looped=looped)
            needed = (_loads(test) - bound) | inner.needed | reads(orelse, bound).needed
            return Reads(needed, inner.surely if looped else bound)
        case ast.With(items=items, body=body):
            needed = frozenset()
            for item in items:
                needed |= _loads(item.context_expr) - bound
                bound |= _stores(item.optional_vars) if item.optional_vars is not None else frozenset()
            inner = reads(body, bound, looped=looped)
            return Reads(inner.needed | needed, inner.surely)
        case ast.Assign(value=value, targets=targets):
            read = _loads(value).union(*map(_loads, targets))
            return Reads(read - bound, bound.union(*map(_stores, targets), walrus(value)))
        case ast.AugAssign(target=target, value=value):
            return Reads((_loads(value) | _loads(target) | _stores(target)) - bound, bound | _stores(target))
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return Reads(_loads(node) - bound, bound | {name})
        case ast.Expr() | ast.Return() | ast.Assert() | ast.Raise() | ast.AnnAssign() | ast.Import() | ast.ImportFrom():
            return Reads(_loads(node) - bound, bound | frozenset(_own_stores(node)))
    return Reads(_loads(node) - bound, bound)  # try, match: what they bind may not be


def _leaves(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], (ast.Raise, ast.Continue, ast.Break))


def _loads(node: ast.AST) -> frozenset[str]:
    """The names that a node reads from its scope or one around it."""
    found: set[str] = set()
    if isinstance(node, ast.Name):
        return frozenset({node.id}) if isinstance(node.ctx, ast.Load) else frozenset()
    own = frozenset(bound_in(node)) if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)) else frozenset()
    for child in children(node):
        found |= _loads(child)
    return frozenset(found) - own


def _stores(node: ast.AST) -> frozenset[str]:
    return frozenset(name for each in walk(node) for name in binds(each))


def walrus(node: ast.AST) -> frozenset[str]:
    """The names that `:=` binds in an expression (where it surely runs: not in `and`, `or` or a comprehension)."""
    found: set[str] = set()
    if isinstance(node, ast.NamedExpr):
        found |= _stores(node.target)
    if isinstance(node, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return frozenset(found)
    return frozenset(found).union(*map(walrus, children(node)))


def _own_stores(node: ast.AST) -> set[str]:
    """The names that code binds in its own scope."""
    found: set[str] = set(binds(node))
    for child in children(node):
        if isinstance(child, _SCOPES):
            found |= set(binds(child))
        elif not isinstance(child, _COMPREHENSIONS):
            found |= _own_stores(child)
    return found


def bound_by(block: Sequence[ast.stmt]) -> set[str]:
    """The names that statements may bind in the scope that they are in."""
    return set().union(*map(_bound, block))


@cached
def _bound(statement: ast.stmt) -> frozenset[str]:
    return frozenset(_own_stores(statement))


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
        if isinstance(outer, ast.For) and apart and node.id in _stores(outer.target):
            return True
        if isinstance(outer, ast.With) and apart and start(node) >= start(outer.body[0]):
            opened = [item.optional_vars for item in outer.items if item.optional_vars is not None]
            if node.id in frozenset().union(*map(_stores, opened)):
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
    odd = ast.Return | ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith | ast.Delete
    if jumps or isinstance(node, (odd, ast.Global, ast.Nonlocal, ast.ClassDef, ast.Import, ast.ImportFrom)):
        yield node
    if isinstance(node, ast.Name) and node.id in ("super", "locals", "vars", "eval", "exec", "globals", "__class__"):
        yield node
    if isinstance(node, (FunctionNode, ast.Lambda)):
        return  # its returns are its own
    inner = loops + isinstance(node, (ast.For, ast.While))
    for child in children(node):
        yield from _forbidden(child, inner)
