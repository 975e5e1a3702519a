"""When what is kept is asked, and whose answer is told: with a program that is kept in name only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason='needs pygls: pip install "hybridize[lsp]"')

from lsprotocol import types

import hybridize
from hybridize.config import Config
from hybridize.server import projects
from hybridize.server.buffers import Buffer
from hybridize.server.jobs import Progress
from hybridize.server.positions import Units
from hybridize.server.projects import Project
from hybridize.server.views import Views, held_file
from hybridize.server.workers import Workers


class Listener:
    """A client with one document."""

    def __init__(self, folder: Path) -> None:
        (folder / "main.py").write_text("")
        document = types.TextDocumentItem((folder / "main.py").as_uri(), "python", 1, "")
        self.folder, self.buffer = folder, Buffer(document)
        self.told: list[hybridize.Report] = []

    def edit(self, text: str) -> None:
        version = self.buffer.version + 1
        self.buffer.change(version, [types.TextDocumentContentChangeWholeDocument(text)], Units())

    def held(self, project: Project) -> Views:
        return Views(self.folder, [held_file(self.folder, "main.py", self.buffer)], Units())

    def reported(self, project: Project) -> None:
        assert project.state is not None
        self.told.append(project.state.report)

    def failed(self, project: Project, message: str) -> None:
        raise AssertionError(message)

    def progress(self, project: Project) -> tuple[Progress, Callable[[], None]]:
        return lambda *_: None, lambda: None


class Kept:
    """What is kept, with two reports, and the seconds that each takes."""

    def __init__(self, folder: Path, at_once: float, whole: float) -> None:
        report = hybridize.check(folder, Config(cache=False))
        self.at_once, self.whole = (hybridize.Report(report.project, (), (), (), ()) for _ in range(2))
        self.seconds = at_once, whole
        self.asked = 0

    async def after(self, views: Views, config: Config) -> hybridize.Report | None:
        self.asked += 1
        await asyncio.sleep(self.seconds[0])
        return self.at_once

    async def check(self, *_: object) -> hybridize.Report:
        await asyncio.sleep(self.seconds[1])
        return self.whole


async def told(folder: Path, at_once: float, whole: float, *edits: str) -> tuple[Kept, list[hybridize.Report]]:
    """What is told once all is found after each of some edits."""
    listener = Listener(folder)
    project, kept = Project(folder, Workers(), listener), Kept(folder, at_once, whole)
    project._kept = kept  # type: ignore[assignment]
    for text in ("x = 1\n", *edits):
        listener.edit(text)
        project.touch(0)
        await project.current()
    return kept, listener.told


def test_an_answer_that_takes_long_is_told_if_the_whole_analysis_takes_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "_PATIENCE", 0.01)
    kept, found = asyncio.run(told(tmp_path, 0.1, 0.3, "x = 2\n"))
    assert [each is kept.at_once for each in found] == [False, True, False]


def test_an_answer_is_never_told_after_what_the_whole_analysis_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "_PATIENCE", 0.01)
    kept, found = asyncio.run(told(tmp_path, 0.3, 0.1, "x = 2\n"))
    assert [each is kept.at_once for each in found] == [False, False]


def test_what_is_kept_is_asked_about_edits_only(tmp_path: Path) -> None:
    """A file has changed on disk, or a setting: what was found last is newer than what is kept."""
    kept, found = asyncio.run(told(tmp_path, 0, 0, "x = 1\n", "x = 1\n"))
    assert kept.asked == 0
    assert [each is kept.whole for each in found] == [True, True, True]
