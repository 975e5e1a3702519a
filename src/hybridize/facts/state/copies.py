"""Lists that a function copies before it changes them: `graph = graph[:]` of a parameter that is declared a list.

Of what nobody is seen to pass, a slice may be a view of an array; the hint says that it is a new list. Its elements are
those of the list that was passed.
"""

from __future__ import annotations

import ast
from typing import Final

from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of

_LISTS: Final = frozenset({"list", "List", "typing.List", "t.List"})


def is_copied_list(frame: Frame, slot: int) -> bool:
    """Whether a slot holds a slice of a parameter whose hint says that it is a list, however the two are merged."""
    index = index_of(frame.code)
    made = index.source(slot)
    if not isinstance(made, ir.Item):
        return False
    part = index.source(made.index)
    if not isinstance(part, ir.Slice):
        return False
    owner = index.original(made.source)
    hint = next((param.annotation for param in frame.code.params if param.slot == owner), None)
    return hint is not None and _is_list(hint)


def _is_list(node: ast.expr) -> bool:
    """Whether a hint is that of a list: with or without elements, as a string, or one that may also be None."""
    match node:
        case ast.Constant(value=str(text)):
            return text.partition("[")[0].strip() in _LISTS
        case ast.Subscript(value=base):
            return _is_list(base)
        case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
            return _is_list(left)
    return ast.unparse(node) in _LISTS
