"""Names that a module has of a library through another module of the project: `from mypackage import tf`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from hybridize.source.names import ImportTable

#: Names, each with what it fully denotes: `("tf", "tensorflow")`.
Known: TypeAlias = tuple[tuple[str, str], ...]


class Borrowed:
    """Answers for the modules of one program.

    Args:
        trees: the modules' syntax by their ids.
        imports: what their imports mean.
    """

    def __init__(self, trees: Mapping[str, ast.Module], imports: ImportTable) -> None:
        self._trees, self._imports = trees, imports
        self._bound: dict[str, dict[str, list[str | None]]] = {}
        self._stars: dict[str, list[str]] = {}

    def names(self, module: str) -> Known:
        """What a module gets from others of the project and is a library's, by name."""
        bound, found = self._names(module), {}
        for name, values in bound.items():
            if any(value is not None and self._owner(value) for value in values):
                denoted = self._denoted(module, name, frozenset())
                if denoted is not None:
                    found[name] = denoted
        for other in self._stars[module]:
            for name in self._public(other, frozenset()):
                denoted = self._denoted(other, name, frozenset())
                if name not in bound and denoted is not None:
                    found.setdefault(name, denoted)
        return tuple(sorted(found.items()))

    def _owner(self, value: str) -> tuple[str, str] | None:
        """The module of the project, and the name in it, that `module:name` stands for."""
        module, colon, name = value.partition(":")
        return (module, name) if colon else None

    def _denoted(self, module: str, name: str, seen: frozenset[tuple[str, str]]) -> str | None:
        """The library object that a name of a module certainly is."""
        if (module, name) in seen or module not in self._trees:
            return None
        seen |= {(module, name)}
        values = self._names(module).get(name)
        if values is None:
            inherited = {self._denoted(other, name, seen) for other in self._stars[module]} - {None}
            return inherited.pop() if len(inherited) == 1 else None
        found: set[str | None] = set()
        for value in values:
            owner = self._owner(value) if value is not None else None
            found.add(self._denoted(*owner, seen) if owner is not None else value)
        return found.pop() if len(found) == 1 else None

    def _public(self, module: str, seen: frozenset[str]) -> frozenset[str]:
        """The names that `from module import *` takes."""
        if module in seen or module not in self._trees:
            return frozenset()
        listed = _listed(self._trees[module])
        if listed is not None:
            return listed
        mine = {name for name in self._names(module) if not name.startswith("_")}
        return frozenset(mine.union(*(self._public(other, seen | {module}) for other in self._stars[module])))

    def _names(self, module: str) -> dict[str, list[str | None]]:
        """By name what a module binds it to: `module:name` of the project, a library's full name, None for the rest."""
        if module in self._bound:
            return self._bound[module]
        found: dict[str, list[str | None]] = {}
        self._bound[module], self._stars[module] = found, []
        for node in _statements(self._trees[module].body):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    full = alias.name if alias.asname else name
                    known = self._imports.resolve(module, full)
                    found.setdefault(name, []).append(None if known else full)
            elif isinstance(node, ast.ImportFrom):
                self._add(module, node, found)
            else:
                for name in _bound(node):
                    found.setdefault(name, []).append(None)
        return found

    def _add(self, module: str, node: ast.ImportFrom, found: dict[str, list[str | None]]) -> None:
        source = node.module or ""
        owner = self._imports.resolve(module, source, node.level)
        for alias in node.names:
            if alias.name == "*":
                if owner is not None:
                    self._stars[module].append(owner)
                continue
            value: str | None = f"{source}.{alias.name}" if not node.level else None
            if owner is not None:
                value = f"{owner}:{alias.name}"
            found.setdefault(alias.asname or alias.name, []).append(value)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that bind names of a module, those of its blocks included."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, name, []))
            for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                yield from _statements(each.body)


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that another statement than an import binds itself."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    targets: list[ast.expr] = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        targets = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in targets:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _listed(tree: ast.Module) -> frozenset[str] | None:
    """The names of `__all__`, none where it is computed; None where there is no such list."""
    found: frozenset[str] | None = None
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
            found = frozenset(p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str))
    return found
