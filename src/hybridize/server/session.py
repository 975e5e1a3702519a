"""What the server knows: the client's documents and folders, and a project for each folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from hybridize.server.buffers import Buffer, Documents, Notebook
from hybridize.server.client import Client
from hybridize.server.client_settings import DEFAULT, Settings
from hybridize.server.diagnostics import Diagnostics
from hybridize.server.jobs import Progress
from hybridize.server.progress import Reported
from hybridize.server.projects import Project, project_of
from hybridize.server.views import Snapshot, View, Views, held_file, held_notebook
from hybridize.server.workers import Workers

_SUFFIXES = (".py", ".ipynb")


class Session:
    """All that is open, and what is found in it."""

    def __init__(self, client: Client) -> None:
        self.documents, self.workers = Documents(), Workers()
        self.projects: dict[Path, Project] = {}
        self.settings: Settings = DEFAULT
        self.folders: dict[str, Path] = {}
        self.given: object = None  # what the client gave at the start
        self.diagnostics = Diagnostics(self.documents, client)
        self._client = client

    # Documents

    def document(self, uri: str) -> tuple[Project, View, Buffer] | None:
        """An open document that a report speaks of: its project, its file there, and its text; None for others."""
        buffer = self.documents.buffers.get(uri)
        path = path_of(buffer.notebook or uri) if buffer is not None else None
        project = self.project(path) if path is not None else None
        if buffer is None or path is None or project is None or project.state is None:
            return None
        view = project.state.views[relative(path, project.root)]
        held = view.snapshot.buffers.values()
        return (project, view, buffer) if any(each is buffer for each, _ in held) else None

    def opened(self, uri: str) -> None:
        """A document or notebook has been opened: what is known of its file is shown at once."""
        path = path_of(uri)
        project = self._project_for(path) if path is not None else None
        if path is None or project is None:
            return
        state = project.state
        project.focus = name = relative(path, project.root)
        if state is not None and project.is_current:
            held = self.held(project).held.get(name)
            if held is not None and held.text.text == state.views[name].snapshot.text.text:
                state.views.hold(held)
                self.diagnostics.changed(project)
        project.touch()

    def changed(self, uri: str) -> None:
        """A document or notebook has been edited: what was found moves with it until it is analyzed anew."""
        path = path_of(uri)
        project = self.project(path) if path is not None and path.suffix in _SUFFIXES else None
        if path is not None and project is not None:
            project.focus = relative(path, project.root)
            project.touch()
            self.diagnostics.moved(project, project.focus)

    def closed(self, uri: str) -> None:
        """A document or notebook is that on disk again."""
        path = path_of(uri)
        project = self.project(path) if path is not None and path.suffix in _SUFFIXES else None
        if project is None:
            return
        if project.path in self.folders.values() or self.held(project).held:
            project.touch()
        else:
            self._drop(project)

    # Projects

    def project(self, path: Path) -> Project | None:
        """The innermost project that a file is in."""
        found = [p for p in self.projects.values() if path == p.path or p.path in path.parents]
        return max(found, key=lambda p: len(p.path.parts), default=None)

    def add_folder(self, uri: str) -> None:
        """A folder of the workspace is a project."""
        path = path_of(uri)
        if path is not None:
            self.folders[uri] = path
            if path not in self.projects:
                self.projects[path] = Project(path, self.workers, self)

    def remove_folder(self, uri: str) -> None:
        """It is none any more."""
        path = self.folders.pop(uri, None)
        project = self.projects.get(path) if path is not None else None
        if project is not None and path not in self.folders.values():
            self._drop(project)

    def touch(self, paths: Sequence[str] | None = None) -> None:
        """Files have changed on disk; None: anything may have."""
        for project in list(self.projects.values()):
            if paths is None or any(self.project(Path(path)) is project for path in paths):
                project.touch()

    def configure(self, given: dict[Path, Settings], delay: float = 0) -> None:
        """There are settings: those of folders, or else the session's; what follows begins after some seconds."""
        for path, project in self.projects.items():
            project.settings = given.get(path, self.settings)
            project.touch(delay)

    def close(self) -> None:
        """Nothing is analyzed any more."""
        for project in self.projects.values():
            project.close()
        self.workers.close()

    # What projects ask and tell

    def held(self, project: Project) -> Views:
        """The project's documents that are open, as they are now."""
        return Views(project.root, self._snapshots(project), self.documents.units)

    def reported(self, project: Project) -> None:
        """There is a new report."""
        self.diagnostics.changed(project)
        self._client.refresh()

    def failed(self, project: Project, message: str) -> None:
        """There can be none."""
        self._client.say(message, types.MessageType.Error)

    def progress(self, project: Project) -> tuple[Progress, Callable[[], None]]:
        """An analysis begins."""
        told = Reported(self._client, project)
        return told.report, told.end

    def is_as(self, project: Project, views: Views) -> bool:
        """Whether the project's documents are those of some views, in the same versions."""
        return views.current() and {each[0] for each in self._open(project)} == {*views.held}

    def _snapshots(self, project: Project) -> Iterator[Snapshot]:
        for name, document in self._open(project):
            if isinstance(document, Buffer):
                yield held_file(project.root, name, document)
            else:
                data, cells = self.documents.notebook_bytes(document), self.documents.cells_of(document)
                yield held_notebook(project.root, name, document.uri, data, cells)

    def _open(self, project: Project) -> Iterator[tuple[str, Buffer | Notebook]]:
        """The project's documents that are open, by path from its root."""
        documents: list[Buffer | Notebook] = [*self.documents.notebooks.values()]
        documents += [buffer for buffer in self.documents.buffers.values() if buffer.notebook is None]
        for document in documents:
            path = path_of(document.uri)
            if path is not None and path.suffix in _SUFFIXES and self.project(path) is project:
                yield relative(path, project.root), document

    def _project_for(self, path: Path) -> Project | None:
        if path.suffix not in _SUFFIXES:
            return None
        found = self.project(path)
        if found is None:
            place = project_of(path)
            found = self.projects[place] = Project(place, self.workers, self)
            found.settings = self.settings
        return found

    def _drop(self, project: Project) -> None:
        project.drop()
        self.projects.pop(project.path, None)
        self.diagnostics.dropped(project)


def path_of(uri: str) -> Path | None:
    """The file of a URI; None where it has none (a document that was never saved)."""
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    return Path(os.path.abspath(path)) if path else None


def relative(path: Path, root: Path) -> str:
    """A file's path as reports have it."""
    return path.relative_to(root).as_posix() if root in path.parents else path.as_posix()
