"""What `check` reports, as diagnostics: pushed with the version that they are true of, or asked for by the client."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lsprotocol import types
from lsprotocol.types import Diagnostic, DiagnosticSeverity, DiagnosticTag

from hybridize.decide.model import Severity
from hybridize.facts.model import Evidence
from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.report.items import SYNTAX_ERROR, Item
from hybridize.report.links import help_uri
from hybridize.server.buffers import Documents
from hybridize.server.client import Client
from hybridize.server.positions import Text
from hybridize.server.projects import Project, State
from hybridize.server.views import Span, View

SOURCE: Final = "hybridize"
_SEVERITIES: Final = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.INFO: DiagnosticSeverity.Information,
}
#: Rules whose places may go, or are called by an old name.
_TAGS: Final[Mapping[str, DiagnosticTag]] = {
    "redundant-decorator": DiagnosticTag.Unnecessary,
    "unused-suppression": DiagnosticTag.Unnecessary,
    "renamed-argument": DiagnosticTag.Deprecated,
}
#: So many steps of a chain of evidence are shown.
_MOST_RELATED: Final = 12
_NAMED = regex(r"(?:async\s+)?def\s+\w+|class\s+\w+|@?[\w.]+")


@dataclass(frozen=True, slots=True)
class Published:
    """What a client was last told of a document."""

    version: int | None
    found: tuple[Diagnostic, ...]


class Diagnostics:
    """The diagnostics of all projects, as the client has them."""

    def __init__(self, documents: Documents, client: Client) -> None:
        self._documents, self._client = documents, client
        self._published: dict[Project, dict[str, Published]] = {}

    def changed(self, project: Project) -> None:
        """The project has another report, or other documents."""
        if self._client.pulls:
            return
        found = dict(self.of_project(project))
        told = self._published.setdefault(project, {})
        for uri in [uri for uri in told if uri not in found]:  # first: a client may know one file by two URIs
            self._tell(told, uri, Published(self._version(uri), ()))
            del told[uri]
        for uri, published in found.items():
            if told.get(uri) != published:
                self._tell(told, uri, published)
        if project.state is not None:
            project.state.views.released()

    def moved(self, project: Project, path: str) -> None:
        """A file has been edited."""
        state, told = project.state, self._published.get(project, {})
        if self._client.pulls or state is None:
            return
        for uri, published in self._of_file(state, path):
            last = told.get(uri)
            if last is not None and last.found != published.found:
                self._tell(told, uri, published)

    def dropped(self, project: Project) -> None:
        """The project is none any more."""
        for uri, published in self._published.pop(project, {}).items():
            if published.found:
                self._tell({}, uri, Published(None, ()))

    def of_project(self, project: Project) -> Iterator[tuple[str, Published]]:
        """The diagnostics of each document of a project that has some, or is open."""
        state = project.state
        if state is None:
            return
        wanted = set(state.views.held)
        if project.settings.diagnostics == "workspace":
            wanted |= set(state.items)
        for path in sorted(wanted):
            yield from self._of_file(state, path)

    def of_document(self, project: Project, path: str, uri: str) -> Published:
        """The diagnostics of one document."""
        found = dict(self._of_file(project.state, path)) if project.state is not None else {}
        return found.get(uri) or Published(self._version(uri), ())

    def _of_file(self, state: State, path: str) -> Iterator[tuple[str, Published]]:
        view = state.views[path]
        found: dict[str, list[Diagnostic]] = {view.snapshot.uri: []}
        for buffer, _ in view.snapshot.buffers.values():
            found.setdefault(buffer.uri, [])
        for item in state.items.get(path, ()):
            uri, diagnostic = diagnostic_of(item, view, state, related=self._client.shows_related)
            found.setdefault(uri, []).append(diagnostic)
        for uri, diagnostics in found.items():
            yield uri, Published(self._version(uri), tuple(diagnostics))

    def _version(self, uri: str) -> int | None:
        buffer = self._documents.buffers.get(uri)
        return buffer.version if buffer is not None else None

    def _tell(self, told: dict[str, Published], uri: str, published: Published) -> None:
        told[uri] = published
        self._client.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, published.found, published.version)
        )


def diagnostic_of(item: Item, view: View, state: State, *, related: bool = True) -> tuple[str, Diagnostic]:
    """A place of a report as a diagnostic, with the URI of its document."""
    place = view.locate(_span(item, view.snapshot.text))
    message = item.message
    where = view.where(item.line)
    if where and place.uri == view.snapshot.uri:  # a notebook that is open as a file, or not at all
        message = f"{where}: {message}"
    data: dict[str, Any] = {"code": item.code, "name": item.name, "function": item.function}
    tag = _TAGS.get(item.name)
    return place.uri, Diagnostic(
        place.range,
        message,
        severity=_SEVERITIES[item.severity],
        code=item.code,
        code_description=_description(item.code),
        source=SOURCE,
        tags=[tag] if tag else None,
        related_information=_related(item.evidence, state) if related and item.evidence else None,
        data=data,
    )


def _description(code: str) -> types.CodeDescription | None:
    """Where the web tells what a code means, if the documentation is published."""
    uri = None if code == SYNTAX_ERROR else help_uri(code)
    return None if uri is None else types.CodeDescription(uri)


def _span(item: Item, text: Text) -> Span:
    """The place of an item, with an end where the report has none: the name of a definition, or a word."""
    if (item.end_line, item.end_column) > (item.line, item.column):
        return item.line, item.column, item.end_line, item.end_column
    line = text.line(item.line - 1)
    found = _NAMED.match(line, item.column - 1)
    end = found.end() if found is not None else len(line.rstrip())
    return item.line, item.column, item.line, max(end + 1, item.column)


def _related(chain: tuple[Evidence, ...], state: State) -> list[types.DiagnosticRelatedInformation]:
    found = []
    for step in chain[:_MOST_RELATED]:
        view = state.views[step.path]
        line = view.snapshot.text.line(step.line - 1)
        first = len(line) - len(line.lstrip()) + 1
        place = view.locate((max(step.line, 1), first, max(step.line, 1), len(line) + 1))
        found.append(types.DiagnosticRelatedInformation(place, step.message))
    return found


def result_id(found: tuple[Diagnostic, ...]) -> str:
    """What tells one list of diagnostics from another."""
    return hashlib.blake2b(repr(found).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
