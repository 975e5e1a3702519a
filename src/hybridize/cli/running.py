"""Which program a command runs, with what interpreter, and the texts that its variants have."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridize.cli.changes import Outcome, plan_fixes
from hybridize.cli.programs import script_in
from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.records import dataclass, replace
from hybridize.rewrite import FileResult
from hybridize.runtime.launch import Target
from hybridize.runtime.sources import MemoryFile, Watched, memory_file, original_file


def target_of(args: argparse.Namespace) -> Target:
    """The program that is meant; raises UsageError if none is, or it isn't there."""
    if args.module:
        return Target.module(args.module[0], args.module[1:])
    return script_in(args.program or [], "SCRIPT [ARGUMENT...] or -m MODULE [ARGUMENT...]")


@dataclass(frozen=True, slots=True)
class Texts:
    """The changes that could be made, as files in memory.

    Attributes:
        functions: those that are changed; their place here is the number by which the child knows them.
        before: the files that change, as they are, with the functions watched.
        after: the same as `fix` would write them.
        refused: the others with their reasons.
    """

    functions: tuple[FunctionReport, ...]
    before: tuple[MemoryFile, ...]
    after: tuple[MemoryFile, ...]
    refused: tuple[tuple[FunctionReport, str], ...]

    def described(self) -> tuple[dict[str, object], ...]:
        """The functions for the child."""
        facts = [function.facts for function in self.functions]
        return tuple({"id": f.id, "path": f.path, "line": f.line, "qualname": f.qualname} for f in facts)


def texts(
    report: Report,
    functions: Sequence[FunctionReport] | None = None,
    contents: Mapping[str, bytes] | None = None,
    lines: Mapping[str, int] | None = None,
) -> Texts:
    """The verified edits for all decisions, or those on some functions.

    `contents` are the files as repairs have changed them, which is what the report speaks of; `lines` are those of
    functions (by id) on disk.
    """
    planned = plan_fixes(report, functions, contents, lines)
    changes = [change for file in planned for change in file.changes]
    refused = [(change.function, change.reason or "") for change in changes if change.outcome is Outcome.REFUSED]
    done = [change.function for change in changes if change.outcome is Outcome.DONE]
    on_disk = {f.facts.id: (lines or {}).get(f.facts.id, None if lines else f.facts.line) for f in done}
    watched: dict[str, list[Watched]] = {}
    for number, function in enumerate(done):
        line = on_disk[function.facts.id]
        # One that loses its decorator has none that could be timed on both sides; an extracted one has no other side.
        if line is not None and function.decision.action is not Action.CONVERT_TO_EAGER:
            watched.setdefault(function.facts.path, []).append(Watched(number, line))
    root = Path(report.project.root)
    after = [
        memory_file(root, _as_on_disk(file.result, file.path, done, on_disk), watched.get(file.path, []))
        for file in planned
        if file.result is not None and file.result.changed
    ]
    before = [original_file(root / path, entries) for path, entries in watched.items()]
    return Texts(tuple(done), tuple(before), tuple(after), tuple(refused))


def _as_on_disk(
    result: FileResult, path: str, functions: Sequence[FunctionReport], on_disk: Mapping[str, int | None]
) -> FileResult:
    """The result with its changes at the lines that their functions have on disk."""
    moved = {f.facts.line: on_disk[f.facts.id] or 0 for f in functions if f.facts.path == path}
    return replace(result, applied=tuple(replace(c, line=moved.get(c.line, c.line)) for c in result.applied))


def unwatched(files: Sequence[MemoryFile]) -> tuple[MemoryFile, ...]:
    """The same files with nobody watching."""
    return tuple(replace(file, watch=()) for file in files)
