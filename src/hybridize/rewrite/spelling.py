"""How a decorator is written in one file: the name in force at a function, or a new import that shadows nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from hybridize.records import dataclass
from hybridize.rewrite.locate import ScopeNode, Site
from hybridize.rewrite.model import DecoratorDialect
from hybridize.rewrite.optional import optional_line
from hybridize.rewrite.scopes import Names

_PARTIAL = "functools.partial"
#: The scopes whose bodies no import runs.
_CALLED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


Arguments = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Spelling:
    """What to write (`tf.function`), with which arguments, and the alias of the new import where nothing fits."""

    text: str
    arguments: Arguments = ()
    new_alias: str | None = None


def spell(names: Names, site: Site, dialect: DecoratorDialect, arguments: Arguments = ()) -> Spelling | str:
    """The decorator's spelling at the function; a string says why it can't be written there.

    Arguments name the module by its usual alias (`tf.TensorSpec`); here it becomes the name that is in force.
    """
    scopes = names.scopes(site)
    named = any(_alias_places(source, dialect) for _, source in arguments)
    at_import = not any(isinstance(scope, _CALLED) for scope in scopes)
    if at_import and (line := optional_line(names.tree, dialect.module)):
        return _optional(dialect, line)
    for direct, _, _, name in sorted(_usable(names, site, dialect, scopes)):
        if direct and not named:
            return Spelling(name, arguments)
        if not direct:
            return Spelling(f"{name}.{dialect.attribute}", _renamed(arguments, dialect, name))
    if line := _optional_line(names, dialect):
        return _optional(dialect, line)
    for alias in _aliases(dialect):
        if _is_free(names, alias, dialect, scopes):
            return Spelling(f"{alias}.{dialect.attribute}", _renamed(arguments, dialect, alias), alias)
    return f"no free name to import {dialect.module} under"


def _optional(dialect: DecoratorDialect, line: int) -> str:
    return f"{dialect.module} is optional in this file (line {line}): the decorator would need it at import time"


def _alias_places(source: str, dialect: DecoratorDialect) -> list[int]:
    """Where the text (an expression on one line) uses the module's usual alias: byte offsets, last first."""
    if dialect.alias not in source:
        return []
    tree = ast.parse(source, mode="eval")
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == dialect.alias]
    return sorted((node.col_offset for node in found if node.lineno == 1), reverse=True)


def _renamed(arguments: Arguments, dialect: DecoratorDialect, name: str) -> Arguments:
    if name == dialect.alias:
        return arguments
    renamed: list[tuple[str, str]] = []
    for parameter, source in arguments:
        data = source.encode()
        for place in _alias_places(source, dialect):
            data = data[:place] + name.encode() + data[place + len(dialect.alias) :]
        renamed.append((parameter, data.decode()))
    return tuple(renamed)


def denotes_decorator(names: Names, node: ast.expr, site: Site, dialect: DecoratorDialect) -> bool:
    """Whether a decorator may be the dialect's: bare, called, or through `functools.partial`."""
    callee = _callee(names, node, site)
    return any(dialect.is_decorator(name) for name in _full_names(names, callee, site, dialect))


def denotes_outermost(names: Names, node: ast.expr, site: Site, dialect: DecoratorDialect) -> bool:
    """Whether the dialect's decorator must stand above this one."""
    target = node.func if isinstance(node, ast.Call) else node
    return any(dialect.is_outermost_of(name) for name in _full_names(names, target, site, dialect))


def _full_names(names: Names, node: ast.expr, site: Site, dialect: DecoratorDialect) -> set[str]:
    scopes = names.scopes(site)
    found = {name for name in names.denotes(node, scopes) if name}
    dotted = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    if dotted.startswith(f"{dialect.alias}.") and not any(dialect.alias in names.bindings(scope) for scope in scopes):
        # Nothing here binds `tf` (a wildcard may): it then is what everybody calls so.
        found.add(dialect.module + dotted.removeprefix(dialect.alias))
    return found


def is_partial(names: Names, node: ast.expr, site: Site) -> bool:
    """Whether the decorator is a call of `functools.partial`."""
    return isinstance(node, ast.Call) and _PARTIAL in names.denotes(node.func, names.scopes(site))


def _callee(names: Names, node: ast.expr, site: Site) -> ast.expr:
    if isinstance(node, ast.Call) and node.args and is_partial(names, node, site):
        return node.args[0]
    return node.func if isinstance(node, ast.Call) else node


def _usable(
    names: Names, site: Site, dialect: DecoratorDialect, scopes: list[ScopeNode]
) -> Iterator[tuple[bool, bool, int, str]]:
    """Every name in force, to be sorted best first: through the module, by its usual alias, inner and early first."""
    for depth, scope in enumerate(scopes):
        for place, (name, kind) in enumerate(_spellings(names, scope, scopes[depth:], dialect)):
            hidden = any(name in names.bindings(inner) for inner in scopes[:depth])
            if not hidden and names.in_force(name, scope, site):
                yield kind == "decorator", name != dialect.alias, depth * 10_000 + place, name


def _spellings(
    names: Names, scope: ScopeNode, scopes: list[ScopeNode], dialect: DecoratorDialect
) -> list[tuple[str, str]]:
    """The names of a scope that can only mean the dialect's module or its decorator, and which of both."""
    key = (id(scope), dialect.module, dialect.attribute)
    found = names.spellings.get(key)
    if found is None:
        bindings = names.bindings(scope)
        candidates = [name for name, values in bindings.items() if all(binding.value for binding in values)]
        if scope is names.tree:
            candidates += [name for name, _ in names.known if name not in bindings]
        found = names.spellings[key] = []
        for name in candidates:
            values = names.denotes(ast.Name(name), scopes)
            if all(value in dialect.modules for value in values):
                found.append((name, "module"))
            elif all(value and dialect.is_decorator(value) for value in values):
                found.append((name, "decorator"))
    return found


def _aliases(dialect: DecoratorDialect) -> Iterator[str]:
    yield from (dialect.alias, f"_{dialect.alias}", f"_{dialect.module}")
    yield from (f"_{dialect.alias}{number}" for number in range(2, 100))


def _is_free(names: Names, alias: str, dialect: DecoratorDialect, scopes: list[ScopeNode]) -> bool:
    """Whether the module may bind the name anew, and the function's decorators then see it."""
    module = scopes[-1]
    if any(alias in names.bindings(scope) for scope in scopes[:-1]):
        return False
    if alias in names.bindings(module) or alias in dict(names.known):
        return all(value in dialect.modules for value in names.denotes(ast.Name(alias), [module]))
    # A wildcard may bind it, but for one with an underscore: among sorted imports the wildcard may come later.
    taken = not alias.startswith("_") or re.search(rb"\b%b\b" % alias.encode(), names.source)
    return not names.wildcards or not taken


def _optional_line(names: Names, dialect: DecoratorDialect) -> int | None:
    """Where the module sets a name of the dialect's module to None, for life without it."""
    for name, bindings in names.bindings(names.tree).items():
        if not any(binding.value in dialect.modules for binding in bindings if isinstance(binding.value, str)):
            continue
        for binding in bindings:
            node = binding.statement
            if not isinstance(node, ast.Assign) or ast.unparse(node.value) != "None":
                continue
            if any(isinstance(target, ast.Name) and target.id == name for target in node.targets):
                return node.lineno
    return None
