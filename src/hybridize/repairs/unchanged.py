"""Whether statements that move into a function of their own leave all as it is: each obligation of the proof.

The same statements run in the same order on the same objects, so that only who sees their variables could tell: code
elsewhere, functions within, a handler that goes on after half of them, and who asks for variables by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.words import REFLECTIVE
from hybridize.repairs.extraction import Extracted, Part
from hybridize.repairs.flow_of_names import bound_by, reads
from hybridize.repairs.names import bound_in
from hybridize.repairs.text import FunctionNode
from hybridize.source.syntax import walk

_BY_NAME = REFLECTIVE | {"dir", "_getframe", "currentframe", "stack"}
_FUNCTIONS = (*FunctionNode.__args__, ast.Lambda, ast.GeneratorExp)


def doubts(part: Part, made: Extracted) -> Iterator[str]:
    """Why a part is not provably the same as a function of its own within that which it is taken from."""
    scope, block = part.scope, part.block
    if not isinstance(scope, FunctionNode) or part.before is scope:
        yield "its variables can be seen from elsewhere"
        return
    if any(isinstance(n, ast.Name) and n.id in _BY_NAME for n in walk(scope)) or any(
        isinstance(n, ast.Attribute) and n.attr in _BY_NAME for n in walk(scope)
    ):
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
        if isinstance(each, (ast.With, ast.Try)):
            yield "what it raises may be caught when half of it is done"
    if not set(made.gives) <= reads(block).surely | set(made.takes):
        yield "a loop in it may not run"
    if any(isinstance(n, ast.With) and not _is_plain(part, n) for n in inside):
        yield "a block in it may catch what is raised"
    if any(isinstance(n, ast.Try) for n in inside):
        yield "it may go on after an exception"


def _is_plain(part: Part, block: ast.With) -> bool:
    """Whether a block is one of TensorFlow's, which catch nothing."""
    return all(ast.unparse(item.context_expr).startswith(f"{part.file.tensorflow}.") for item in block.items)
