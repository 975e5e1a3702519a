"""What a dotted name of a module denotes, where no value tells: decorators, and code that control does not come to."""

from __future__ import annotations

import ast

from hybridize.domain.objects import Lib, Mod
from hybridize.library.defaults import library_attribute


def denoted(module: Mod, node: ast.expr) -> list[str]:
    """The canonical names of the library's things that a dotted name stands for."""
    if isinstance(node, ast.Name):
        cell = module.fields.get(node.id)
        return [o.name for o in cell.value if isinstance(o, Lib)] if cell is not None else []
    if isinstance(node, ast.Attribute):
        found = [library_attribute(owner, node.attr) for owner in denoted(module, node.value)]
        return [o.name for value in found for o in value if isinstance(o, Lib)]
    return []
