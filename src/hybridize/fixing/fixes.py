"""The result of planning changes, and of writing them."""

from __future__ import annotations

from collections.abc import Iterable

from hybridize.decide.model import FunctionReport, Report, Status
from hybridize.fixing.changes import Change, FileChanges, Outcome, with_withheld, write_fixes
from hybridize.records import dataclass, replace
from hybridize.repairing import Repaired
from hybridize.report.paths import Places
from hybridize.rewrite import unified_diff


@dataclass(frozen=True, slots=True)
class Fixes:
    """What is done to a project, or would be.

    Attributes:
        before: the report on the project as it was, without any selection.
        report: the report after the repairs, whose decisions the changes carry out.
        repaired: the repairs that were made, and those that were not, each with the reason.
        files: all changes by file, with the text before and after.
        functions: the ids of the functions that were asked for (None: all), those that repairs make included.
        written: whether the files have been written.
        settled: whether nothing is left to change after these changes; false where that was not found out.
    """

    before: Report
    report: Report
    repaired: Repaired
    files: tuple[FileChanges, ...]
    functions: frozenset[str] | None = None
    written: bool = False
    settled: bool = True

    @property
    def contents(self) -> dict[str, bytes]:
        """The files that change, by path from the root, as they are then."""
        return {file.path: file.result.new for file in self.files if file.result is not None and file.result.changed}

    @property
    def changes(self) -> tuple[Change, ...]:
        """What became of each function that was to be changed, by file and line."""
        return tuple(change for file in self.files for change in file.changes)

    @property
    def changed(self) -> bool:
        """Whether a function or its file is changed, or would be."""
        return bool(self.repaired.done) or any(each.outcome is Outcome.DONE for each in self.changes)

    @property
    def complete(self) -> bool:
        """Whether no change was refused and every file could be read and written."""
        refused = any(each.outcome is Outcome.REFUSED for each in self.changes)
        return not refused and not self.before.errors and not any(file.error for file in self.files)

    def diff(self, start: str | None = None) -> str:
        """All changes as one unified diff, paths relative to a folder (None: the working folder), else absolute."""
        places = Places(self.report.project.root, here=start)
        results = (file.result for file in self.files if file.result is not None)
        return "".join(unified_diff(result, places(result.path.as_posix())) for result in results)

    def write(self) -> Fixes:
        """Writes the files; what could not be written is refused in the result, and those files are as they were."""
        return replace(self, files=tuple(write_fixes(self.files, self.report.project.root)), written=True)

    def withhold(self, functions: Iterable[tuple[FunctionReport, str]]) -> Fixes:
        """The same with further functions that are left as they are, each with its reason."""
        lines = {function.facts.id: function.facts.line for function in self.before.functions}
        return replace(self, files=tuple(with_withheld(self.files, functions, lines)))

    def kept(self, functions: frozenset[str] | None = None) -> list[tuple[FunctionReport, Status]]:
        """The candidates (or functions of these ids) that stay as they are, each with the first reason.

        Those that a change or a repair that was not made speaks of are not among them.
        """
        told = {change.function.facts.id for change in self.changes}
        told |= {bundle.function for bundle, _ in self.repaired.left if bundle.complete or bundle.hybrid}
        mended = {(each.path, name) for each, names in self.repaired.done for name in names}
        return [
            (function, function.statuses[0])
            for function in self.report.functions
            if function.statuses
            and function.facts.id not in told
            and (function.facts.path, function.facts.qualname) not in mended
            and (function.facts.candidate if functions is None else function.facts.id in functions)
        ]
