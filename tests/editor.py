"""An editor for tests: a client of `hybridize server` in a process of its own, with documents as an editor has them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, default_converter, register_lsp_features

import hybridize
from hybridize.report.items import items

Found = tuple[int, int, str, str, str]  # line and column from 1, severity, code, message

SEVERITIES = {1: "error", 2: "warning", 3: "info"}


def units(text: str, encoding: str) -> int:
    """How long a text is in a position encoding."""
    return (
        len(text)
        if encoding == "utf-32"
        else len(text.encode({"utf-8": "utf-8"}.get(encoding, "utf-16-le"))) // (1 if encoding == "utf-8" else 2)
    )


class Editor:
    """What is open in it, and what the server said."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client, self.root = client, root
        self.encoding = "utf-16"
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: list[types.PublishDiagnosticsParams] = []
        self.capabilities: types.ServerCapabilities | None = None

    @property
    def pid(self) -> int:
        """Of the server."""
        process = self.client._server
        assert process is not None
        return process.pid

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def open(self, path: str, text: str | None = None) -> str:
        uri = self.uri(path)
        self.texts[uri] = (self.root / path).read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        document = types.TextDocumentItem(uri, "python", 1, self.texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return uri

    def close(self, path: str) -> None:
        uri = self.uri(path)
        del self.texts[uri], self.versions[uri]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def edit(self, path: str, start: int, end: int, text: str) -> None:
        """Replaces what is between two offsets (code points), as an editor that sends ranges does."""
        uri = self.uri(path)
        old = self.texts[uri]
        place = types.Range(self.position(uri, start), self.position(uri, end))
        self.texts[uri] = old[:start] + text + old[end:]
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        changes = [types.TextDocumentContentChangePartial(place, text)]
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))

    def replace(self, path: str, old: str, new: str) -> None:
        """Replaces the first occurrence of a text."""
        start = self.texts[self.uri(path)].index(old)
        self.edit(path, start, start + len(old), new)

    def rewrite(self, path: str, text: str) -> None:
        """Replaces the whole text, as an editor that knows no ranges does."""
        uri = self.uri(path)
        self.texts[uri] = text
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        whole = [types.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, whole))

    def position(self, uri: str, offset: int) -> types.Position:
        before = self.texts[uri][:offset].replace("\r\n", "\n").replace("\r", "\n")
        line = before.count("\n")
        return types.Position(line, units(before.rpartition("\n")[2], self.encoding))

    def place(self, path: str, text: str, within: int = 0) -> types.Position:
        """Where a text is."""
        return self.position(self.uri(path), self.texts[self.uri(path)].index(text) + within)

    async def diagnostics(self, path: str, uri: str | None = None) -> list[types.Diagnostic]:
        """Those of a document's text as it is: the server answers once it has analyzed it."""
        asked = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri or self.uri(path)))
        report = await self.client.text_document_diagnostic_async(asked)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return list(report.items)

    async def everything(self) -> dict[str, list[Found]]:
        """The diagnostics of all files, by path."""
        report = await self.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
        found = {}
        for each in report.items:
            assert isinstance(each, types.WorkspaceFullDocumentDiagnosticReport)
            path = Path(os.path.relpath(each.uri.removeprefix("file://"), self.root)).as_posix()
            found[path] = [self.found(each.uri, diagnostic) for diagnostic in each.items]
        return {path: listed for path, listed in found.items() if listed}

    def found(self, uri: str, diagnostic: types.Diagnostic) -> Found:
        start = diagnostic.range.start
        text = self.texts.get(uri) or Path(uri.removeprefix("file://")).read_bytes().decode()
        line = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[start.line]
        column = next(i for i in range(len(line) + 1) if units(line[:i], self.encoding) >= start.character)
        severity = SEVERITIES[int(diagnostic.severity or 1)]
        return start.line + 1, column + 1, severity, str(diagnostic.code), diagnostic.message

    def checked(self) -> dict[str, list[Found]]:
        """What `check` says of the folder with what is not saved, by path."""
        contents = {
            os.path.relpath(uri.removeprefix("file://"), self.root): t.encode() for uri, t in self.texts.items()
        }
        found: dict[str, list[Found]] = {}
        for item in items(hybridize.check(self.root, contents=contents)):
            told = (item.line, item.column, item.severity.value, item.code, item.message)
            found.setdefault(item.path, []).append(told)
        return found

    async def actions(
        self, path: str, at: types.Position, only: list[str] | None = None, uri: str | None = None
    ) -> dict[str, types.CodeAction]:
        """What is offered at a place, with the diagnostics there, by title."""
        uri = uri or self.uri(path)
        there = [d for d in await self.diagnostics(path, uri) if d.range.start.line <= at.line <= d.range.end.line]
        context = types.CodeActionContext(there, only=only)
        asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(at, at), context)
        found = await self.client.text_document_code_action_async(asked) or []
        return {each.title: each for each in found if isinstance(each, types.CodeAction)}

    async def choose(self, action: types.CodeAction) -> None:
        """Does what an editor does with an action."""
        if action.edit is None and action.data is not None:
            action = await self.client.code_action_resolve_async(action)
        if action.edit is not None:
            self.apply(action.edit)
        if action.command is not None:
            await self.command(action.command.command, *(action.command.arguments or ()))

    async def command(self, name: str, *arguments: Any) -> Any:
        asked = types.ExecuteCommandParams(name, arguments=list(arguments))
        return await self.client.workspace_execute_command_async(asked)

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Applies edits to what is open, and to files that are not."""
        if edit.changes:
            assert not edit.document_changes
            for uri, edits in edit.changes.items():
                self._apply(uri, list(edits))
        for change in edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit)
            uri = change.text_document.uri
            assert change.text_document.version == self.versions.get(uri), "an edit of another version"
            self._apply(uri, [each for each in change.edits if isinstance(each, types.TextEdit)])

    def _apply(self, uri: str, edits: list[types.TextEdit]) -> None:
        file = Path(uri.removeprefix("file://"))
        is_open = uri in self.texts
        text = self.texts[uri] if is_open else file.read_bytes().decode()
        for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
            start, end = (self._offset(text, place) for place in (edit.range.start, edit.range.end))
            text = text[:start] + edit.new_text + text[end:]
        if is_open:
            self.rewrite(os.path.relpath(file, self.root), text)
        else:
            file.write_bytes(text.encode())

    def _offset(self, text: str, position: types.Position) -> int:
        offset = 0
        for _ in range(position.line):
            ends = [text.find(end, offset) + len(end) for end in ("\r\n", "\n") if text.find(end, offset) >= 0]
            offset = min(ends) if ends else len(text)
        while units(text[offset:][:0], self.encoding) < position.character:
            taken = units(text[offset], self.encoding)
            position = types.Position(position.line, position.character - taken)
            offset += 1
        return offset


def capabilities(
    *,
    encodings: list[str] | None = None,
    pulls: bool = False,
    refreshes: bool = False,
    resolves: bool = True,
    progress: bool = False,
    configuration: bool = False,
    versions: bool = True,
) -> types.ClientCapabilities:
    """What a client can do."""
    resolve = types.ClientCodeActionResolveOptions(properties=["edit"])
    literal = types.ClientCodeActionLiteralOptions(types.ClientCodeActionKindOptions(value_set=[]))
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=encodings),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
            diagnostic=types.DiagnosticClientCapabilities() if pulls else None,
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
            code_action=types.CodeActionClientCapabilities(
                code_action_literal_support=literal,
                data_support=resolves,
                resolve_support=resolve if resolves else None,
            ),
        ),
        workspace=types.WorkspaceClientCapabilities(
            configuration=configuration,
            workspace_folders=True,
            apply_edit=True,
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=versions),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=refreshes),
        ),
        window=types.WindowClientCapabilities(work_done_progress=progress),
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
    )


def _converter() -> Any:
    """That of pygls, which takes each action that has a command for a command."""
    converter = default_converter()

    def structure(given: Any, _: object) -> Any:
        kind = types.Command if isinstance(given.get("command"), str) else types.CodeAction
        return converter.structure(given, kind)

    converter.register_structure_hook(types.Command | types.CodeAction, structure)
    return converter


@contextlib.asynccontextmanager
async def editing(
    root: Path,
    *,
    can: types.ClientCapabilities | None = None,
    options: Mapping[str, Any] | None = None,
    folders: list[Path] | None = None,
    configuration: dict[str, Any] | None = None,
    process: int | None = None,
) -> AsyncIterator[Editor]:
    """An editor with folders of a workspace (default: `root` alone), and the server that it started."""
    client = LanguageClient(converter_factory=_converter)
    for scope, values in (configuration or {}).items():
        client.set_configuration(values, section="hybridize", scope_uri=scope)
    editor = Editor(client, root)

    def published(params: types.PublishDiagnosticsParams) -> None:
        editor.published.append(params)

    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        editor.apply(params.edit)
        return types.ApplyWorkspaceEditResult(applied=True)

    own = {types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: published, types.WORKSPACE_APPLY_EDIT: apply}
    register_lsp_features(client, {**DEFAULT_CLIENT_FEATURES, **own})
    await client.start_io(sys.executable, "-m", "hybridize", "server")
    result = await client.initialize_session(
        types.InitializeParams(
            process_id=process,
            capabilities=can or capabilities(),
            initialization_options={"delay": 20, **(options or {})},
            workspace_folders=[types.WorkspaceFolder(each.as_uri(), each.name) for each in folders or [root]],
        )
    )
    editor.capabilities = result.capabilities
    editor.encoding = str(
        getattr(result.capabilities.position_encoding, "value", result.capabilities.position_encoding)
    )
    try:
        yield editor
    finally:
        await asyncio.wait_for(client.shutdown_session(), 20)
        await asyncio.wait_for(client.stop(), 20)
