"""The client, as the server sees it: what it can do, and what it is told."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer


class Client(LanguageServer):
    """The side of the server that speaks with the client."""

    def say(self, message: str, kind: types.MessageType) -> None:
        """A sentence for the user."""
        self.window_show_message(types.ShowMessageParams(kind, f"hybridize: {message}"))

    def refresh(self) -> None:
        """There is something new: what the client shows of it is asked for again, where it can be told so."""
        workspace = self.client_capabilities.workspace
        if workspace is None:
            return
        if self.pulls and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)
        if workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)
        if workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    # What the client can do

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics; they are not sent as well, then."""
        text = self.client_capabilities.text_document
        return text is not None and text.diagnostic is not None

    @property
    def is_told_to_refresh(self) -> bool:
        """Whether a client that asks for diagnostics can be told that there are new ones."""
        workspace = self.client_capabilities.workspace
        return (
            workspace is not None and workspace.diagnostics is not None and bool(workspace.diagnostics.refresh_support)
        )

    @property
    def shows_related(self) -> bool:
        """Whether the client shows other places with a diagnostic."""
        text = self.client_capabilities.text_document
        told = (text.publish_diagnostics, text.diagnostic) if text is not None else ()
        return any(each is not None and bool(each.related_information) for each in told)

    @property
    def resolves_edits(self) -> bool:
        """Whether the client asks for the edits of a code action once it is chosen."""
        text = self.client_capabilities.text_document
        action = text.code_action if text is not None else None
        return (
            action is not None
            and bool(action.data_support)
            and action.resolve_support is not None
            and "edit" in action.resolve_support.properties
        )

    @property
    def takes_versions(self) -> bool:
        """Whether edits may say which versions of documents they are for."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return edit is not None and bool(edit.document_changes)

    @property
    def can_show_progress(self) -> bool:
        """Whether the client shows how far something is."""
        window = self.client_capabilities.window
        return window is not None and bool(window.work_done_progress)

    @property
    def asks_settings(self) -> bool:
        """Whether the client can be asked for its settings."""
        workspace = self.client_capabilities.workspace
        return workspace is not None and bool(workspace.configuration)

    @property
    def hover_kind(self) -> types.MarkupKind:
        """The kind of text that the client shows."""
        text = self.client_capabilities.text_document
        formats = text.hover.content_format if text is not None and text.hover is not None else None
        return formats[0] if formats else types.MarkupKind.PlainText
