"""What names of one module denote: imports, aliases, and who shadows them. Statement by statement, no data flow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.records import dataclass
from hybridize.rewrite.locate import SCOPES, Function, ScopeNode, Site, child_blocks, functions
from hybridize.rewrite.model import KnownNames


@dataclass(frozen=True, slots=True)
class Binding:
    """One statement that binds a name: to a full name, to an expression (an alias), or to something else (None)."""

    value: str | ast.expr | None
    statement: ast.stmt | None  # None: a parameter, or a `global` elsewhere


Bindings = dict[str, list[Binding]]


class Names:
    """The scopes of one parsed module; each is read when first asked for."""

    def __init__(self, tree: ast.Module, source: bytes, known: KnownNames = ()) -> None:
        """`source` only tells which rare constructs need no look; `known` are names that come from elsewhere."""
        self.tree = tree
        self.source = source
        self.known = known
        self.sites = functions(tree)
        self.wildcards: list[str] = []  # modules of `from m import *`; complete once the module's scope was read
        self._known = dict(known)
        self.spellings: dict[tuple[int, str, str], list[tuple[str, str]]] = {}  # the room's memory per scope
        self._first_cache: dict[tuple[int, str], int | None] = {}
        self._walrus = b":=" in source
        self._global = b"global" in source
        self._cache: dict[int, Bindings] = {}

    def bindings(self, scope: ScopeNode) -> Bindings:
        """Every name that the scope binds itself, with its bindings in source order."""
        found = self._cache.get(id(scope))
        if found is None:
            found = self._cache[id(scope)] = self._collect(scope)
        return found

    def scopes(self, site: Site) -> list[ScopeNode]:
        """The scopes that a decorator of the function sees, innermost first: a class only from its own body."""
        chain: list[ScopeNode] = []
        for step in site.trail:
            if step.scope not in chain:
                chain.append(step.scope)
        visible = [scope for scope in chain[:-1] if not isinstance(scope, ast.ClassDef)]
        return [chain[-1], *reversed(visible)]

    def denotes(self, node: ast.expr, scopes: list[ScopeNode], seen: frozenset[str] = frozenset()) -> set[str | None]:
        """The full names that an expression may stand for; None among them: something that this file can't tell."""
        if isinstance(node, ast.Attribute):
            return {base and f"{base}.{node.attr}" for base in self.denotes(node.value, scopes, seen)}
        if not isinstance(node, ast.Name):
            return {None}
        for depth, scope in enumerate(scopes):
            if found := self.bindings(scope).get(node.id):
                return self._values(node.id, found, scopes[depth:], seen)
        if node.id in self._known:
            return {self._known[node.id]}
        return {None, *(f"{module}.{node.id}" for module in self.wildcards)}

    def _values(
        self, name: str, found: list[Binding], scopes: list[ScopeNode], seen: frozenset[str]
    ) -> set[str | None]:
        values: set[str | None] = set()
        for binding in found:
            if isinstance(binding.value, ast.expr):
                # `tf = tf.compat.v1` stands for what the other bindings of `tf` say.
                others = [other for other in found if not isinstance(other.value, ast.expr)]
                if name not in seen:
                    values |= self.denotes(binding.value, scopes, seen | {name})
                elif others:
                    values |= self._values(name, others, scopes, seen)
            elif binding.value and len(scopes) == 1:
                values.add(self._known.get(name, binding.value))
            else:
                values.add(binding.value)
        return values or {None}

    def in_force(self, name: str, scope: ScopeNode, site: Site) -> bool:
        """Whether a statement that surely has run by the time the function is defined binds the name in the scope."""
        for step in site.trail:
            if step.scope is scope:
                first = self._first(step.block, name)
                if first is not None and first < step.index:
                    return True
                if any(self._first(block, name) is not None for block in step.before):
                    return True
        # A function's body runs later than its module's, so there the order does not matter.
        later = any(isinstance(step.scope, (ast.FunctionDef, ast.AsyncFunctionDef)) for step in site.trail)
        return later and scope is self.tree and self._first(self.tree.body, name) is not None

    def _first(self, block: list[ast.stmt], name: str) -> int | None:
        """The index of the first statement of the block after which the name is surely bound."""
        key = (id(block), name)
        if key not in self._first_cache:
            self._first_cache[key] = next((i for i, node in enumerate(block) if self._surely(node, name)), None)
        return self._first_cache[key]

    def _surely(self, node: ast.stmt, name: str) -> bool:
        if isinstance(node, ast.If):
            return self._first(node.body, name) is not None and self._first(node.orelse, name) is not None
        if isinstance(node, (ast.Try, ast.TryStar)):
            # The body counts: where its import fails, so does the program, or a handler binds the name (checked apart).
            return any(self._first(block, name) is not None for block in (node.body, node.orelse, node.finalbody))
        if isinstance(node, (ast.With, ast.AsyncWith)) and self._first(node.body, name) is not None:
            return True
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            return name in self._known
        return any(bound == name for bound, _ in _bound(node))

    def _collect(self, scope: ScopeNode) -> Bindings:
        found: Bindings = {}
        elsewhere: set[str] = set()
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for name in _parameters(scope):
                found.setdefault(name, []).append(Binding(None, None))
        for node in _statements(scope):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                elsewhere.update(node.names)
                continue
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                self.wildcards.append("." * node.level + (node.module or ""))
                continue
            for name, value in _bound(node):
                found.setdefault(name, []).append(Binding(value, node))
            if self._walrus:
                for name in _walruses(node):
                    found.setdefault(name, []).append(Binding(None, node))
        if scope is self.tree and self._global:
            self._add_globals(found)
        elif scope is not self.tree:
            for name in elsewhere:
                found.pop(name, None)
        return found

    def _add_globals(self, found: Bindings) -> None:
        for site in self.sites:
            names: set[str] = set()
            for node in _statements(site.node):
                if isinstance(node, ast.Global):
                    names.update(node.names)
            if not names:
                continue
            for node in _statements(site.node):
                for name, value in _bound(node):
                    if name in names:
                        found.setdefault(name, []).append(Binding(value, None))


