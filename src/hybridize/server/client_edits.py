"""What `fix` would do, as edits of the client's documents with the versions that they are for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from hybridize.config import ConfigError
from hybridize.rewrite.compose import edits_between
from hybridize.server.jobs import Changed, Fix, Planned
from hybridize.server.jobs import Project as Given
from hybridize.server.positions import Text, Units
from hybridize.server.projects import Project
from hybridize.server.views import NO_CELL, Snapshot, Views
from hybridize.server.workers import JobError

if TYPE_CHECKING:
    from hybridize.server.app import Server
    from hybridize.server.session import Session

#: Reasons that are told, of those why nothing can be done.
_MOST_REASONS = 3


class NothingToDo(JsonRpcException):
    """The request is understood and cannot be done; the message says why."""

    CODE = types.LSPErrorCodes.RequestFailed
    MESSAGE = "nothing to change"


class Outdated(JsonRpcException):
    """A document has changed while the answer was made."""

    CODE = types.LSPErrorCodes.ContentModified
    MESSAGE = "a document has changed meanwhile"


async def plan_edit(
    session: Session, server: Server, project: Project, functions: frozenset[str] | None, *, unsafe: bool
) -> types.WorkspaceEdit:
    """The edits that `hybridize fix` makes to a project, for some functions (ids) or all.

    Raises:
        NothingToDo: nothing can be changed.
        Outdated: a document was changed meanwhile.
    """
    views = session.held(project)
    try:
        given = Given((project.path,), project.config(), views.contents)
        planned: Planned = await session.workers.run(Fix(given, functions, unsafe))
    except (ConfigError, JobError) as error:
        raise NothingToDo(str(error)) from None
    if not session.is_as(project, views):
        raise Outdated
    if not planned.files:
        raise NothingToDo("; ".join((NothingToDo.MESSAGE, *planned.left[:_MOST_REASONS])))
    return workspace_edit(planned, views, session, versioned=server.takes_versions)


def workspace_edit(planned: Planned, views: Views, session: Session, *, versioned: bool) -> types.WorkspaceEdit:
    """Planned changes as edits of the documents that they were planned for."""
    units = session.documents.units
    found: dict[str, list[types.TextEdit]] = {}
    for file in planned.files:
        for uri, edits in _of_file(file, views[file.path].snapshot, session, units):
            if edits:
                found.setdefault(uri, []).extend(edits)
    if not versioned:
        return types.WorkspaceEdit(changes=found)
    versions = {uri: version for each in views.held.values() for uri, version in each.versions.items()}
    documents = [
        types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, versions.get(uri)), edits)
        for uri, edits in found.items()
    ]
    return types.WorkspaceEdit(document_changes=documents)


def _of_file(
    file: Changed, snapshot: Snapshot, session: Session, units: Units
) -> Iterator[tuple[str, list[types.TextEdit]]]:
    notebook = session.documents.notebooks.get(snapshot.uri)
    if notebook is not None and NO_CELL not in snapshot.buffers:
        old, new = (json.loads(data)["cells"] for data in (file.before, file.after))
        for cell, before, after in zip(notebook.cells, old, new, strict=True):
            yield cell.document, text_edits(_source(before), _source(after), units)
        return
    yield snapshot.uri, text_edits(decoded(file.before, file.path), decoded(file.after, file.path), units)


def _source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def decoded(data: bytes, path: str) -> str:
    """The text of a file as an editor shows it."""
    from hybridize.source import FileRef, SourceText, decode_source

    if path.endswith(".ipynb"):
        return data.decode("utf-8-sig", "surrogatepass")
    read = decode_source(FileRef(path, path), data)
    assert isinstance(read, SourceText)  # or it could not have been changed
    return read.text


def text_edits(old: str, new: str, units: Units) -> list[types.TextEdit]:
    """Edits by whole lines that make one text of the other."""
    data, text = old.encode("utf-8", "surrogatepass"), Text(old)

    def position(offset: int) -> types.Position:
        return units.position(text, text.place(len(data[:offset].decode("utf-8", "surrogatepass"))))

    return [
        types.TextEdit(
            types.Range(position(edit.start), position(edit.end)), edit.replacement.decode("utf-8", "surrogatepass")
        )
        for edit in edits_between(data, new.encode("utf-8", "surrogatepass"))
    ]
