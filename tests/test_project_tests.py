"""`scripts/project_tests.py` on a tiny project with a tiny tool of our own: what broke, and whom it blames."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import project_blame
import project_corpus
import project_runs
import project_tests

LIBRARY = """
    import sys, types

    class Function:
        def __init__(self, function):
            self._python_function, self.traces = function, 0

        def experimental_get_tracing_count(self):
            return self.traces

        def __call__(self, x):
            self.traces = 1
            return "symbolic" if self._python_function.__name__ == "second" else self._python_function(x)

    eager = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
    sys.modules[eager] = types.SimpleNamespace(Function=Function)

    def traced(function):
        return Function(function)

    def first(x):
        return x + 1

    def second(x):
        return x + 2

    def third(x):
        return x + 3
"""
TESTS = """
    import pytest
    from library import first, second, third

    def test_first():
        assert first(1) == 2

    @pytest.mark.parametrize("x", [1, 2])
    def test_second(x):
        assert second(x) == x + 2

    def test_third():
        assert third(1) == 4

    def test_was_broken():
        assert second(1) == 0
"""
# Decorates all functions from `first` on, or those of `--only FILE:LINE`; says so as `hybridize fix` does.
TOOL = """
    import json, pathlib, sys

    args = sys.argv[1:]
    only = [args[i + 1] for i, arg in enumerate(args) if arg == "--only"]
    path, changes, lines = pathlib.Path("library.py"), [], []
    for number, line in enumerate(path.read_text().split("\\n"), 1):
        if line.startswith("def ") and "traced" not in line and (not only or f"library.py:{number}" in only):
            lines.append("@traced")
            function = "library:" + line[4:].split("(")[0]
            changes.append(
                {"function": function, "line": number, "action": "convert_to_hybrid", "outcome": "done"}
            )
        lines.append(line)
    path.write_text("\\n".join(lines))
    report = {"files": [{"path": "library.py", "changes": changes}], "repairs": []}
    pathlib.Path(args[args.index("--output-file") + 1]).write_text(json.dumps(report))
"""


@pytest.fixture
def home(tmp_path: Path) -> project_corpus.Home:
    """A home with the project's clone, an interpreter for it, and the tool."""
    files = {"src/tiny/library.py": LIBRARY, "src/tiny/test_library.py": TESTS}
    files |= {"tool/src/hybridize/__init__.py": "", "tool/src/hybridize/__main__.py": TOOL}
    files["env/tiny/bin/python"] = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    files["corpus.toml"] = """
        [environment.none]
        python = "python3"
        packages = []

        [[project]]
        name = "tiny"
        repository = "someone/tiny"
        commit = "0"
        tensorflow = "none"
        variables = { PYTEST_DISABLE_PLUGIN_AUTOLOAD = "1" }
    """
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(dedent(text).lstrip())
    (tmp_path / "env/tiny/bin/python").chmod(0o755)
    return project_corpus.Home(tmp_path)


def call(home: project_corpus.Home, *arguments: str) -> int:
    return project_tests.main(["--home", str(home.root), "--corpus", str(home.root / "corpus.toml"), *arguments])


@pytest.mark.slow
def test_finds_what_broke_and_whom_to_blame(home: project_corpus.Home, capsys: pytest.CaptureFixture[str]) -> None:
    tool = ["--tool", str(home.root / "tool"), "--label", "x"]
    assert call(home, "run", *tool) == 0
    said = capsys.readouterr().out
    assert "5 tests, 3 changes, 2 newly failing" in said
    assert "5 calls of 3 graphs with 3 traces of 0.0 s" in said
    assert call(home, "bisect", "tiny", *tool) == 0
    assert "library:second: test_library.py::test_second[1]" in capsys.readouterr().out
    result = json.loads((home.root / "results/x/tiny.default.json").read_text())
    assert sorted(result["newly_failing"]) == ["test_library.py::test_second[1]", "test_library.py::test_second[2]"]
    assert (result["failing_before"], result["reached"]) == (1, 3)
    assert [name.partition("::")[2] for name in result["reaching"]] == [
        "test_first",
        "test_second[1]",
        "test_second[2]",
        "test_third",
    ]
    assert call(home, "table") == 0
    assert "| tiny | 5 | 1 | 3 | 0 | 0 | 2 | 0 |" in capsys.readouterr().out


def test_the_budget_ends_the_first_run_and_the_second_runs_the_same_tests(home: project_corpus.Home) -> None:
    project = project_corpus.load(home.root / "corpus.toml").projects["tiny"]
    limits = project_runs.Limits(budget=1e-9)
    before = project_runs.baseline(home, project, limits)
    assert list(before.tests) == ["test_library.py::test_first"]
    root = project_corpus.fresh_copy(home, project, "again")
    assert list(project_runs.run_tests(home, project, root, limits, like=before).tests) == list(before.tests)


def test_changes_that_only_break_together_are_found_together() -> None:
    def failing(changes: object, tests: object) -> set[str]:
        bad = {"alone": {"c"}, "both": {"a", "f"}}
        return {name for name in tests if bad[name] <= set(changes)}  # type: ignore[attr-defined, call-overload]

    found = project_blame.bisect("a b c d e f".split(), ["alone", "both"], failing)
    assert {each.changes: each.tests for each in found} == {("c",): ("alone",), ("a", "f"): ("both",)}


def test_a_test_that_ends_the_process_is_recorded(tmp_path: Path) -> None:
    record = tmp_path / "record"
    record.write_text('{"start": "a"}\n{"id": "a", "outcome": "passed"}\n{"start": "b"}\n{"id": "b", "outc')
    assert {name: test.outcome for name, test in project_runs.read_record(record).tests.items()} == {
        "a": "passed",
        "b": "crashed",
    }


def test_nothing_outlives_the_limit(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = f"sleep 60 & echo $! > {note}; wait"
    assert project_runs.guarded(["sh", "-c", program], tmp_path, os.environ, 0.3, tmp_path / "log") is None
    for _ in range(50):
        status = Path(f"/proc/{note.read_text().strip()}/status")
        if not status.exists() or "zombie" in status.read_text():
            return
        time.sleep(0.02)
    pytest.fail("the process's child still runs")


def test_the_corpus_is_well_formed() -> None:
    corpus = project_corpus.load()
    assert len(corpus.projects) >= 30
    for project in corpus.projects.values():
        assert len(project.commit) == 40, project.name
        assert all(project.deselected.values()), project.name
