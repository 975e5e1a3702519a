"""Stores that nobody else sees: `rows = []`, filled and then made an array of, before any function may read `rows`.

Values of variables and fields that outlive a block are known without regard to order. What a variable holds only until
the same block binds it anew, unconditionally and before anybody else may look, would be mixed with what it holds from
then on; so such stores are taken for those of a local variable.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from hybridize.domain.words import REFLECTIVE
from hybridize.program.builder import position
from hybridize.source.syntax import children, walk

#: A name with the position of a store.
Store: TypeAlias = tuple[str, int]
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: What leaves a block in its middle.
_LEAVES: Final = (ast.Return, ast.Yield, ast.YieldFrom)


def overwritten_names(body: Sequence[ast.stmt], names: Iterable[str]) -> frozenset[Store]:
    """The stores to some variables of a module or function that the same block overwrites before a function reads them.

    Functions are told apart by their names alone: one that the code up to there mentions, or reaches by such names, may
    have been called.
    """
    wanted = frozenset(names)
    found: set[Store] = set()
    text = _Text(body)
    for before, block in _blocks(body, ()):
        bindings = _bindings(block, wanted)
        if bindings:
            found.update(_dead(text, before, block, bindings))
    return frozenset(found)


class _Text:
    """What statements mention, each looked at once."""

    def __init__(self, whole: Sequence[ast.stmt]) -> None:
        self.whole = whole
        self._names: dict[int, frozenset[str]] = {}
        self._own: dict[int, list[ast.AST]] = {}

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
        """All functions of the text."""
        return [node for statement in self.whole for node in walk(statement) if isinstance(node, _FUNCTIONS)]

    @cached_property
    def inside(self) -> dict[int, frozenset[str]]:
        """The names that each function mentions."""
        return {id(function): _mentioned(walk(function)) for function in self.functions}

    def names(self, statements: Sequence[ast.stmt]) -> frozenset[str]:
        """The names that some statements mention while they run."""
        for statement in statements:
            if id(statement) not in self._names:
                self._names[id(statement)] = _mentioned(self.own(statement))
        return frozenset().union(*(self._names[id(statement)] for statement in statements))

    def own(self, statement: ast.stmt) -> list[ast.AST]:
        """The nodes that run with a statement: not the bodies of the functions that it defines."""
        found = self._own.get(id(statement))
        if found is None:
            found = self._own[id(statement)] = list(_own(statement))
        return found


def _blocks(
    body: Sequence[ast.stmt], before: tuple[ast.stmt, ...]
) -> Iterator[tuple[tuple[ast.stmt, ...], Sequence[ast.stmt]]]:
    """A block and those of its `if` and `with` statements, each with the statements that may run before it."""
    yield before, body
    for i, statement in enumerate(body):
        if isinstance(statement, (ast.If, ast.With)):
            yield from _blocks(statement.body, (*before, *body[:i]))


def _bindings(block: Sequence[ast.stmt], wanted: frozenset[str]) -> dict[str, list[int]]:
    """The names that a block itself binds more than once, with the statements that do."""
    found: dict[str, list[int]] = {}
    for i, statement in enumerate(block):
        for each in _assigned(statement):
            if isinstance(each, ast.Name) and each.id in wanted:
                found.setdefault(each.id, []).append(i)
    return {name: places for name, places in found.items() if len(places) > 1}


def _dead(
    text: _Text, before: Sequence[ast.stmt], block: Sequence[ast.stmt], bindings: dict[str, list[int]]
) -> Iterator[Store]:
    for name, places in bindings.items():
        first, last = places[0], places[-1]
        seen = _reached(text.names([*before, *block[: last + 1]]), text.functions, text.inside)
        readers = [f for f in text.functions if name in text.inside[id(f)]]
        if seen & REFLECTIVE or any(_may_be_called(f, seen, block[last]) for f in readers):
            continue
        between = [node for statement in block[first : last + 1] for node in text.own(statement)]
        if any(isinstance(node, _LEAVES) for node in between):
            continue
        yield from (
            (name, position(node))
            for statement in block[first:last]
            for node in text.own(statement)
            if isinstance(node, ast.Name) and node.id == name and _is_store(node)
        )


def _may_be_called(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, seen: frozenset[str], until: ast.stmt
) -> bool:
    """Whether a function may run before a statement; who decorates it may have kept it, to call it."""
    if isinstance(function, ast.Lambda) or function.name in seen or _is_special(function):
        return True
    return bool(function.decorator_list) and function.lineno < until.lineno


def _is_store(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            continue
        yield node
        todo += children(node)


def _mentioned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names of variables and attributes among some nodes."""
    names = (getattr(node, "id", None) or getattr(node, "attr", None) for node in nodes)
    return frozenset(name for name in names if isinstance(name, str))


def _reached(
    start: frozenset[str],
    functions: Sequence[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda],
    inside: dict[int, frozenset[str]],
) -> frozenset[str]:
    """All names that some names lead to by the functions that have them; a class's name leads to its constructor."""
    seen, todo = set(start), [f for f in functions if not isinstance(f, ast.Lambda)]
    grown = True
    while grown:
        hit = [f for f in todo if f.name in seen or _is_special(f)]
        todo = [f for f in todo if f not in hit]
        grown = bool(hit)
        for function in hit:
            seen |= inside[id(function)]
    return frozenset(seen)


def _is_special(function: ast.AST) -> bool:
    """Whether Python itself calls a function, by an operator or to make an object."""
    name = getattr(function, "name", "")
    return name.startswith("__") and name.endswith("__")


def overwritten_fields(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, tuple[int, int]]:
    """The fields that a constructor binds twice, with the part of it (lines) where only the constructor has the first
    value: between them it does nothing with the object but to read and bind its fields."""
    owner = function.args.args[0].arg if function.args.args else ""
    places: dict[str, list[int]] = {}
    for i, statement in enumerate(function.body):
        for name in _fields_bound(statement, owner):
            places.setdefault(name, []).append(i)
    found = {}
    for name, indices in places.items():
        if len(indices) == 2 and _is_private(function.body[indices[0] : indices[1] + 1], owner, name):
            first, last = (function.body[i] for i in indices)
            found[name] = (first.lineno, (last.end_lineno or last.lineno))
    return found


def _fields_bound(statement: ast.stmt, owner: str) -> Iterator[str]:
    for each in _assigned(statement):
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == owner:
            yield each.attr


def _assigned(statement: ast.stmt) -> Iterator[ast.expr]:
    """What an assignment binds, the elements of a tuple one by one."""
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        yield from target.elts if isinstance(target, (ast.Tuple, ast.List)) else (target,)


def _is_private(statements: Sequence[ast.stmt], owner: str, name: str) -> bool:
    """Whether statements use an object for its fields alone, and bind one of them first and last, nowhere else."""
    fields: set[int] = set()
    bound = 0
    for node in (node for statement in statements for node in walk(statement)):
        if isinstance(node, (*_FUNCTIONS, *_LEAVES, ast.GeneratorExp, ast.Try, ast.Delete)):
            return False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_of(node.func, owner):
            return False  # a method may read any field
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute) and node.target.attr == name:
            return False
        if isinstance(node, ast.Attribute) and _is_of(node, owner):
            fields.add(id(node.value))
            bound += node.attr == name and _is_store(node)
        if isinstance(node, ast.Name) and node.id in ("super", *REFLECTIVE):
            return False
    uses = (n for s in statements for n in walk(s) if isinstance(n, ast.Name) and n.id == owner)
    return bound == 2 and all(id(use) in fields for use in uses)


def _is_of(node: ast.Attribute, owner: str) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == owner
