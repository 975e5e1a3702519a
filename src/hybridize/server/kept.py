"""The last program of a project that is kept, and what its report was: so an edit has an answer within the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridize.caching.after_edits import File, merged
from hybridize.config import Config
from hybridize.records import dataclass, field
from hybridize.report.select import selected
from hybridize.server.jobs import Check, Progress, Project
from hybridize.server.keeping import Edits
from hybridize.server.views import Views
from hybridize.server.workers import JobError, Workers
from hybridize.source import encode_source

if TYPE_CHECKING:
    from hybridize.decide.model import Report


@dataclass(slots=True)
class _Program:
    """A program that is kept, or about to be.

    `number` is that of the job that analyzed it, `texts` are those of the files that were open, `files` all that belong
    to it (at first only the one that it is kept for), by path from the root.
    """

    number: int
    key: bytes
    config: Config
    report: Report
    texts: dict[str, str]
    files: frozenset[str] = field(default=frozenset())


class Kept:
    """What is kept of one project."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._program: _Program | None = None
        self._coming: _Program | None = None

    async def check(self, given: Project, focus: str | None, views: Views, progress: Progress) -> Report:
        """The report on a project, whose program is kept from now on, as far as the focus belongs to it.

        Raises:
            JobError: there is none.
        """
        mine = [each for each in (self._coming, self._program) if each and self._workers.may_keep(each.number)]
        known = next((each for each in mine if focus in each.files), None)
        told: list[frozenset[str]] = []
        programs: list[_Program] = []

        def kept(files: frozenset[str]) -> None:
            told.append(files)
            if programs:
                self._take(programs[0], files)

        job = Check(given, focus, known.key if known is not None else None)
        number, checked = await self._workers.check(job, progress, kept)
        texts = views.texts
        if known is not None and checked.key == known.key:
            known.texts = texts  # whatever else was open is on disk as it was
            self._workers.forget(number)
        elif focus is not None:
            self._give_up(self._coming)
            self._coming = _Program(number, checked.key, given.config, checked.report, texts, frozenset({focus}))
            programs.append(self._coming)
            if told:
                self._take(self._coming, told[0])
        return checked.report

    async def after(self, views: Views, config: Config) -> Report | None:
        """The report after edits, as far as it can be told at once; None where it cannot."""
        program, held = self._program, views.held
        if program is None or config != program.config or held.keys() != program.texts.keys():
            return None
        before = program.texts
        files = {
            path: File(before[path], each.text.text) for path, each in held.items() if each.text.text != before[path]
        }
        if not files:
            return program.report
        data = {path: held[path].data or encode_source(each.after) for path, each in files.items()}
        try:
            found = await self._workers.ask(program.number, Edits(data))
        except JobError:  # the whole analysis starts the process again
            return None
        return selected(merged(program.report, files, found), config) if found else None

    def close(self) -> None:
        """Nothing is kept any more."""
        self._give_up(self._program)
        self._give_up(self._coming)
        self._program = self._coming = None

    def _take(self, program: _Program, files: frozenset[str]) -> None:
        """A program is kept now: the one before need not be any more."""
        if program is self._coming:
            self._give_up(self._program)
            self._program, self._coming = program, None
            program.files = files

    def _give_up(self, program: _Program | None) -> None:
        if program is not None:
            self._workers.forget(program.number)
