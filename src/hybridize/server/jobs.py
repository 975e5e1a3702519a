"""What the server asks for and waits for, each run in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hybridize.config import Config
from hybridize.records import dataclass

if TYPE_CHECKING:
    from hybridize.decide.model import Report

Progress = Callable[[str, int, int], None]


class Job(Protocol):
    """Something to run: plain data that goes to another process, and so does what `run` returns."""

    def run(self, progress: Progress) -> object:
        """The answer; `progress` is told about phases."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project as the client has it: `contents` are bytes in place of those on disk, by path from its root."""

    paths: tuple[Path, ...]
    config: Config
    contents: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Check:
    """The report that `hybridize check` gives."""

    project: Project

    def run(self, progress: Progress) -> Report:
        """The report without what is not selected."""
        from hybridize.api import analyze
        from hybridize.caching.store import open_store
        from hybridize.report.select import selected

        project = self.project
        store = open_store(project.config)
        report = analyze(project.paths, project.config, progress=progress, contents=project.contents, store=store)
        return selected(report, project.config)


@dataclass(frozen=True, slots=True)
class Changed:
    """A file before and after."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Planned:
    """What `hybridize fix` does to a project: the files that change, and why something is left."""

    files: tuple[Changed, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """The changes that `hybridize fix` makes: to some functions (ids), or to all."""

    project: Project
    functions: frozenset[str] | None
    unsafe: bool

    def run(self, progress: Progress) -> Planned:
        """The changes, planned and verified; nothing is written."""
        from hybridize.api import analyze
        from hybridize.caching.store import open_store
        from hybridize.fixing.planner import Planner

        project = self.project
        store, given = open_store(project.config), project.contents

        def report_on(contents: Mapping[str, bytes]) -> Report:
            return analyze(project.paths, project.config, progress=progress, contents=contents, store=store)

        planner = Planner(report_on(given), project.config, report_on, self.unsafe, given)
        fixes = planner.plan(self.functions)
        changed = [file.result for file in fixes.files if file.result is not None and file.result.changed]
        left = [f"{bundle.qualname}: {reason}" for bundle, reason in fixes.repaired.left]
        left += [f"{each.function.facts.qualname}: {each.reason}" for each in fixes.changes if each.reason]
        return Planned(tuple(Changed(str(each.path), each.original, each.new) for each in changed), tuple(left))
