"""What the commands that run user code share: which program, with which conversions, under which interpreter."""

from __future__ import annotations

import argparse
import ast
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridize.cli.changes import Outcome, plan_fixes
from hybridize.cli.errors import UsageError
from hybridize.decide.model import Action, Decision, FunctionReport, Report
from hybridize.facts.model import Mode
from hybridize.records import dataclass, replace
from hybridize.rewrite import FileResult
from hybridize.runtime.launch import Target
from hybridize.runtime.sources import MemoryFile, Watched, memory_file

#: The rule that knows callers who compare a function's result by identity.
_IDENTITY = "HY351"
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def target_of(args: argparse.Namespace) -> Target:
    """The program that is meant; raises UsageError if none is, or it isn't there."""
    chosen = [name for name in ("program", "module", "pytest") if getattr(args, name) not in (None, [])]
    if args.pytest == []:
        chosen.append("pytest")
    if len(chosen) != 1:
        raise UsageError("name one program: SCRIPT, -m MODULE or --pytest ARGUMENTS")
    prefix = {"program": [], "module": ["-m"], "pytest": ["--pytest"]}[chosen[0]]
    return target_in([*prefix, *getattr(args, chosen[0])])


def target_in(words: Sequence[str]) -> Target:
    """The program in `SCRIPT ...`, `-m MODULE ...` or `--pytest ...`; raises UsageError if there is none."""
    first, *rest = words or [""]
    if first == "--pytest":
        return Target.module("pytest", rest)
    if first == "-m" and rest:
        return Target.module(rest[0], rest[1:])
    return script_in(words, "SCRIPT, -m MODULE or --pytest ARGUMENTS")


def script_in(words: Sequence[str], forms: str) -> Target:
    """The script in `SCRIPT ...`; raises UsageError with the `forms` that the command takes if there is none."""
    first, *rest = words or [""]
    if first == "--":
        first, *rest = rest or [""]
    if not first or first.startswith("-"):
        said = f"unknown option {first}: what belongs to the program comes after it" if first else "name a program"
        raise UsageError(f"{said} ({forms})")
    if not os.path.exists(first):
        raise UsageError(f"no such file: {first}")
    return Target.script(first, rest)


def paths_of(args: argparse.Namespace, target: Target) -> list[str]:
    """What is analyzed: as said, else the current folder if the program is in it, else the script's folder."""
    if args.project:
        return list(args.project)
    if target.kind == "script":
        script = Path(target.name).resolve()
        if Path.cwd() not in script.parents:
            return [str(script.parent)]
    return ["."]


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
        return [
            {
                "id": f.facts.id,
                "path": f.facts.path,
                "line": f.facts.line,
                "qualname": f.facts.qualname,
                "reverse": f.decision.action is Action.CONVERT_TO_EAGER,
                "identity": any(s.code == _IDENTITY for s in f.statuses),
            }
            for f in self.functions
        ]


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
