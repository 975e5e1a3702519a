"""What a repair changes in the text of files."""

from __future__ import annotations

from typing import TypeAlias

from hybridize.records import dataclass

#: Line (from 1) and column (in UTF-8 bytes, from 0), as in syntax trees.
Place: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """The text of a file from `start` to `end` becomes `text`, whose lines end in `\\n` whatever the file's do."""

    path: str
    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True, order=True)
class NewImport:
    """`import module as alias` that a file needs at its top."""

    path: str
    module: str
    alias: str
