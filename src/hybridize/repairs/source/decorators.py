"""What the repairs of decorators have in common: the decorators of a hybrid function as text."""

from __future__ import annotations

import ast

from hybridize.repairs.model import Cause
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start


def decorated(bench: Bench, cause: Cause) -> tuple[SourceFile, FunctionNode, int] | None:
    """The function whose decorator stands at a cause's place, and which of its decorators that is."""
    file = bench.file(cause.path)
    for node in file.nodes if file is not None else ():
        if isinstance(node, FunctionNode):
            for index, each in enumerate(node.decorator_list):
                if start(each) <= cause.place <= end(each):
                    assert file is not None
                    return file, node, index
    return None


def name_of(node: ast.expr) -> str:
    """The last name of a decorator."""
    if isinstance(node, ast.Call):
        node = node.func
    return str(getattr(node, "attr", getattr(node, "id", "")))
