"""Decisions -> changes of the rewrite room -> what became of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from hybridize.decide.model import Action, FunctionReport, Report
from hybridize.records import dataclass, replace
from hybridize.rewrite import DecoratorChange, FilePlan, FileResult, apply, plan_file
from hybridize.rewrite.compose import edits_between
from hybridize.rewrite.dialect import TENSORFLOW
from hybridize.rewrite.model import Action as EditAction
from hybridize.rewrite.model import KnownNames
from hybridize.rewrite.sections import first_party

_EDITS: Mapping[Action, EditAction] = {
    Action.CONVERT_TO_HYBRID: "add",
    Action.CONVERT_TO_EAGER: "remove",
    Action.RECONFIGURE: "replace",
}


class Outcome(StrEnum):
    """What became of a change: done (with --diff: shown), already so, or refused with a reason."""

    DONE = "done"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Change:
    """One function's change; `line` is that of `def` before it."""

    function: FunctionReport
    outcome: Outcome
    reason: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class FileChanges:
    """All changes of one file, `result` None where it could not even be read; `error` says why nothing was written."""

    path: str
    changes: tuple[Change, ...]
    result: FileResult | None = None
    error: str | None = None


def plan_fixes(
    report: Report,
    functions: Iterable[FunctionReport] | None = None,
    contents: Mapping[str, bytes] | None = None,
    lines: Mapping[str, int] | None = None,
    given: Mapping[str, bytes] | None = None,
) -> list[FileChanges]:
    """The verified edits for all decisions (or those on `functions`), by file; nothing is written.

    `contents` are the files that repairs have changed already: what the report speaks of. `lines` are those of
    functions (by id) before that. `given` are the files as they were, where that is not what is on disk.
    """
    repaired = contents or {}
    by_path: defaultdict[str, list[FunctionReport]] = defaultdict(list)
    for function in report.functions if functions is None else functions:
        if function.decision.action is not Action.KEEP:
            by_path[function.facts.path].append(function)
    for path in repaired:
        by_path.setdefault(path, [])
    root = Path(report.project.root)
    given, known = given or {}, dict(report.borrowed)
    own = first_party(root)
    planned = [
        _plan_file(root, file_plan(path, wanted, known.get(path, ()), own), wanted, repaired.get(path), given.get(path))
        for path, wanted in by_path.items()
    ]
    return [_with_lines(file, lines or {}) for file in planned]


def _with_lines(file: FileChanges, lines: Mapping[str, int]) -> FileChanges:
    """The changes with the lines where their functions were before anything was repaired."""
    changes = tuple(replace(c, line=lines.get(c.function.facts.id, c.function.facts.line)) for c in file.changes)
    return replace(file, changes=changes)


def write_fixes(planned: Iterable[FileChanges], root: str) -> list[FileChanges]:
    """Write what was planned; a file that cannot be written is left as it was, and all its changes are refused."""
    return [_write_file(file, Path(root)) for file in planned]


def with_withheld(
    planned: Iterable[FileChanges], withheld: Iterable[tuple[FunctionReport, str]], lines: Mapping[str, int]
) -> list[FileChanges]:
    """The plan with further functions that are left as they are, each with its reason; `lines` as for `plan_fixes`."""
    by_path: defaultdict[str, list[Change]] = defaultdict(list)
    for function, reason in withheld:
        line = lines.get(function.facts.id, function.facts.line)
        by_path[function.facts.path].append(Change(function, Outcome.REFUSED, reason, line))
    files = []
    for file in planned:
        changes = sorted((*file.changes, *by_path.pop(file.path, [])), key=lambda change: change.line)
        files.append(replace(file, changes=tuple(changes)))
    return files + [FileChanges(path, tuple(changes)) for path, changes in by_path.items()]


def file_plan(
    path: str, functions: Iterable[FunctionReport], known: KnownNames = (), own: frozenset[str] = frozenset()
) -> FilePlan:
    """The rewrite room's plan for the functions of one file.

    An explicit call has no decorator to remove: it is somewhere else, and other code may rely on its name.
    """
    changes = tuple(_decorator_change(function) for function in functions if not _is_call(function))
    return FilePlan(Path(path), changes, known, own)


def _is_call(function: FunctionReport) -> bool:
    return function.facts.hybridization is not None and not function.facts.hybridization.is_decorator


def _plan_file(
    root: Path, plan: FilePlan, functions: list[FunctionReport], repaired: bytes | None, given: bytes | None
) -> FileChanges:
    path = plan.path.as_posix()
    refused = [Change(f, Outcome.REFUSED, _call_reason(f)) for f in functions if _is_call(f)]
    rest = [function for function in functions if not _is_call(function)]
    try:
        source = (root / path).read_bytes() if given is None else given
    except OSError as error:
        return _refuse_all(path, functions, f"cannot be read: {(error.strerror or str(error)).lower()}")
    result = plan_file(plan, source if repaired is None else repaired)
    if repaired is not None:
        result = replace(result, original=source, edits=edits_between(source, result.new))
    reasons: dict[tuple[int, int], str] = {(change.line, change.column): why for change, why in result.dropped}
    same = {(change.line, change.column) for change in result.unchanged}
    changes = [*refused]
    for function in rest:
        key = (function.facts.line, function.facts.column)
        if key in reasons:
            changes.append(Change(function, Outcome.REFUSED, reasons[key]))
        else:
            changes.append(Change(function, Outcome.UNCHANGED if key in same else Outcome.DONE))
    changes.sort(key=lambda change: change.function.facts.line)
    return FileChanges(path, tuple(changes), result)


def _write_file(file: FileChanges, root: Path) -> FileChanges:
    if file.result is None or not file.result.changed:
        return file
    (outcome,) = apply([file.result], root=root)
    if outcome.error is None:
        return file
    changes = (
        Change(c.function, Outcome.REFUSED, outcome.error, c.line) if c.outcome is Outcome.DONE else c
        for c in file.changes
    )
    return FileChanges(file.path, tuple(changes), file.result, outcome.error)


def _refuse_all(path: str, functions: Iterable[FunctionReport], reason: str) -> FileChanges:
    return FileChanges(path, tuple(Change(f, Outcome.REFUSED, reason) for f in functions), None, reason)


def _decorator_change(function: FunctionReport) -> DecoratorChange:
    facts, decision = function.facts, function.decision
    decorator = facts.hybridization if facts.hybridization and facts.hybridization.is_decorator else None
    return DecoratorChange(
        path=Path(facts.path),
        line=facts.line,
        column=facts.column,
        qualname=facts.qualname.partition("#")[0].replace(".<locals>", ""),
        action=_EDITS[decision.action],
        dialect=TENSORFLOW,
        arguments=decision.arguments,
        decorator_line=decorator.line if decorator else None,
    )


def _call_reason(function: FunctionReport) -> str:
    hybridization = function.facts.hybridization
    line = hybridization.line if hybridization else function.facts.line
    return f"made hybrid by a call of `tf.function` on line {line}, which is left to you"
