"""What the server asks for and waits for, each run in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hybridize.config import Config
from hybridize.records import dataclass, replace

if TYPE_CHECKING:
    from hybridize.decide.model import Report
    from hybridize.server.keeping import Keeper
    from hybridize.source import Inputs

Progress = Callable[[str, int, int], None]


class Job(Protocol):
    """Something to run: plain data that goes to another process, and so does what `run` returns."""

    @property
    def focus(self) -> str | None:
        """The file whose program is to be kept once it is solved, by its path from the root; None for none."""

    def run(self, progress: Progress, keeper: Keeper | None) -> object:
        """The answer; `progress` is told about phases, and `keeper` keeps the program."""

    def afterwards(self, keeper: Keeper) -> None:
        """What is still to be done once the answer is given."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project as the client has it: `contents` are bytes in place of those on disk, by path from its root."""

    paths: tuple[Path, ...]
    config: Config
    contents: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Checked:
    """A report, with what tells the sources and options that it is about from any others."""

    report: Report
    key: bytes


@dataclass(frozen=True, slots=True)
class Check:
    """The report that `hybridize check` gives.

    The program of the `focus` is kept, unless the key is `known`: then it is kept already.
    """

    project: Project
    focus: str | None = None
    known: bytes | None = None

    def run(self, progress: Progress, keeper: Keeper | None) -> Checked:
        """The report without what is not selected."""
        from hybridize.api import analyze_inputs
        from hybridize.caching.keys import Keys
        from hybridize.caching.store import open_store
        from hybridize.report.select import selected

        config = self.project.config
        inputs = self._inputs()
        after = keeper.after if keeper is not None else None
        report = analyze_inputs(inputs, config, progress=progress, store=open_store(config), after=after)
        return Checked(selected(report, config), Keys(inputs, config).project())

    def afterwards(self, keeper: Keeper) -> None:
        """Solves the program that the answer was known of, to be kept."""
        from hybridize.analysis import Analysis
        from hybridize.caching.keys import Keys

        config, inputs = self.project.config, self._inputs()
        if self.focus is not None and Keys(inputs, config).project() != self.known:
            mine = replace(inputs, asked=frozenset({self.focus}))
            Analysis(mine, config, repairs=False, progress=None, store=None, after=keeper.after).reports()

    def _inputs(self) -> Inputs:
        from hybridize.api import inputs_of

        return inputs_of(self.project.paths, self.project.config, self.project.contents)


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
    focus: None = None

    def run(self, progress: Progress, keeper: Keeper | None) -> Planned:
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

    def afterwards(self, keeper: Keeper) -> None:
        """Nothing."""
