"""The server itself: a pygls server whose documents, folders and answers are those of a session."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from hybridize import __version__
from hybridize.server.client import Client
from hybridize.server.positions import Units
from hybridize.server.session import Session

#: Seconds between two looks at whether the client is still there.
_LOOK: Final = 1.0
_NOTEBOOKS: Final = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
            cells=[types.NotebookCellLanguage(language="python")],
        )
    ],
    save=True,
)


class Protocol(LanguageServerProtocol):
    """The protocol with documents of our own: those of pygls take a form feed for the end of a line."""

    _server: Server

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """A document is the client's."""
        self._server.session.documents.open(params.text_document)
        self._server.session.opened(params.text_document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """It has been edited."""
        session, document = self._server.session, params.text_document
        buffer = session.documents.buffers.get(document.uri)
        if buffer is not None:
            buffer.change(document.version, params.content_changes, session.documents.units)
            session.changed(document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """It is that on disk again."""
        self._server.session.documents.buffers.pop(params.text_document.uri, None)
        self._server.session.closed(params.text_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """A notebook is the client's."""
        self._server.session.documents.open_notebook(params)
        self._server.session.opened(params.notebook_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """Its cells have been edited, or their order."""
        self._server.session.documents.change_notebook(params)
        self._server.session.changed(params.notebook_document.uri)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """It is that on disk again."""
        self._server.session.documents.close_notebook(params)
        self._server.session.closed(params.notebook_document.uri)


class Server(Client):
    """The language server."""

    def __init__(self) -> None:
        super().__init__(
            "hybridize",
            __version__,
            notebook_document_sync=_NOTEBOOKS,
            protocol_cls=Protocol,
            converter_factory=default_converter,
            max_workers=2,
        )
        self.session = Session(self)
        self._watch: asyncio.Task[None] | None = None

    @property
    def ended_well(self) -> bool:
        """Whether the client asked to shut down."""
        return bool(self.protocol._shutdown)

    def began(self, params: types.InitializeParams) -> None:
        """The client has said who it is."""
        encoding = self.protocol.workspace.position_encoding or types.PositionEncodingKind.Utf16
        self.session.documents.units = Units(types.PositionEncodingKind(encoding))
        folders = [folder.uri for folder in params.workspace_folders or ()]
        for uri in folders or ([params.root_uri] if params.root_uri else []):
            self.session.add_folder(uri)
        if params.process_id is not None:
            self._watch = asyncio.get_running_loop().create_task(_end_without(self, params.process_id))

    def shutdown(self) -> None:
        """The client is gone, or wants the end."""
        self.session.close()
        super().shutdown()  # type: ignore[no-untyped-call]


async def _end_without(server: Server, parent: int) -> None:
    """Ends this process once the client's is gone, whatever holds our stdin open."""
    while True:
        await asyncio.sleep(_LOOK)
        if not _is_alive(parent):
            server.session.close()
            os._exit(1)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's, but there
    return True
