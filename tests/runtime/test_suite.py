"""What is read of a run of tests: each by itself where the command is pytest, the exit code elsewhere."""

from __future__ import annotations

import shlex
import sys
import textwrap
from pathlib import Path

import pytest

from hybridize.runtime.suite import WHOLE, Results, Suite

# Without what else may be installed: it takes seconds to load.
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"


def suite(folder: Path, text: str, command: str = PYTEST, name: str = "test_it.py") -> Suite:
    (folder / name).write_text(textwrap.dedent(text))
    return Suite(command, folder)


def outcomes(results: Results) -> dict[str, str]:
    return {name: test.outcome for name, test in (results.tests or {}).items()}


def test_every_test_has_its_outcome_its_time_and_the_last_line_of_its_exception(tmp_path: Path) -> None:
    tests = suite(
        tmp_path,
        """
        import time, pytest
        class TestIt:
            def test_good(self): time.sleep(0.05)
            @pytest.mark.parametrize("word", ["a b::c", "é"])
            def test_bad(self, word): raise ValueError("in user code:\\n\\n    at line 3\\n    TypeError: no tensor\\n")
        @pytest.fixture
        def broken():
            yield
            raise KeyError("afterwards")
        def test_torn_down(broken): pass
        def test_unequal(): assert 1 == 2
        @pytest.mark.skip
        def test_skipped(): pass
        @pytest.mark.xfail
        def test_expected(): assert False
        """,
    )
    results = tests.run()
    assert outcomes(results) == {
        "test_it.py::TestIt::test_good": "passed",
        "test_it.py::TestIt::test_bad[a b::c]": "failed",
        "test_it.py::TestIt::test_bad[\\xe9]": "failed",
        "test_it.py::test_torn_down": "failed",
        "test_it.py::test_unequal": "failed",
        "test_it.py::test_skipped": "skipped",
        "test_it.py::test_expected": "skipped",
    }
    assert results.ended_well
    messages = [results.message(name) for name in sorted(results.failed)]
    assert messages == ["TypeError: no tensor"] * 2 + ["KeyError: 'afterwards'", "assert 1 == 2"]
    assert results.tests is not None
    assert results.tests["test_it.py::TestIt::test_good"].seconds >= 0.05
    assert "in user code" in results.tests["test_it.py::TestIt::test_bad[a b::c]"].text
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["test_it.py"]

    again = tests.run(only={"test_it.py::TestIt::test_bad[a b::c]", "test_it.py::test_unequal"})
    assert set(outcomes(again)) == {"test_it.py::TestIt::test_bad[a b::c]", "test_it.py::test_unequal"}


def test_files_without_the_tests_asked_for_are_not_imported(tmp_path: Path) -> None:
    tests = suite(tmp_path, "def test_a(): pass")
    suite(tmp_path, "raise RuntimeError('imported')", name="test_other.py")
    (tmp_path / "conftest.py").write_text("import pytest\n@pytest.fixture(autouse=True)\ndef used(): pass\n")
    assert outcomes(tests.run(only={"test_it.py::test_a"})) == {"test_it.py::test_a": "passed"}
    assert tests.run().message("test_other.py") == "RuntimeError: imported"


def test_what_a_crash_leaves_undone_is_told_by_what_was_written_before(tmp_path: Path) -> None:
    tests = suite(
        tmp_path,
        """
        import os, signal
        def test_a(): pass
        def test_b(): os.kill(os.getpid(), signal.SIGKILL)
        def test_c(): pass
        """,
    )
    results = tests.run()
    assert outcomes(results) == {"test_it.py::test_a": "passed", "test_it.py::test_b": "failed"}
    assert results.message("test_it.py::test_b") == "the tests ended in it: killed by SIGKILL"
    assert not results.ended_well


def test_a_test_that_does_not_end_is_the_one_that_fails(tmp_path: Path) -> None:
    tests = suite(tmp_path, "import time\ndef test_a(): pass\ndef test_b(): time.sleep(600)\n")
    results = tests.run(timeout=5)
    assert results.failed == {"test_it.py::test_b"}
    assert "no end after" in results.message("test_it.py::test_b")


def test_a_run_of_pytest_that_a_test_starts_is_the_tests_own_business(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "check_it.py").write_text("def test_inner(): assert False\n")
    tests = suite(
        tmp_path,
        """
        import subprocess, sys
        def test_outer():
            assert subprocess.call([sys.executable, "-m", "pytest", "-q", "inner/check_it.py"]) == 1
        """,
    )
    assert outcomes(tests.run(only={"test_it.py::test_outer"})) == {"test_it.py::test_outer": "passed"}


def test_where_the_command_as_a_whole_fails_that_is_a_failure_too(tmp_path: Path) -> None:
    tests = suite(tmp_path, "def test_a(): pass")
    (tmp_path / "conftest.py").write_text("def pytest_sessionfinish(session): session.exitstatus = 1\n")
    results = tests.run()
    assert (results.passed, results.failed) == ({"test_it.py::test_a"}, {WHOLE})
    (tmp_path / "conftest.py").write_text("raise RuntimeError('broken')\n")
    results = tests.run()  # the first run has told its tests: this one has none
    assert (results.tests, results.failed) == ({}, {WHOLE})


def test_what_keeps_its_environment_to_itself_is_judged_by_its_exit_code(tmp_path: Path) -> None:
    command = f"env -u PYTHONPATH -u PYTEST_ADDOPTS {shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
    tests = suite(tmp_path, "def test_a(): pass", command)
    results = tests.run()
    assert (results.tests, results.passed, tests.by_test) == (None, {WHOLE}, False)


@pytest.mark.parametrize(("code", "good"), [(0, True), (3, False)])
def test_any_other_command_is_judged_by_its_exit_code(tmp_path: Path, code: int, good: bool) -> None:
    command = f"CODE={code} {shlex.quote(sys.executable)} -c 'import os; print(1, 2); exit(int(os.environ[\"CODE\"]))'"
    results = Suite(command, tmp_path).run()
    assert (results.tests, WHOLE in results.passed, WHOLE in results.failed) == (None, good, not good)
    assert results.message(WHOLE) == f"exit code {code}: 1 2"


@pytest.mark.parametrize(("command", "by_test"), [("pytest -q", True), ("tox", False), ("/opt/x/bin/py.test a", True)])
def test_a_command_that_names_pytest_tells_its_tests(command: str, by_test: bool) -> None:
    assert Suite(command, Path()).by_test is by_test


@pytest.mark.parametrize("command", ["", "  ", "A=1", "pytest 'x"])
def test_what_is_no_command_line_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)no "):
        Suite(command, Path())
