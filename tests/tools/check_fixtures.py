"""Checks the expectations of the fixtures against TensorFlow: run it with a Python that has TensorFlow (2.15 or newer).

    python tests/tools/check_fixtures.py [NAME ...]

For each fixture whose name contains NAME: the program runs without an error; the recorded arguments are those that the
expectation states; and with the changes of the expected actions made (decorator added or removed) it prints the same.
The pytest fixtures need pytest. One process per run, forked from one that has imported TensorFlow and executed no op.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from record_types import functions_of, record  # noqa: E402

from support import Expectation, load_expectations  # noqa: E402


def in_child(task: Callable[[], Any]) -> Any:
    """The (JSON) result of `task` in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            with os.fdopen(write, "w") as pipe:
                json.dump(task(), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"functions": {}, "output": "", "error": "the process died"}


def apply_actions(expectation: Expectation, project: Path) -> bool:
    """Make the expected changes in a copy of the program; False if there are none."""
    places = {key: (path, first, line) for (path, first), (key, line, _) in functions_of(project).items()}
    edits: dict[str, list[tuple[int, bool]]] = {}
    for key, expected in expectation.functions.items():
        if expected.get("action") in ("convert_to_hybrid", "convert_to_eager"):
            path, first, line = places[key]
            adding = expected["action"] == "convert_to_hybrid"
            edits.setdefault(path, []).append((line if adding else first, adding))
    for path, places_in_file in edits.items():
        lines = Path(path).read_text(encoding="utf-8").split("\n")
        for line, adding in sorted(places_in_file, reverse=True):
            indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
            if adding:
                lines.insert(line - 1, indent + "@__import__('tensorflow').function")
            else:
                assert lines[line - 1].lstrip().startswith("@"), lines[line - 1]
                del lines[line - 1]
        Path(path).write_text("\n".join(lines), encoding="utf-8")
    return bool(edits)


def literal(text: str) -> str:
    """One spelling for each literal."""
    return repr(ast.literal_eval(text))


def check_arguments(expectation: Expectation, recorded: dict[str, Any]) -> list[str]:
    """Where the expectation about parameters differs from what was recorded."""
    found = []
    for key, expected in expectation.functions.items():
        function = recorded.get(key)
        if function is None:
            if any(value == "yes" for value in expected.get("tensor", {}).values()) and expected.get("reached", True):
                found.append(f"{key} is never called")
            continue
        if expected.get("reached") is False:
            found.append(f"{key} is called, but stated as unreached")
        for name, value in expected.get("tensor", {}).items():
            seen = function["parameters"].get(name, {}).get("tensor")
            if seen is not (value == "yes"):
                found.append(f"{key}: tensor.{name} stated {value}, recorded {seen}")
        for name, types in expected.get("types", {}).items():
            recorded_types = function["parameters"][name]["types"]
            values = [item for item in recorded_types if not item["symbolic"]] or recorded_types
            seen_types = sorted([t["kind"], t["dtype"], [-1 if d is None else d for d in t["shape"]]] for t in values)
            if seen_types != sorted(types):
                found.append(f"{key}: types.{name} stated {types}, recorded {seen_types}")
        for name, literals in expected.get("literals", {}).items():
            seen_literals = sorted(map(literal, function["parameters"][name]["literals"]))
            if seen_literals != sorted(map(literal, literals)):
                found.append(f"{key}: literals.{name} stated {literals}, recorded {seen_literals}")
    return found


def check(expectation: Expectation) -> list[str]:
    """Everything that is wrong with one fixture."""
    missing = [key for key in expectation.functions if key not in {k for k, _, _ in _keys(expectation.project)}]
    problems = [f"no such function: {key}" for key in missing]
    command = list(expectation.run)
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder).resolve() / "before", Path(folder).resolve() / "after"
        for copy in (before, after):
            shutil.copytree(expectation.project, copy, ignore=shutil.ignore_patterns("__pycache__"))
        recorded = in_child(lambda: record(before, command))
        if recorded["error"]:
            return [*problems, recorded["error"]]
        problems += check_arguments(expectation, recorded["functions"])
        plain = in_child(lambda: record(before, command, graphs=True))
        if plain["error"]:
            problems.append(f"with graphs on: {plain['error']}")
        if not missing and apply_actions(expectation, after):
            changed = in_child(lambda: record(after, command, graphs=True))
            if changed["error"] or timeless(changed["output"]) != timeless(plain["output"]):
                problems.append(f"changed: {plain['output']!r} -> {changed['output']!r} {changed['error'] or ''}")
    return problems


def timeless(output: str) -> str:
    """The output without what test runners say of the time."""
    return re.sub(r"in [0-9.]+s", "", output)


def _keys(project: Path) -> list[tuple[str, int, bool]]:
    return list(functions_of(project.resolve()).values())


def main(names: list[str]) -> int:
    """Check the fixtures; the number of bad ones decides the exit code."""
    import tensorflow as tf

    bad = count = 0
    for expectation in load_expectations():
        if names and not any(name in expectation.name for name in names):
            continue
        if not tf.__version__.startswith(expectation.only_when):
            continue
        start, problems = time.time(), check(expectation)
        count += 1
        bad += bool(problems)
        if problems:
            print(f"{expectation.name} ({time.time() - start:.1f} s)", *problems, sep="\n    ", flush=True)
    print(f"TensorFlow {tf.__version__}: {count} fixtures, {bad} bad")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