def _statements(scope: ScopeNode) -> Iterator[ast.stmt]:
    """The statements of a scope, without those of the scopes inside."""
    stack: list[ast.stmt] = list(reversed(scope.body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, SCOPES):
            for block, _ in reversed(list(child_blocks(node))):
                stack.extend(reversed(block))


def _parameters(node: Function) -> Iterator[str]:
    arguments = node.args
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield parameter.arg
    for extra in (arguments.vararg, arguments.kwarg):
        if extra:
            yield extra.arg


def _bound(node: ast.stmt) -> Iterator[tuple[str, str | ast.expr | None]]:
    """The names that the statement itself binds (or deletes), not those that its blocks bind."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name, f"{module}.{alias.name}"
    elif isinstance(node, SCOPES):
        yield node.name, None
    elif isinstance(node, ast.Assign):
        value = node.value if isinstance(node.value, (ast.Name, ast.Attribute)) else None
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, value
            else:
                yield from ((name, None) for name in _targets(target))
    elif isinstance(node, (ast.Try, ast.TryStar)):
        yield from ((handler.name, None) for handler in node.handlers if handler.name)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars:
                yield from ((name, None) for name in _targets(item.optional_vars))
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield from ((name, None) for name in _captures(case.pattern))
    elif isinstance(node, ast.Delete):
        yield from ((name, None) for target in node.targets for name in _targets(target))
    elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor)) or (isinstance(node, ast.AnnAssign) and node.value):
        yield from ((name, None) for name in _targets(node.target))
    elif type(node).__name__ == "TypeAlias":  # Python 3.12
        yield node.name.id, None  # type: ignore[attr-defined]


def _targets(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id


def _captures(pattern: ast.pattern) -> Iterator[str]:
    for part in ast.walk(pattern):
        name = part.rest if isinstance(part, ast.MatchMapping) else getattr(part, "name", None)
        if isinstance(name, str):
            yield name


def _walruses(node: ast.stmt) -> Iterator[str]:
    """Names that `:=` binds in the statement's own expressions (a comprehension binds them outside of itself)."""
    stack: list[ast.AST] = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name):
            yield part.target.id
        if not isinstance(part, ast.Lambda):
            stack.extend(ast.iter_child_nodes(part))
