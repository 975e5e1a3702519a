"""What a piece of code takes from around it: the names that it uses, and who binds them."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterator

from hybridize.domain.session import cached
from hybridize.repairs.model import NotOffered
from hybridize.repairs.source.text import FunctionNode, SourceFile
from hybridize.source.bindings import binds, bound_in
from hybridize.source.syntax import walk

_BUILTINS = frozenset(dir(builtins))


@cached
def names_in(node: ast.AST) -> frozenset[str]:
    """All names in a piece of code."""
    return frozenset([n.id for n in walk(node) if isinstance(n, ast.Name)])


def free_names(file: SourceFile, node: ast.AST) -> set[str]:
    """The names that code uses and does not bind itself, built-in ones excepted.

    Raises NotOffered where a function within binds a name that the code around it has too, and the code itself has not.
    """
    used = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own = bound_in(node)
    inner = {name for each in walk(node) for name in binds(each) if each is not node} - own
    around = {name for scope in scopes_around(file, node) for name in bound_in(scope)}
    shadowed = sorted(inner & used & around)
    if shadowed:
        raise NotOffered(f"`{shadowed[0]}` is bound inside and outside")
    return used - own - inner - (_BUILTINS - set(file.bound))


def captured(file: SourceFile, node: ast.AST) -> set[str]:
    """The names that code takes from the functions around it."""
    around = {name for scope in scopes_around(file, node) for name in bound_in(scope)}
    return free_names(file, node) & around


def scopes_around(file: SourceFile, node: ast.AST) -> Iterator[ast.AST]:
    """The functions, lambdas and comprehensions around a node, the nearest first."""
    kinds = FunctionNode | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    return (outer for outer in file.around(node) if isinstance(outer, kinds))


def top_statement(file: SourceFile, node: ast.AST) -> ast.stmt:
    """The statement of the module that a node is in."""
    found = file.statement(node)
    while not isinstance(file.parents[found], ast.Module):
        found = file.statement(file.parents[found])
    return found


def bound_before(file: SourceFile, names: set[str], line: int) -> bool:
    """Whether the module surely binds some names above a line: by statements of its own that always run."""
    found: set[str] = set()
    for statement in file.tree.body:
        if statement.lineno >= line:
            break
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import() | ast.ImportFrom():
                found.update(binds(statement))
            case ast.Assign(targets=targets):
                found.update(t.id for target in targets for t in walk(target) if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                found.add(name)
    return names <= found | _BUILTINS


def is_constant(file: SourceFile, name: str) -> bool:
    """Whether a name of the module always stands for the same thing: an import, a function or class bound once."""
    binders = file.bound.get(name, ())
    return len(binders) == 1 and isinstance(binders[0], (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))


def local_name(own: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> str:
    """A name for a variable, like `name`, that nothing in a function is called."""
    taken = {n.id for n in walk(own) if isinstance(n, ast.Name)}
    taken |= {n.arg for n in walk(own) if isinstance(n, ast.arg)}
    classes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    taken |= {n.name for n in walk(own) if isinstance(n, classes)} | set(dir(builtins))
    wanted = name.strip("_") or "value"
    while wanted in taken or keyword.iskeyword(wanted):
        wanted += "_"
    return wanted
