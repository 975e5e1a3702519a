"""One project of the client's: analyzed anew a moment after its last change, with the documents as they are then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from hybridize.config import Config, ConfigError
from hybridize.decide.model import FunctionReport, Report
from hybridize.records import replace
from hybridize.report.items import Item, items
from hybridize.server.client_settings import DEFAULT
from hybridize.server.jobs import Progress
from hybridize.server.jobs import Project as Given
from hybridize.server.kept import Kept
from hybridize.server.views import View, Views
from hybridize.server.workers import JobError, Workers
from hybridize.source.project import marked_folder, project_folder

#: Seconds without an edit before what is kept is asked for an answer, and that it has before all is analyzed anew.
_SOON: Final = 0.1
_PATIENCE: Final = 2.0


class State:
    """A report with the documents that it is about."""

    def __init__(self, report: Report, views: Views) -> None:
        self.report, self.views = report, views
        self.items: dict[str, list[Item]] = {}
        for item in items(report):
            self.items.setdefault(item.path, []).append(item)
        self.functions: dict[str, list[FunctionReport]] = {}
        for function in report.functions:
            self.functions.setdefault(function.facts.path, []).append(function)
        self.bundles = {bundle.function: bundle for bundle in report.repairs}

    def around(self, view: View, line: int) -> FunctionReport | None:
        """The innermost function that holds a line of the report's."""
        found = [f for f in self.functions.get(view.snapshot.path, ()) if first_line(f) <= line <= f.facts.end_line]
        return max(found, key=lambda f: f.facts.line, default=None)

    def named(self, identity: str) -> FunctionReport | None:
        """The function of an id."""
        return next((f for f in self.report.functions if f.facts.id == identity), None)


class Listener(Protocol):
    """Who has the documents of a project, and is told what happens."""

    def held(self, project: Project) -> Views:
        """The project's documents that are open, as they are now."""

    def reported(self, project: Project) -> None:
        """There is a new report."""

    def failed(self, project: Project, message: str) -> None:
        """There can be none; the message is a sentence for the user."""

    def progress(self, project: Project) -> tuple[Progress, Callable[[], None]]:
        """An analysis begins: what is told how far it is, and what is called at its end."""


class Project:
    """A folder (or a single file) that is analyzed as a whole.

    Attributes:
        root: the folder that paths of the report are relative to.
        state: the last report; None before there is one.
        focus: the file that was edited or opened last, by its path from the root.
    """

    def __init__(self, path: Path, workers: Workers, listener: Listener) -> None:
        self.root = Path(project_folder(path))
        self.path, self.settings = path, DEFAULT
        self.state: State | None = None
        self.focus: str | None = None
        self._kept, self._listener = Kept(workers), listener
        self._task: asyncio.Task[None] | None = None
        self._said = ""

    def touch(self, delay: float | None = None) -> None:
        """Something has changed: what is being found out no longer holds, and is begun anew.

        `delay` is in seconds; None for that of the settings.
        """
        self.close()
        self._task = asyncio.get_running_loop().create_task(
            self._analyze(self.settings.delay / 1000 if delay is None else delay)
        )

    def close(self) -> None:
        """Ends the analysis that is under way."""
        if self._task is not None:
            self._task.cancel()

    def drop(self) -> None:
        """Ends all that is under way or kept: this is a project no more."""
        self.close()
        self._kept.close()

    async def current(self) -> State | None:
        """The state once all that is known to have changed is analyzed; None where that is not possible."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        return self.state

    @property
    def is_current(self) -> bool:
        """Whether the state is that of the documents."""
        return self.state is not None and (self._task is None or self._task.done())

    async def _analyze(self, delay: float) -> None:
        soon = min(delay, _SOON)
        await asyncio.sleep(soon)
        try:
            config = self.config()
        except ConfigError as error:
            self._fail(str(error))
            return
        views = self._listener.held(self)
        answering = asyncio.create_task(self._answer(views, config))
        try:
            await asyncio.wait([answering], timeout=_PATIENCE)
            await asyncio.sleep(delay - soon)
            report = await self._whole(views, config)
        finally:
            answering.cancel()
        if report is not None:
            self._said = ""
            self._found(report, views)

    async def _answer(self, views: Views, config: Config) -> None:
        """Finds what can be told at once of edits: of nothing else, for then what was found may be newer."""
        if self.state is not None and views.texts != self.state.views.texts:
            report = await self._kept.after(views, config)
            if report is not None:
                self._found(report, views)

    async def _whole(self, views: Views, config: Config) -> Report | None:
        progress, close = self._listener.progress(self)
        try:
            return await self._kept.check(Given((self.path,), config, views.contents), self.focus, views, progress)
        except JobError as error:
            self._fail(str(error))
            return None
        finally:
            close()

    def _found(self, report: Report, views: Views) -> None:
        """There is a report on the documents as they are."""
        self.state = State(report, views)
        for each in views.held.values():
            for buffer, version in each.buffers.values():
                buffer.analyzed(version)
        self._listener.reported(self)

    def config(self) -> Config:
        """The options in force; raises ConfigError."""
        config = self.settings.load(self.root)
        # What says where options come from cannot go to another process as it is.
        return replace(config, origins=dict(config.origins))

    def _fail(self, message: str) -> None:
        if message != self._said:  # not at each edit
            self._said = message
            self._listener.failed(self, message)


def first_line(function: FunctionReport) -> int:
    """The line of a function's first decorator that is known, or else of its `def`."""
    hybridization = function.facts.hybridization
    if hybridization is not None and hybridization.is_decorator:
        return min(hybridization.line, function.facts.line)
    return function.facts.line


def project_of(file: Path) -> Path:
    """The folder of the project that a file outside of all workspace folders belongs to, or the file itself."""
    return Path(marked_folder(file) or file)
