"""What `fix` would change for each function by itself, as diffs to look at; nothing is tried out or written."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hybridize.decide.model import Report
from hybridize.fixing.changes import file_plan
from hybridize.fixing.planner import to_change
from hybridize.report.hints import promising
from hybridize.rewrite import FileResult, plan_file, unified_diff
from hybridize.rewrite.compose import each_alone, edits_between


def previews(report: Report) -> dict[str, str]:
    """By the id of a function, the unified diff of its change, or of the repairs that may make it fit for a graph.

    Repairs of code outside of functions are there by their place, `path:line`. A function without a diff is not there:
    it stays as it is, or its file cannot be read or parsed any more.
    """
    root = Path(report.project.root)

    @cache
    def read(path: str) -> bytes:
        return (root / path).read_bytes()

    functions = {function.facts.id for function in report.functions}
    found = {
        bundle.function if bundle.function in functions else f"{bundle.path}:{bundle.line}": "".join(
            _diff(path, read(path), new) for path, new in files.items()
        )
        for bundle, files in each_alone(promising(report), read)
    }
    for function in to_change(report):
        try:
            source = read(function.facts.path)
        except OSError:
            continue
        found[function.facts.id] = unified_diff(plan_file(file_plan(function.facts.path, [function]), source))
    return {function: diff for function, diff in found.items() if diff}


def _diff(path: str, original: bytes, new: bytes) -> str:
    return unified_diff(FileResult(Path(path), original, new, edits_between(original, new), (), (), ()))
