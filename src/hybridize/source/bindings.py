"""Which names code binds, and what it reads of those that it does not bind itself: no more than its syntax tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from hybridize.records import dataclass
from hybridize.source.syntax import children, walk

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: The nodes that bind names at all.
BINDERS: Final = frozenset(
    {ast.Name, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom}
    | {ast.ExceptHandler, ast.MatchAs, ast.MatchStar}
)


#: Repairs ask of the same statements again and again; trees of what was asked long ago are not held.
_kept: Final = lru_cache(maxsize=2048)


def binds(node: ast.AST) -> Iterator[str]:
    """The names that a node by itself binds, in whatever scope it stands."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name.partition(".")[0]
        case ast.ImportFrom(names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name


@_kept
def bound_in(scope: ast.AST) -> frozenset[str]:
    """The names that a function binds for itself: parameters, variables, functions, imports."""
    found: set[str] = set()
    freed: set[str] = set()
    todo = list(children(scope))
    while todo:
        node = todo.pop()
        if node.__class__ in BINDERS:
            found.update(binds(node))
        elif isinstance(node, ast.Global):
            freed.update(node.names)
        if not isinstance(node, _SCOPES):  # what is bound in there is theirs
            todo += children(node)
    return frozenset(found - freed)


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


@_kept
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
            inner = reads(body, bound | stored_in(target), looped=looped)
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
                bound |= stored_in(item.optional_vars) if item.optional_vars is not None else frozenset()
            inner = reads(body, bound, looped=looped)
            return Reads(inner.needed | needed, inner.surely)
        case ast.Assign(value=value, targets=targets):
            read = _loads(value).union(*map(_loads, targets))
            return Reads(read - bound, bound.union(*map(stored_in, targets), walrus(value)))
        case ast.AugAssign(target=target, value=value):
            return Reads((_loads(value) | _loads(target) | stored_in(target)) - bound, bound | stored_in(target))
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


def stored_in(node: ast.AST) -> frozenset[str]:
    """The names that a node and all below it bind."""
    return frozenset(name for each in walk(node) for name in binds(each))


def walrus(node: ast.AST) -> frozenset[str]:
    """The names that `:=` binds in an expression (where it surely runs: not in `and`, `or` or a comprehension)."""
    found: set[str] = set()
    if isinstance(node, ast.NamedExpr):
        found |= stored_in(node.target)
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


@_kept
def _bound(statement: ast.stmt) -> frozenset[str]:
    return frozenset(_own_stores(statement))
