"""Cells of notebooks as people see them: where a line of one is in the JSON, and a diff of their sources."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from hybridize.rewrite.model import FileResult
from hybridize.rewrite.notebook_json import source_strings
from hybridize.source.model import Cell, FileRef, SourceError
from hybridize.source.reading import decode_source

_CONTEXT = 3


def json_position(data: bytes, index: int, line: int, column: int) -> tuple[int, int] | None:
    """Line and column (from 1) in a notebook's JSON of a place in the cell with this index; None where it has none."""
    text = data.decode("utf-8-sig", "replace")
    left = line - 1
    for strings in source_strings(text, index):
        for offset, character in strings:
            if left == 0:
                column -= 1
                if column <= 0 or character == "\n":
                    start = text.rfind("\n", 0, offset) + 1
                    return text.count("\n", 0, offset) + 1, offset - start + 1
            elif character == "\n":
                left -= 1
    return None


def cells_diff(result: FileResult, name: str) -> str:
    """The sources of the cells that change, each as a diff of its lines.

    `patch` and `git apply` pass over it: a notebook's file is JSON, which these lines are not.
    """
    before, after = _cells(name, result.original), _cells(name, result.new)
    parts: list[str] = []
    for index in sorted(before.keys() | after.keys()):
        old, new = (_lines(each.get(index)) for each in (before, after))
        if old != new:
            parts.append(f"=== {name}:cell {index + 1}\n")
            parts += _hunks(old, new)
    return "".join(parts)


def _cells(name: str, data: bytes) -> dict[int, Cell]:
    source = decode_source(FileRef(name, name), data)
    if isinstance(source, SourceError) or source.cells is None:
        return {}
    return {cell.index: cell for cell in source.cells.cells}


def _lines(cell: Cell | None) -> list[str]:
    return cell.source.splitlines() if cell is not None else []


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield f"@@ line {group[0][1] + 1} @@\n"
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (f" {line}\n" for line in old[a:b])
                continue
            yield from (f"-{line}\n" for line in old[a:b])
            yield from (f"+{line}\n" for line in new[c:d])
