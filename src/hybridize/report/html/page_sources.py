"""The sources that the page shows: whole files of a small project, else the lines around what it speaks of."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from hybridize.regex import regex
from hybridize.source import FileRef, SourceText, read_source, split_lines

#: So many lines around a place are shown with it.
CONTEXT: Final = 3
#: Files of so many characters in all are shown whole.
SMALL: Final = 250_000
#: So much of a line is shown.
LONGEST: Final = 1_000

#: Comments and strings; of those with three quotes, the quotes.
_STRING: Final = regex(
    r"""#[^\r\n]*|(\"{3}|'{3})(?:\\.|[^\\])*?\1|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'""",
    re.S,
)

Json = dict[str, Any]
Ranges: TypeAlias = Sequence[tuple[int, int]]


def sources(root: str, files: Sequence[str], ranges: Mapping[int, Ranges]) -> list[Json | None]:
    """The sources of a project for its page.

    Args:
        root: the project's folder.
        files: its files, from there.
        ranges: by the number of a file, first and last lines (from 1) of what is to be seen.

    Returns:
        By file, None where there is nothing to see or it cannot be read (any more), or `lines`: the number of lines of
        the file; `parts`: the first line of each part, its text, and where it begins within a string the quotes that
        end this; `cut`: by line, how many characters of it are left out; `cells` of a notebook: the first line of each,
        and its number.
    """
    refs = [FileRef(os.path.join(root, path), path) for path in files]
    read = [read_source(ref) if number in ranges else None for number, ref in enumerate(refs)]
    texts = [each if isinstance(each, SourceText) else None for each in read]
    whole = sum(len(text.text) for text in texts if text is not None) <= SMALL
    return [
        None if text is None else _excerpt(text, [(1, sys.maxsize)] if whole else ranges[number])
        for number, text in enumerate(texts)
    ]


def _excerpt(text: SourceText, ranges: Ranges) -> Json:
    lines = split_lines(text.text)
    if lines and not lines[-1]:
        lines.pop()
    strings = list(_long_strings(text.text))
    parts: list[list[Any]] = []
    cut: dict[str, int] = {}
    for first, last in _merged(ranges, len(lines)):
        shown = []
        for number in range(first, last + 1):
            line = lines[number - 1]
            if len(line) > LONGEST:
                cut[str(number)] = len(line) - LONGEST
            shown.append(line[:LONGEST])
        within = next((quotes for start, end, quotes in strings if start < first <= end), None)
        parts.append([first, "\n".join(shown), *([within] if within else [])])
    found: Json = {"lines": len(lines), "parts": parts}
    if cut:
        found["cut"] = cut
    if text.cells is not None:
        found["cells"] = [[cell.first_line, cell.index + 1] for cell in text.cells.cells]
    return found


def _long_strings(text: str) -> Iterator[tuple[int, int, str]]:
    """The first line, the last and the quotes of each string that goes over several lines."""
    line, done = 1, 0
    for match in _STRING.finditer(text):
        if match[1] is not None:
            line += len(split_lines(text[done : match.start()])) - 1
            last = line + len(split_lines(match[0])) - 1
            if last > line:
                yield line, last, match[1]
            line, done = last, match.end()


def _merged(ranges: Ranges, lines: int) -> list[tuple[int, int]]:
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
