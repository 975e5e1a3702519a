"""Texts as a client sees them: lines, places in code points, positions in the units that were agreed on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from lsprotocol.types import Position, PositionEncodingKind, Range

from hybridize.records import dataclass
from hybridize.regex import regex

#: Line and column in code points, both from 0.
Place: TypeAlias = "tuple[int, int]"
#: The end of the protocol's lines, which are those of Python's parser, too.
_LINE_END = regex(r"\r\n|\r|\n")
_CODECS: Final = {PositionEncodingKind.Utf8: ("utf-8", 1), PositionEncodingKind.Utf16: ("utf-16-le", 2)}


class Text:
    """A text with its lines; never changes."""

    __slots__ = ("_lines", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: tuple[list[int], list[int]] | None = None

    def _found(self) -> tuple[list[int], list[int]]:
        """Where lines start, and where what is on them ends."""
        if self._lines is None:
            starts, ends = [0], []
            for match in _LINE_END.finditer(self.text):
                ends.append(match.start())
                starts.append(match.end())
            self._lines = starts, [*ends, len(self.text)]
        return self._lines

    @property
    def count(self) -> int:
        """How many lines there are: one more than line ends."""
        return len(self._found()[0])

    @property
    def end(self) -> Place:
        """The place behind the last character."""
        return self.place(len(self.text))

    def line(self, number: int) -> str:
        """A line without its end; empty where there is none."""
        starts, ends = self._found()
        return self.text[starts[number] : ends[number]] if 0 <= number < len(starts) else ""

    def offset(self, place: Place) -> int:
        """The offset of a place; one that is not in the text is moved into it."""
        starts, ends = self._found()
        line, column = place
        if line >= len(starts):
            return len(self.text)
        return min(starts[line] + max(column, 0), ends[line])

    def place(self, offset: int) -> Place:
        """The place of an offset."""
        line = bisect_right(self._found()[0], offset) - 1
        return line, offset - self._found()[0][line]


@dataclass(frozen=True, slots=True)
class Units:
    """Columns in the units of a position encoding."""

    encoding: PositionEncodingKind = PositionEncodingKind.Utf16

    def position(self, text: Text, place: Place) -> Position:
        """A place as the client counts; one that is not in the text is moved into it."""
        line = min(place[0], text.count - 1)
        found = text.line(line)
        column = min(max(place[1], 0), len(found)) if line == place[0] else len(found)
        return Position(line, self._units(found[:column]))

    def place(self, text: Text, position: Position) -> Place:
        """A position of the client's as a place; one that is not in the text is moved into it."""
        if position.line >= text.count:
            return text.end
        line = text.line(position.line)
        if line.isascii() or self.encoding not in _CODECS:
            return position.line, min(position.character, len(line))
        before = 0
        for column, character in enumerate(line):
            if before >= position.character:
                return position.line, column
            before += self._units(character)
        return position.line, len(line)

    def range(self, text: Text, start: Place, end: Place) -> Range:
        """As `position`, for both ends."""
        return Range(self.position(text, start), self.position(text, max(start, end)))

    def _units(self, text: str) -> int:
        if text.isascii() or self.encoding not in _CODECS:
            return len(text)
        codec, size = _CODECS[self.encoding]
        return len(text.encode(codec, "surrogatepass")) // size


@dataclass(frozen=True, slots=True)
class Edit:
    """What was between `start` and `end` is now between `start` and `stop`."""

    start: Place
    end: Place
    stop: Place

    def forward(self, place: Place, *, stays: bool = False) -> Place:
        """Where a place is after the edit; at an insertion it is behind the new text unless it `stays`."""
        if place < self.start or (place == self.start and stays):
            return place
        if place < self.end:
            return self.start
        return _moved(place, self.end, self.stop)

    def back(self, place: Place) -> Place:
        """Where a place was before the edit."""
        if place < self.stop:
            return min(place, self.start)
        return _moved(place, self.stop, self.end)


def _moved(place: Place, old: Place, new: Place) -> Place:
    line = place[0] + new[0] - old[0]
    return (line, place[1] + new[1] - old[1]) if place[0] == old[0] else (line, place[1])


def forward(edits: Iterable[Edit], place: Place, *, stays: bool = False) -> Place:
    """Where a place is after some edits, the first one first."""
    for edit in edits:
        place = edit.forward(place, stays=stays)
    return place


def back(edits: Sequence[Edit], place: Place) -> Place:
    """Where a place was before some edits."""
    for edit in reversed(edits):
        place = edit.back(place)
    return place


def between(old: Text, new: Text) -> Edit:
    """One edit that makes one text of the other: what is the same at both ends stays."""
    shorter = min(len(old.text), len(new.text))
    head = _common(old.text[:shorter], new.text[:shorter])
    tail = _common(old.text[head:][::-1][: shorter - head], new.text[head:][::-1][: shorter - head])
    return Edit(old.place(head), old.place(len(old.text) - tail), new.place(len(new.text) - tail))


def _common(one: str, two: str) -> int:
    """How many characters two texts of one length have in common at their start."""
    if one == two:
        return len(one)
    low, high = 0, len(one)  # found by halves: comparing slices is fast, characters one by one are not
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
