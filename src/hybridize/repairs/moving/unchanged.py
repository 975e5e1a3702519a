"""Whether statements that move into a function of their own leave all as it is: each obligation of the proof.

The same statements run in the same order on the same objects, so that only who sees their variables could tell: code
elsewhere, functions within, a handler that goes on after half of them, and who asks for variables by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.words import REFLECTIVE
from hybridize.repairs.moving.extraction import Extracted, Part
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import FunctionNode, SourceFile
from hybridize.source.bindings import bound_by, bound_in, reads
from hybridize.source.syntax import walk

_BY_NAME = REFLECTIVE | {"dir", "_getframe", "currentframe", "stack"}
#: The modules whose functions do.
_ASKERS = frozenset({"__builtins__", "builtins", "inspect", "sys"})
#: What others call by which a text names variables, too: `frame.eval("a + @b")`.
_TEXTS = frozenset({"eval", "exec"})
_FUNCTIONS = (*FunctionNode.__args__, ast.Lambda, ast.GeneratorExp)
#: Whose blocks let every exception through.
_PLAIN = ("tf.", "keras.", "numpy.", "tqdm.", "builtins.open")


def doubts(bench: Bench, file: SourceFile, part: Part, made: Extracted) -> Iterator[str]:
    """Why a part is not provably the same as a function of its own; `file` is its file before anything was moved."""
    scope, block = part.scope, part.block
    if bench.is_library(file.path):
        yield "others may rest on how a library does it"
    if any(_asks_by_name(file, n) for n in walk(scope)):
        yield "variables are asked for by name"
    inner = [n for n in walk(scope) if isinstance(n, _FUNCTIONS) and n is not scope]
    inside = {n for statement in block for n in walk(statement)}
    if any(n in inside for n in inner):
        yield "it makes functions, which keep its variables"
    bound = bound_by(block)
    if any(isinstance(n, ast.Name) and n.id in bound - bound_in(f) for f in inner for n in walk(f)):
        yield "functions see its variables"
    for each in part.file.around(block[0]):
        if each is scope:
            break
        if isinstance(each, ast.Try) or (isinstance(each, ast.With) and not _is_plain(bench, file, part, each)):
            yield "what it raises may be caught when half of it is done"
    if not set(made.gives) <= reads(block).surely | set(made.takes):
        yield "a loop in it may not run"
    if any(isinstance(n, ast.With) and not _is_plain(bench, file, part, n) for n in inside):
        yield "a block in it may catch what is raised"
    if any(isinstance(n, ast.Try) for n in inside):
        yield "it may go on after an exception"


def _asks_by_name(file: SourceFile, node: ast.AST) -> bool:
    """Whether code may ask for the variables of who calls it: not `tf.stack`, nor a field that is called `dir`."""
    if isinstance(node, ast.Attribute) and node.attr in _BY_NAME:
        return node.attr in _TEXTS or _last(node.value) in file.imported(_ASKERS) | _ASKERS
    return isinstance(node, ast.Name) and node.id in _BY_NAME


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_plain(bench: Bench, file: SourceFile, part: Part, block: ast.With) -> bool:
    """Whether a block is one of a library's that catch nothing."""
    return all(_lets_through(bench, file, part, item.context_expr) for item in block.items)


def _lets_through(bench: Bench, file: SourceFile, part: Part, manager: ast.expr) -> bool:
    if ast.unparse(manager).startswith(f"{part.file.tensorflow}."):
        return True
    line = manager.lineno - 1  # where something was moved, only what still stands where it stood can be asked
    if not isinstance(manager, ast.Call) or file.lines[line : line + 1] != part.file.lines[line : line + 1]:
        return False
    names = bench.names(file, manager)
    return bool(names) and all(name.startswith(_PLAIN) for name in names)
