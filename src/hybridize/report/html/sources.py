"""The sources that the page shows: the lines around what it speaks of, and no more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

from hybridize.source import FileRef, SourceText, read_source, split_lines

#: So many lines around a place are shown with it.
CONTEXT: Final = 3
#: So much of a line is shown.
LONGEST: Final = 1_000

Json = dict[str, Any]


def excerpt(root: str, path: str, ranges: Iterable[tuple[int, int]]) -> Json | None:
    """The lines of some ranges of a file with their context; None where the file cannot be read (any more).

    Args:
        root: the project's folder.
        path: the file, from there.
        ranges: first and last lines, from 1.

    Returns:
        `lines`: the number of lines of the file; `parts`: the first line of each part, and its text; `cut`: by line,
        how many characters of it are left out; `cells` of a notebook: the first line of each, and its number.
    """
    read = read_source(FileRef(os.path.join(root, path), path))
    if not isinstance(read, SourceText):
        return None
    lines = split_lines(read.text)
    if lines and not lines[-1]:
        lines.pop()
    parts: list[list[Any]] = []
    cut: dict[str, int] = {}
    for first, last in _merged(ranges, len(lines)):
        shown = []
        for number in range(first, last + 1):
            line = lines[number - 1]
            if len(line) > LONGEST:
                cut[str(number)] = len(line) - LONGEST
            shown.append(line[:LONGEST])
        parts.append([first, "\n".join(shown)])
    found: Json = {"lines": len(lines), "parts": parts}
    if cut:
        found["cut"] = cut
    if read.cells is not None:
        found["cells"] = [[cell.first_line, cell.index + 1] for cell in read.cells.cells]
    return found


def _merged(ranges: Iterable[tuple[int, int]], lines: int) -> list[tuple[int, int]]:
    """Ranges with their context, those together that meet."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted((max(1, a - CONTEXT), min(lines, b + CONTEXT)) for a, b in ranges):
        if first > last:
            continue
        if merged and first <= merged[-1][1] + 1 + CONTEXT:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged
