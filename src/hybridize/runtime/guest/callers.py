"""What the program does with what a call gives: whether it reads a result at all, or the text of an exception.

A graph's result may be of another type, and its exceptions tell the story of their tracing, too.
"""

from __future__ import annotations

import ast
import dis
import os
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_trees: dict[str, ast.Module | None] = {}


def ignored(frame: Any) -> bool:
    """Whether the nearest code that is not this package's, from a frame on outwards, drops the result of its call."""
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == _HERE:
        frame = frame.f_back
    if frame is None:
        return False
    # The frame stands at its call, or at what the interpreter keeps behind it.
    after = (i for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti)
    following = next(after, None)
    return following is not None and following.opname == "POP_TOP"


def reads_text(kind: type, frame: Any) -> bool:
    """Whether what catches an exception, from a frame on outwards, does more with it than to raise it again.

    Args:
        kind: of the exception.
        frame: the innermost one that is asked; those of this package are passed over.
    """
    names = {c.__name__ for c in kind.__mro__}
    while frame is not None:
        path = frame.f_code.co_filename
        if os.path.dirname(path) != _HERE and "site-packages" not in path:
            for handler in _around(path, frame.f_lineno):
                if _catches(handler, names):
                    return _uses(handler)
        frame = frame.f_back
    return False


def _around(path: str, line: int) -> list[ast.ExceptHandler]:
    """The handlers of the `try` blocks that a line is in, the innermost first."""
    if path not in _trees:
        try:
            with open(path, "rb") as stream:
                _trees[path] = ast.parse(stream.read())
        except (OSError, SyntaxError, ValueError):
            _trees[path] = None
    tree = _trees[path]
    blocks = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Try) and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0):
            blocks.append(node)
    return [handler for node in sorted(blocks, key=lambda n: -n.lineno) for handler in node.handlers]


def _catches(handler: ast.ExceptHandler, names: set[str]) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(getattr(k, "attr", getattr(k, "id", None)) in names for k in kinds)


def _uses(handler: ast.ExceptHandler) -> bool:
    """Whether the exception's name is read, but to raise it or to ask for its type."""
    if handler.name is None:
        return False
    passed: set[ast.AST] = set()
    for statement in handler.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Raise):
                passed |= {n for n in (node.exc, node.cause) if n is not None}
            elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("type", "isinstance"):
                passed |= set(node.args[:1])
            elif isinstance(node, ast.Name) and node.id == handler.name and node not in passed:
                return True
    return False
