"""The line of source that a message is about, with what is meant underlined."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache

from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.report.style import one_line

#: What is meant where only its beginning is known: a definition, or a dotted name.
_MEANT = regex(r"(?:async\s+def|def|class)\s+\w+|[^\W\d][\w.]*")
_TAB = "    "
#: So much is shown before what is meant in a line that is too long.
_BEFORE = 12
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Span:
    """Where something is: lines and columns from 1, the end exclusive; columns are bytes of UTF-8, as Python counts."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One line of source as it can be shown, and the columns (from 0, as a terminal counts) that are underlined."""

    text: str
    start: int
    length: int


def reader(root: str, contents: Mapping[str, bytes]) -> Callable[[str], tuple[str, ...]]:
    """A function from a report's path to the lines of the file (of a notebook: of its code); none if unreadable.

    `contents` are bytes by path that stand for those on disk.
    """

    @cache
    def lines_of(path: str) -> tuple[str, ...]:
        from hybridize.source.model import FileRef, SourceText
        from hybridize.source.reading import decode_source, read_source, split_lines

        ref = FileRef(os.path.join(root, path), path)
        read = decode_source(ref, contents[path]) if path in contents else read_source(ref)
        return tuple(split_lines(read.text)) if isinstance(read, SourceText) else ()

    return lines_of


def excerpt(lines: tuple[str, ...], span: Span, room: int) -> Excerpt | None:
    """The line where something begins, in at most `room` columns; None where the file has no such line (any more)."""
    if not 0 < span.line <= len(lines) or not lines[span.line - 1].strip():
        return None
    line = lines[span.line - 1].rstrip()
    start, end = _meant(line, span)
    before, meant, after = (_shown(part) for part in (line[:start], line[start:end], line[end:]))
    indent = len(before) - len(before.lstrip())
    before = before[indent:]
    if _columns(before + meant + after) > room and len(before) > _BEFORE:
        before = _CUT + before[-_BEFORE:]
    text, cut = before + meant + after, ""
    if _columns(text) > room:
        text, cut = _fitting(text, room - len(_CUT)), _CUT
    begin = _columns(before)
    return Excerpt(text + cut, begin, max(min(_columns(meant), _columns(text) - begin), 1))


def _meant(line: str, span: Span) -> tuple[int, int]:
    """The characters of a line that are meant, as a range."""
    start = _character(line, span.column)
    first = len(line) - len(line.lstrip())
    if span.end_line > span.line:
        return max(start, first), len(line)
    if span.end_column > span.column:
        return max(start, first), _character(line, span.end_column)
    if start < first or (start == 0 and span.column == 1):  # the statement as a whole
        return first, len(line)
    found = _MEANT.match(line, start)
    return start, found.end() if found else min(start + 1, len(line))


def _character(line: str, column: int) -> int:
    """The place of a character by its column in bytes (from 1)."""
    return len(line.encode("utf-8", "surrogatepass")[: max(column - 1, 0)].decode("utf-8", "ignore"))


def _shown(text: str) -> str:
    return one_line(text.replace("\t", _TAB))


def _columns(text: str) -> int:
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitting(text: str, room: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += _width(character)
        if used > room:
            return text[:place]
    return text
