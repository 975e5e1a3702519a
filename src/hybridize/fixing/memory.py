"""Planned changes as files in memory: what `verify` and `bench` run in place of those on disk."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridize.decide.model import Action, Decision, FunctionReport, Report
from hybridize.facts.model import Mode
from hybridize.fixing.changes import Outcome, plan_fixes
from hybridize.records import dataclass, replace
from hybridize.rewrite import FileResult
from hybridize.runtime.rewritten import MemoryFile, Watched, memory_file, original_file

#: The rule that knows callers who compare a function's result by identity.
_IDENTITY = "HY351"
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def _described(function: FunctionReport) -> dict[str, object]:
    """A function for the child."""
    facts = function.facts
    return {
        "id": facts.id,
        "path": facts.path,
        "line": facts.line,
        "qualname": facts.qualname,
        "reverse": function.decision.action is Action.CONVERT_TO_EAGER,
    }


@dataclass(frozen=True, slots=True)
class Conversions:
    """The planned conversions of a project, as the rewrite room would write them.

    `functions` are those that are converted, in the order of the numbers by which the child knows them; `files` what
    the child gets in place of the files, `refused` the others with their reasons.
    """

    functions: tuple[FunctionReport, ...]
    files: tuple[MemoryFile, ...]
    refused: tuple[tuple[FunctionReport, str], ...]

    def described(self) -> list[dict[str, object]]:
        """The functions for the child."""
        return [{**_described(f), "identity": any(s.code == _IDENTITY for s in f.statuses)} for f in self.functions]


def conversions(
    report: Report, functions: Sequence[FunctionReport], contents: Mapping[str, bytes] | None = None
) -> Conversions:
    """The edits for the decisions on some functions, verified, with the functions watched.

    `contents` are the files that repairs have changed already: the report speaks of these. Where a conversion takes a
    decorator away, it stays in the child's file, so that both forms can be compared.
    """
    root = Path(report.project.root)
    repaired = {path: data for path, data in (contents or {}).items() if not path.endswith(".ipynb")}
    functions = [f for f in functions if not f.facts.path.endswith(".ipynb")]
    planned = plan_fixes(report, functions, repaired)
    changes = [change for file in planned for change in file.changes]
    done = [c.function for c in changes if c.outcome is Outcome.DONE]
    watched: dict[str, list[Watched]] = {}
    for number, function in enumerate(done):
        facts = function.facts
        made = facts.hybridization if function.decision.action is Action.CONVERT_TO_EAGER else None
        watched.setdefault(facts.path, []).append(Watched(number, facts.line, made.line if made else None))
    kept = [f for f in done if f.decision.action is not Action.CONVERT_TO_EAGER]
    results = {file.path: file.result for file in plan_fixes(report, kept, repaired) if file.result is not None}
    files = []
    for path in dict.fromkeys((*watched, *results)):
        source = (root / path).read_bytes()
        result = results.get(path) or FileResult(Path(path), source, source, (), (), (), ())
        files.append(memory_file(root, result, watched.get(path, ()), repaired.get(path)))
    refused = tuple((c.function, c.reason or "") for c in changes if c.outcome is Outcome.REFUSED)
    return Conversions(tuple(done), tuple(files), refused)


def chosen(report: Report) -> list[FunctionReport]:
    """The functions that `fix` would change."""
    return [f for f in report.functions if f.decision.action is not Action.KEEP]


def everything(report: Report) -> list[FunctionReport]:
    """Every eager function that can carry the decorator, as if its preconditions held.

    Without the program's start: a graph of the whole program tells nothing of any of its parts.
    """
    decision = Decision(Action.CONVERT_TO_HYBRID)
    found: list[FunctionReport] = []
    known: dict[str, tuple[dict[int, Definition], frozenset[str]]] = {}
    for function in report.functions:
        facts = function.facts
        if facts.mode is not Mode.EAGER or facts.path.endswith(".ipynb"):
            continue
        if facts.path not in known:
            known[facts.path] = _definitions(Path(report.project.root) / facts.path)
        definitions, starts = known[facts.path]
        node = definitions.get(facts.line)
        if node is None or not _can_be_hybrid(node):
            continue
        if function.decision.action is Action.CONVERT_TO_HYBRID:
            found.append(function)
        elif facts.parameters or facts.qualname not in starts:
            found.append(replace(function, decision=decision))
    return found


def _definitions(path: Path) -> tuple[dict[int, Definition], frozenset[str]]:
    """The functions of a file by the line of `def`, and the names of those that a run of it as a script starts with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            return {}, frozenset()
    functions = {n.lineno: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    starts = [n for n in tree.body if isinstance(n, ast.If) and "__name__" in ast.dump(n.test)]
    calls = [n.func for start in starts for n in ast.walk(start) if isinstance(n, ast.Call)]
    return functions, frozenset({"main", *(f.id for f in calls if isinstance(f, ast.Name))})


def _can_be_hybrid(node: Definition) -> bool:
    """Not a special method other than `__call__`: Python calls these in its own ways."""
    return not (node.name.startswith("__") and node.name.endswith("__")) or node.name == "__call__"


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
        return tuple(map(_described, self.functions))


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
    on_disk = {f.facts.id: f.facts.line if lines is None else lines.get(f.facts.id) for f in done}
    watched: dict[str, list[Watched]] = {}
    made: dict[str, list[Watched]] = {}  # these have no other side
    decorators: dict[int, int | None] = {}  # those on disk that are taken away
    for number, function in enumerate(done):
        line = on_disk[function.facts.id]
        if line is None:
            made.setdefault(function.facts.path, []).append(
                Watched(number, 0, made=function.facts.qualname.rpartition(".")[2])
            )
            continue
        watched.setdefault(function.facts.path, []).append(Watched(number, line))
        by = function.facts.hybridization if function.decision.action is Action.CONVERT_TO_EAGER else None
        decorators[number] = by.line + line - function.facts.line if by else None
    root = Path(report.project.root)
    after = [
        memory_file(
            root,
            _as_on_disk(file.result, file.path, done, on_disk),
            [*watched.get(file.path, ()), *made.get(file.path, ())],
        )
        for file in planned
        if file.result is not None and file.result.changed
    ]
    before = [
        original_file(root / path, [replace(each, decorator=decorators[each.number]) for each in entries])
        for path, entries in watched.items()
    ]
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
