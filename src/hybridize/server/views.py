"""Places of a report as the client has them now: by document, and through what was edited since."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from lsprotocol.types import Location, Position, Range
from pygls.uris import from_fs_path

from hybridize.records import dataclass, field, replace
from hybridize.server.buffers import Buffer
from hybridize.server.positions import Place, Text, Units, back, forward
from hybridize.source import CellMap, FileRef, SourceText, decode_source, encode_source, read_source

#: Lines and columns of a report, both from 1: the start and the end of a place.
Span: TypeAlias = "tuple[int, int, int, int]"
#: Stands for the place of a cell where a notebook is open as a text.
NO_CELL: Final = -1


@dataclass(slots=True)
class Snapshot:
    """A file as it was analyzed.

    Attributes:
        path: from the project's root.
        text: what lines and columns of the report count in: of a notebook the Python of its cells.
        buffers: the documents that it was open in, each with its version then: one, or a notebook's cells by place.
        uri: of the document, or of the notebook.
        cells: of a notebook.
    """

    path: str
    uri: str
    text: Text
    buffers: dict[int, tuple[Buffer, int]] = field(default_factory=dict)
    cells: CellMap | None = None
    data: bytes | None = None  # in place of what is on disk

    @property
    def is_open(self) -> bool:
        """Whether the client holds it."""
        return bool(self.buffers)

    @property
    def versions(self) -> dict[str, int]:
        """The versions that it was analyzed with, by URI."""
        return {buffer.uri: version for buffer, version in self.buffers.values()}


class View:
    """A file of a report, as the client has it now."""

    def __init__(self, snapshot: Snapshot, units: Units) -> None:
        self.snapshot, self._units = snapshot, units

    def locate(self, span: Span) -> Location:
        """Where a place is now; of a notebook that is not open it is the file's first line."""
        line, column, end_line, end_column = span
        start, end = (line - 1, column - 1), (end_line - 1, max(end_column - 1, 0))
        snapshot = self.snapshot
        if snapshot.cells is None:
            buffer = snapshot.buffers.get(0)
            return Location(snapshot.uri, self._range(snapshot.text, buffer[0] if buffer else None, start, end))
        try:
            cell, first = snapshot.cells.locate(line)
        except LookupError:
            return Location(snapshot.uri, _START)
        held = snapshot.buffers.get(cell.index)
        if held is None:
            return Location(snapshot.uri, _START)
        moved = first - line
        last = min(end[0] + moved, cell.line_count - 1)
        found = self._range(Text(cell.source), held[0], (first - 1, start[1]), (last, end[1]))
        return Location(held[0].uri, found)

    def place(self, buffer: Buffer, position: Position) -> tuple[int, int]:
        """The line and column (from 1) in the report's text of a position in a document that is open."""
        line, column = back(buffer.edits, self._units.place(buffer.text, position))
        cells = self.snapshot.cells
        if cells is None:
            return line + 1, column + 1
        index = next((i for i, (held, _) in self.snapshot.buffers.items() if held is buffer), -1)
        try:
            return cells.line_of(index, line + 1), column + 1
        except LookupError:
            return 0, 0  # no line of any function

    def where(self, line: int) -> str:
        """A place in a notebook in words, empty for other files: a report's lines mean nothing to people there."""
        if self.snapshot.cells is None:
            return ""
        try:
            cell, within = self.snapshot.cells.locate(line)
        except LookupError:
            return ""
        return f"cell {cell.index + 1}:{within}"

    def _range(self, text: Text, buffer: Buffer | None, start: Place, end: Place) -> Range:
        start = text.place(text.offset(start))
        end = max(text.place(text.offset(end)), start)
        if buffer is None:
            return self._units.range(text, start, end)
        edits = buffer.edits
        return self._units.range(buffer.text, forward(edits, start), forward(edits, end, stays=start != end))


_START = Range(Position(0, 0), Position(0, 0))


class Views:
    """The files of a project as they were analyzed; those that are not open are read when they are asked for."""

    def __init__(self, root: Path, held: Iterable[Snapshot], units: Units) -> None:
        self.root = root
        self._units = units
        self._held = {snapshot.path: snapshot for snapshot in held}
        self._read: dict[str, Snapshot] = {}

    def __getitem__(self, path: str) -> View:
        return View(self._held.get(path) or self._from_disk(path), self._units)

    @property
    def held(self) -> dict[str, Snapshot]:
        """Those that were open."""
        return self._held

    def current(self) -> bool:
        """Whether all documents are still as they were analyzed."""
        return all(b.version == version for each in self._held.values() for b, version in each.buffers.values())

    @property
    def texts(self) -> dict[str, str]:
        """The texts of those that were open."""
        return {path: each.text.text for path, each in self._held.items()}

    @property
    def contents(self) -> dict[str, bytes]:
        """The bytes of those that were not as on disk."""
        return {path: each.data for path, each in self._held.items() if each.data is not None}

    def hold(self, snapshot: Snapshot) -> None:
        """A file has been opened and is as it was analyzed."""
        self._held[snapshot.path] = snapshot

    def released(self) -> None:
        """The texts of files that are not open are not needed for now."""
        self._read.clear()

    def _from_disk(self, path: str) -> Snapshot:
        if path not in self._read:
            full = os.path.join(self.root, path)
            read = read_source(FileRef(full, path)) if os.path.isfile(full) else None
            self._read[path] = snapshot_of(path, uri_of(full), read if isinstance(read, SourceText) else None)
        return self._read[path]


def snapshot_of(path: str, uri: str, read: SourceText | None) -> Snapshot:
    """A file that is not open."""
    return Snapshot(path, uri, Text(read.text if read else ""), {}, read.cells if read else None)


def held_file(root: Path, path: str, buffer: Buffer) -> Snapshot:
    """A file that is open; `data` is None where it is as on disk."""
    ref = FileRef(os.path.join(root, path), path)
    if ref.is_notebook:  # open as the JSON that it is: no cell has a document
        data = buffer.text.text.encode("utf-8", "surrogatepass")
        return replace(held_notebook(root, path, buffer.uri, data, ()), buffers={NO_CELL: (buffer, buffer.version)})
    on_disk = read_source(ref) if os.path.isfile(ref.path) else None
    same = isinstance(on_disk, SourceText) and on_disk.text == buffer.text.text
    new = None if same else encode_source(buffer.text.text)
    return Snapshot(path, buffer.uri, buffer.text, {0: (buffer, buffer.version)}, None, new)


def held_notebook(root: Path, path: str, uri: str, data: bytes, cells: Iterable[Buffer | None]) -> Snapshot:
    """A notebook that is open as such."""
    read = decode_source(FileRef(os.path.join(root, path), path), data)
    text, found = (Text(read.text), read.cells) if isinstance(read, SourceText) else (Text(""), None)
    buffers = {i: (buffer, buffer.version) for i, buffer in enumerate(cells) if buffer is not None}
    return Snapshot(path, uri, text, buffers, found or CellMap((), ()), data)


def uri_of(path: str) -> str:
    """The URI of a file."""
    uri: str | None = from_fs_path(path)
    assert uri is not None  # only for an empty path
    return uri
