"""Which names a scope binds, which it captures, and what each loop and `try` assigns (one pass over the tree)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from hybridize.program.code import CodeKind
from hybridize.records import dataclass, field
from hybridize.source.syntax import fields_of

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(slots=True, eq=False)
class Scope:
    """The names of one module, class, function or lambda. Comprehensions belong to the scope around them."""

    kind: CodeKind
    parent: Scope | None
    bound: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)  # own variables that an inner scope reads or writes
    rewritten: set[str] = field(default_factory=set)  # own variables that an inner scope writes
    free: set[str] = field(default_factory=set)  # variables of enclosing functions used here or further in
    children: list[Scope] = field(default_factory=list)
    is_generator: bool = False


@dataclass(slots=True)
class Scopes:
    """The scopes of a module by node, and the names that each loop or `try` statement assigns."""

    of: dict[ast.AST, Scope] = field(default_factory=dict)
    assigned: dict[ast.AST, set[str]] = field(default_factory=dict)
    global_writes: set[str] = field(default_factory=set)
    global_reads: set[str] = field(default_factory=set)  # by name, where lowering found one


class _Collector:
    """Walks a module once; `open_sets` are the name sets of the loops and `try` statements that are open."""

    def __init__(self) -> None:
        self.scopes = Scopes()
        self.scope = Scope(CodeKind.MODULE, None)
        self.open_sets: list[set[str]] = []

    def bind(self, name: str) -> None:
        self.scope.bound.add(name)
        for names in self.open_sets:
            names.add(name)

    def visit(self, node: ast.AST) -> None:
        _HANDLERS.get(node.__class__, _Collector.generic)(self, node)

    def generic(self, node: ast.AST) -> None:
        handlers, generic, tree = _HANDLERS, _Collector.generic, ast.AST
        for name in fields_of(node.__class__):
            child = getattr(node, name, None)
            if child.__class__ is list:
                for item in child:
                    if isinstance(item, tree):
                        handlers.get(item.__class__, generic)(self, item)
            elif isinstance(child, tree):
                handlers.get(child.__class__, generic)(self, child)

    def call(self, node: ast.Call) -> None:
        """What `generic` does, for the most frequent kind of node with several parts."""
        handlers, generic = _HANDLERS, _Collector.generic
        handlers.get(node.func.__class__, generic)(self, node.func)
        for arg in node.args:
            handlers.get(arg.__class__, generic)(self, arg)
        for keyword in node.keywords:
            handlers.get(keyword.value.__class__, generic)(self, keyword.value)

    def value(self, node: ast.Attribute | ast.Expr | ast.Return) -> None:
        """A node whose value is all that may bind or read a name."""
        value = node.value
        if value is not None:
            _HANDLERS.get(value.__class__, _Collector.generic)(self, value)

    def assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.visit(target)
        self.visit(node.value)

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def nothing(self, node: ast.AST) -> None:
        """Nothing below it binds or reads a name."""

    def name(self, node: ast.Name) -> None:
        if node.ctx.__class__ is ast.Load:
            self.scope.used.add(node.id)
        else:
            self.bind(node.id)

    def enter(self, kind: CodeKind, node: ast.AST) -> tuple[Scope, list[set[str]]]:
        saved = (self.scope, self.open_sets)
        inner = Scope(kind, self.scope)
        self.scope.children.append(inner)
        self.scope, self.open_sets = inner, []
        self.scopes.of[node] = inner
        return saved

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.bind(node.name)
        self.visit_all(node.decorator_list)
        self.signature(node.args)
        saved = self.enter(CodeKind.FUNCTION, node)
        self.parameters(node.args)
        self.visit_all(node.body)
        self.scope, self.open_sets = saved

    def lambda_(self, node: ast.Lambda) -> None:
        self.signature(node.args)
        saved = self.enter(CodeKind.FUNCTION, node)
        self.parameters(node.args)
        self.visit(node.body)
        self.scope, self.open_sets = saved

    def signature(self, args: ast.arguments) -> None:
        self.visit_all(args.defaults)
        self.visit_all(args.kw_defaults)

    def parameters(self, args: ast.arguments) -> None:
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            self.bind(arg.arg)
        for extra in (args.vararg, args.kwarg):
            if extra is not None:
                self.bind(extra.arg)

    def class_(self, node: ast.ClassDef) -> None:
        self.bind(node.name)
        self.visit_all(node.decorator_list)
        self.visit_all(node.bases)
        self.visit_all(node.keywords)
        saved = self.enter(CodeKind.CLASS, node)
        self.visit_all(node.body)
        self.scope, self.open_sets = saved

    def region(self, node: ast.AST) -> None:
        names: set[str] = set()
        self.open_sets.append(names)
        self.generic(node)
        self.open_sets.pop()
        self.scopes.assigned[node] = names

    def import_(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bind(alias.asname or alias.name.partition(".")[0])

    def import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name)

    def global_(self, node: ast.Global) -> None:
        self.scope.globals.update(node.names)
        if self.scope.parent is not None:
            self.scopes.global_writes.update(node.names)

    def nonlocal_(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocals.update(node.names)

    def handler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bind(node.name)
        self.generic(node)

    def capture_pattern(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name)
        self.generic(node)

    def mapping_pattern(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bind(node.rest)
        self.generic(node)

    def yield_(self, node: ast.AST) -> None:
        self.scope.is_generator = True
        self.generic(node)

    def annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)
        elif not isinstance(node.target, ast.Name):
            self.visit(node.target)


_HANDLERS: dict[type[ast.AST], Callable[[_Collector, Any], None]] = {
    ast.Name: _Collector.name,
    ast.FunctionDef: _Collector.function,
    ast.AsyncFunctionDef: _Collector.function,
    ast.Lambda: _Collector.lambda_,
    ast.ClassDef: _Collector.class_,
    ast.For: _Collector.region,
    ast.AsyncFor: _Collector.region,
    ast.While: _Collector.region,
    ast.Try: _Collector.region,
    ast.TryStar: _Collector.region,
    ast.ListComp: _Collector.region,
    ast.SetComp: _Collector.region,
    ast.DictComp: _Collector.region,
    ast.GeneratorExp: _Collector.region,
    ast.Import: _Collector.import_,
    ast.ImportFrom: _Collector.import_from,
    ast.Global: _Collector.global_,
    ast.Nonlocal: _Collector.nonlocal_,
    ast.ExceptHandler: _Collector.handler,
    ast.MatchAs: _Collector.capture_pattern,
    ast.MatchStar: _Collector.capture_pattern,
    ast.MatchMapping: _Collector.mapping_pattern,
    ast.Yield: _Collector.yield_,
    ast.YieldFrom: _Collector.yield_,
    ast.AnnAssign: _Collector.annotated,
    ast.Attribute: _Collector.value,
    ast.Expr: _Collector.value,
    ast.Return: _Collector.value,
    ast.Assign: _Collector.assign,
    ast.Call: _Collector.call,
    **dict.fromkeys((ast.Constant, *ast.operator.__subclasses__(), *ast.cmpop.__subclasses__()), _Collector.nothing),
}


def collect_scopes(tree: ast.Module) -> Scopes:
    """The scopes of a module."""
    collector = _Collector()
    root = collector.scope
    collector.scopes.of[tree] = root
    collector.visit_all(tree.body)
    _resolve(root)
    return collector.scopes


def _resolve(scope: Scope) -> None:
    """Finds free and captured variables, innermost scopes first."""
    scope.bound -= scope.globals | scope.nonlocals
    wanted = (scope.used - scope.bound - scope.globals) | scope.nonlocals
    for child in scope.children:
        _resolve(child)
        for name in child.free:
            if scope.kind is CodeKind.FUNCTION and name in scope.bound:
                scope.captured.add(name)
                if _writes(child, name):
                    scope.rewritten.add(name)
            else:
                wanted.add(name)
    if scope.kind is not CodeKind.MODULE:
        scope.free = {name for name in wanted if _enclosing_function_binds(scope, name)}


def _writes(scope: Scope, name: str) -> bool:
    return name in scope.nonlocals or any(
        name in child.free and name not in child.bound and _writes(child, name) for child in scope.children
    )


def _enclosing_function_binds(scope: Scope, name: str) -> bool:
    outer = scope.parent
    while outer is not None:
        if outer.kind is CodeKind.FUNCTION and name in outer.bound and name not in outer.globals:
            return True
        outer = outer.parent
    return False
