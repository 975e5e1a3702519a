"""Whether a module can be imported without a package: it imports it where that may fail, or under a condition."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from hybridize.records import dataclass

_FAILURES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


@dataclass(frozen=True, slots=True)
class _Import:
    """An import of the package: its line, the names that it binds, and whether the module lives on without it."""

    line: int
    names: tuple[str, ...]
    optional: bool


def optional_line(tree: ast.Module, package: str) -> int | None:
    """Where a module imports a package without which it can be imported, too; None if it needs it, or has no such line.

    It needs it where one import always runs, or where code that always runs uses a name of it: a base class, say.
    """
    found = list(_imports(tree.body, package))
    if not found or not all(each.optional for each in found):
        return None
    names = {name for each in found for name in each.names}
    return None if any(names & _used(node) for node in tree.body) else found[0].line


def _imports(body: Iterable[ast.stmt], package: str, optional: bool = False) -> Iterator[_Import]:
    """The imports of a package that run with a module body."""
    for node in body:
        if isinstance(node, ast.Import):
            own = [alias for alias in node.names if _is_of(alias.name, package)]
            names = tuple(alias.asname or alias.name.partition(".")[0] for alias in own)
            if own:
                yield _Import(node.lineno, names, optional)
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_of(node.module or "", package):
            yield _Import(node.lineno, tuple(alias.asname or alias.name for alias in node.names), optional)
        elif isinstance(node, ast.Try):
            lives = any(_catches(handler) and not _ends(handler.body) for handler in node.handlers)
            yield from _imports(node.body, package, optional or lives)
            for part in (node.orelse, node.finalbody, *(handler.body for handler in node.handlers)):
                yield from _imports(part, package, optional)
        elif isinstance(node, ast.If) and not _is_for_types(node.test):
            branches = [list(_imports(part, package, optional)) for part in (node.body, node.orelse)]
            always = all(branches)
            for each in (each for branch in branches for each in branch):
                yield each if always else _Import(each.line, each.names, True)
        elif isinstance(node, ast.With):
            yield from _imports(node.body, package, optional)


def _is_for_types(test: ast.expr) -> bool:
    """Whether only a type checker runs a branch."""
    return ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING"


def _is_of(module: str, package: str) -> bool:
    return module.partition(".")[0] == package


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler gets the failure of an import."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(ast.unparse(kind).rpartition(".")[2] in _FAILURES for kind in kinds)


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a handler ends the import of the module, or brings the package from elsewhere."""
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ("sys.exit", "exit", "quit", "pytest.skip")
    return isinstance(last, ast.Raise) or any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in body)


def _used(node: ast.AST) -> set[str]:
    """The names that a statement uses whenever the module is imported."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, ast.Lambda):
        parts = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, (ast.If, ast.Try, ast.IfExp, ast.BoolOp)):
        parts = [] if isinstance(node, ast.Try) else [node.values[0] if isinstance(node, ast.BoolOp) else node.test]
    else:
        parts = list(ast.iter_child_nodes(node))
    own = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else set[str]()
    return own.union(*map(_used, parts))
