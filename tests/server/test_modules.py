"""The modules of the server import one another in one direction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "src" / "hybridize" / "server"


def imported(node: ast.AST) -> Iterator[str]:
    """Modules of the room that are imported when the code runs, also within functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and (child.module or "").startswith("hybridize.server."):
            yield (child.module or "").split(".")[2]
        yield from imported(child)


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {path.stem: set(imported(ast.parse(path.read_text(encoding="utf-8")))) for path in FOLDER.glob("*.py")}
    assert len(graph) > 15
    assert [*TopologicalSorter(graph).static_order()].index("app") > 0  # CycleError names a circle
