"""Places in words: how sentences name lines of a source, and the same sentences once the lines have moved.

"line 8" is a line of the file that the sentence is about, "steps.py:8" one of a file called so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from hybridize.regex import regex
from hybridize.source.model import CellMap

#: Where a line of a file is now; the file is empty where a sentence means the one that it is about.
Where: TypeAlias = Callable[[str, int], int]

_PLACES: Final = regex(
    r"`[^`]*`"
    r"|(?P<word>\blines? )(?P<first>\d+)(?: to (?P<last>\d+))?"
    r"|(?P<file>[^\s:`(),]+\.(?:py|pyi|ipynb)):(?P<line>\d+)"
)


def line_words(first: int, last: int | None = None, cells: CellMap | None = None) -> str:
    """ "line 8", or "lines 8 to 12"; with the cells of a notebook "lines 5 to 9 of cell 3"."""
    last, cell = first if last is None else last, ""
    if cells is not None:
        found, within = cells.locate(first)
        first, last, cell = within, last - first + within, f" of cell {found.index + 1}"
    return f"line {first}{cell}" if last == first else f"lines {first} to {last}{cell}"


def place_words(path: str, line: int, cells: CellMap | None = None) -> str:
    """ "steps.py:8"; with the cells of a notebook "steps.ipynb:cell 3:5"."""
    name = path.rpartition("/")[2]
    if cells is None:
        return f"{name}:{line}"
    cell, within = cells.locate(line)
    return f"{name}:cell {cell.index + 1}:{within}"


def moved_words(sentence: str, where: Where) -> str:
    """A sentence with the numbers of lines as they are now."""
    if "line" not in sentence and ":" not in sentence:
        return sentence

    def now(found: re.Match[str]) -> str:
        if found["file"]:
            return f"{found['file']}:{where(found['file'], int(found['line']))}"
        if not found["word"]:
            return found.group()
        last = f" to {where('', int(found['last']))}" if found["last"] else ""
        return f"{found['word']}{where('', int(found['first']))}{last}"

    return _PLACES.sub(now, sentence)
