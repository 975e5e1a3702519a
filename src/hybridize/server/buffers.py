"""The documents that a client holds: texts with their versions, and what was edited since they were last analyzed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from lsprotocol import types

from hybridize.server.positions import Edit, Text, Units, between


class Buffer:
    """A text document.

    Attributes:
        uri: as the client spells it.
        version: the client's.
        text: what it holds.
        edits: what was edited since the text that was last analyzed; positions of its report go through them.
    """

    def __init__(self, document: types.TextDocumentItem, notebook: str | None = None) -> None:
        self.uri, self.version, self.language = document.uri, document.version, document.language_id
        self.notebook = notebook
        self.text = Text(document.text)
        self._edits: list[tuple[int, Edit]] = []

    @property
    def edits(self) -> list[Edit]:
        """What was edited since the text that was last analyzed, the first edit first."""
        return [edit for _, edit in self._edits]

    def change(self, version: int, changes: Sequence[types.TextDocumentContentChangeEvent], units: Units) -> None:
        """Takes what the client changed, one change after the other."""
        for change in changes:
            old = self.text
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = (units.place(old, place) for place in (change.range.start, change.range.end))
                first, last = old.offset(start), old.offset(max(start, end))
                self.text = Text(old.text[:first] + change.text + old.text[last:])
                edit = Edit(old.place(first), old.place(last), self.text.place(first + len(change.text)))
            else:
                self.text = Text(change.text)
                edit = between(old, self.text)
            self._edits.append((version, edit))
        self.version = version

    def analyzed(self, version: int) -> None:
        """There is a report on the text of this version."""
        self._edits = [(number, edit) for number, edit in self._edits if number > version]


class Notebook:
    """A notebook document: its cells in order, each kind with the URI of its text document."""

    def __init__(self, document: types.NotebookDocument) -> None:
        self.uri, self.version = document.uri, document.version
        self.cells = list(document.cells)

    def change(self, version: int, event: types.NotebookDocumentChangeEvent) -> None:
        """Takes what the client changed of the order and kinds of cells; their texts are buffers."""
        self.version = version
        cells = event.cells
        if cells is None:
            return
        if cells.structure is not None:
            array = cells.structure.array
            self.cells[array.start : array.start + array.delete_count] = array.cells or []
        kinds = {cell.document: cell for cell in cells.data or ()}
        self.cells = [kinds.get(cell.document, cell) for cell in self.cells]


class Documents:
    """All documents that are open."""

    def __init__(self) -> None:
        self.units = Units()
        self.buffers: dict[str, Buffer] = {}
        self.notebooks: dict[str, Notebook] = {}

    def open(self, document: types.TextDocumentItem, notebook: str | None = None) -> None:
        """A document is the client's from now on."""
        self.buffers[document.uri] = Buffer(document, notebook)

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """So is a notebook, with its cells."""
        self.notebooks[params.notebook_document.uri] = Notebook(params.notebook_document)
        for cell in params.cell_text_documents:
            self.open(cell, params.notebook_document.uri)

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Takes a change of a notebook and of its cells' texts."""
        uri, event = params.notebook_document.uri, params.change
        notebook = self.notebooks.get(uri)
        if notebook is None:
            return
        notebook.change(params.notebook_document.version, event)
        if event.cells is None:
            return
        if event.cells.structure is not None:
            for opened in event.cells.structure.did_open or ():
                self.open(opened, uri)
            for closed in event.cells.structure.did_close or ():
                self.buffers.pop(closed.uri, None)
        for told in event.cells.text_content or ():
            buffer = self.buffers.get(told.document.uri)
            if buffer is not None:
                buffer.change(told.document.version, told.changes, self.units)

    def close_notebook(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """A notebook is that on disk again."""
        self.notebooks.pop(params.notebook_document.uri, None)
        for cell in params.cell_text_documents:
            self.buffers.pop(cell.uri, None)

    def cells_of(self, notebook: Notebook) -> Iterator[Buffer | None]:
        """The texts of a notebook's cells in order; None for one that the client never opened."""
        return (self.buffers.get(cell.document) for cell in notebook.cells)

    def notebook_bytes(self, notebook: Notebook) -> bytes:
        """A notebook file with these cells, as the analysis reads it."""
        cells: list[dict[str, Any]] = []
        for cell, buffer in zip(notebook.cells, self.cells_of(notebook), strict=True):
            is_code = cell.kind == types.NotebookCellKind.Code and buffer is not None and buffer.language == "python"
            kind = "code" if is_code else "markdown"
            cells.append({"cell_type": kind, "metadata": {}, "source": buffer.text.text if buffer else ""})
        found = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(found, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
