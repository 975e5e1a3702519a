"""`hybridize fix --verify-with COMMAND`: what breaks the project's tests is taken back, and no file is ever lost."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridize.cli import main
from hybridize.rewrite.journal import NAME
from hybridize.runtime.keeper import descendants

from .fake_api import FakeApi, install
from .test_fix import report_on

SOURCES = Path(__file__).parents[2] / "src"
PYTHON = shlex.quote(sys.executable)
CHECK = f"{PYTHON} check"
NAMES = "abcdef"
PROGRAM = "import tensorflow as tf\n" + "".join(f"\n\ndef {name}(x):\n    return x\n" for name in NAMES)
# The tests: what is hybrid now, and how often they have run.
SUITE = """\
import os, pathlib, re, sys, time
text = pathlib.Path("lib.py").read_text()
hybrid = set(re.findall(r"@tf.function\\ndef (\\w)", text))
runs = pathlib.Path("runs")
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
turn = len(runs.read_text())
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "lib.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # what is kept there for the user
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.fixture
def api(project: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    return install(monkeypatch, lambda: report_on(project))


@pytest.fixture
def fix(api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs the command with tests that end as `check` says: exit code, output, and what went to stderr."""

    def run(check: str, *words: str) -> tuple[int, str, str]:
        (project / "check").write_text(SUITE + check, encoding="utf-8")
        code = main(["fix", "--verify-with", CHECK, *words])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


def hybrid(project: Path) -> str:
    """The functions that are hybrid now."""
    lines = (project / "lib.py").read_text().splitlines()
    return "".join(line[4] for before, line in itertools.pairwise(lines) if before == "@tf.function")


Fix = Callable[..., tuple[int, str, str]]


def test_what_breaks_the_tests_is_taken_back_and_the_rest_is_kept(fix: Fix, project: Path) -> None:
    code, out, err = fix("if 'c' in hybrid: sys.exit('TypeError: no graph')\n")
    assert (code, hybrid(project)) == (1, "abdef")
    assert "    12  not changed  c: taken back: breaks the command: exit code 1: TypeError: no graph\n" in out
    assert "5 functions changed in 1 file, 1 not changed\nthe command passes as before (" in out
    assert "hybridize: tests: run 2, with 6 changes: exit code 1 (" in err
    assert sorted(os.listdir(project)) == ["check", "lib.py", "runs"]


def test_where_the_tests_agree_everything_is_kept(fix: Fix, project: Path) -> None:
    code, out, _ = fix("", "--only", "a,b", "--quiet")
    assert (code, hybrid(project), out) == (0, "ab", "")


def test_independent_culprits_and_a_pair(fix: Fix, project: Path) -> None:
    code, _, _ = fix("sys.exit('a' in hybrid or 'e' in hybrid or {'b', 'd'} <= hybrid)\n")
    assert (code, hybrid(project)) == (1, "bcf")


def test_a_crash_and_a_test_without_end(fix: Fix, project: Path) -> None:
    crash = "import signal\nif 'b' in hybrid: os.kill(os.getpid(), signal.SIGSEGV)\n"
    code, out, _ = fix(crash + "if 'e' in hybrid: time.sleep(600)\n", "--verify-timeout", "2")
    assert (code, hybrid(project)) == (1, "acdf")
    assert "b: taken back: breaks the command: killed by SIGSEGV" in out
    assert "e: taken back: breaks the command: no end after 2 s" in out


def test_tests_that_fail_without_any_change_change_nothing(fix: Fix, project: Path) -> None:
    code, out, err = fix("sys.exit('no luck')\n")
    assert (code, out, hybrid(project)) == (2, "", "")
    assert err.endswith(f"error: `{CHECK}` fails without any change (exit code 1: no luck): nothing is changed\n")


def test_a_command_that_fails_now_and_then_judges_nothing(fix: Fix, project: Path) -> None:
    code, _, err = fix("sys.exit(turn in (2, 4))\n")
    assert (code, hybrid(project)) == (2, "")
    assert "passes and fails without any change: nothing is changed" in err


def test_the_limit_of_runs_is_kept_and_told(fix: Fix, project: Path) -> None:
    code, out, _ = fix("sys.exit('f' in hybrid)\n", "--verify-runs", "5")
    assert (code, hybrid(project)) == (1, "abc")
    assert "f: taken back: which change breaks the tests was not found within 5 runs\n" in out


def test_a_file_that_is_edited_meanwhile_is_never_overwritten(fix: Fix, project: Path) -> None:
    (project / "more.py").write_text("import tensorflow as tf\n\n\ndef g(x):\n    return x\n")
    edit = "if turn == 2: pathlib.Path('lib.py').write_text('mine = 1\\n'); sys.exit(1)\n"
    code, _, err = fix(edit)
    assert code == 2
    assert (project / "lib.py").read_text() == "mine = 1\n"
    assert "tf.function" not in (project / "more.py").read_text()
    assert "lib.py: not put back: it was edited meanwhile; its original is " in err
    original = err.partition("its original is ")[2].splitlines()[0]
    assert Path(original).read_text() == PROGRAM
    assert "lib.py: not written: the file has changed since it was analyzed" in err


def test_an_edit_that_is_in_nobodys_way_is_told(fix: Fix, project: Path) -> None:
    edit = "if turn == 2: pathlib.Path('lib.py').write_text(text + '# mine\\n')\n"
    code, _, err = fix(edit)
    assert (code, hybrid(project)) == (0, NAMES)
    assert (project / "lib.py").read_text().endswith("# mine\n")
    assert "lib.py: edited while the tests ran" in err


def test_a_read_only_file_is_left_and_the_rest_is_tried(fix: Fix, project: Path) -> None:
    (project / "more.py").write_text("import tensorflow as tf\n\n\ndef g(x):\n    return x\n")
    os.chmod(project / "more.py", 0o444)
    code, out, _ = fix("sys.exit('a' in hybrid)\n")
    assert (code, hybrid(project)) == (1, "bcdef")
    assert "not changed  g: not written: the file is read-only" in out


def test_json(fix: Fix, project: Path) -> None:
    code, out, _ = fix("sys.exit('c' in hybrid)\n", "--output-format", "json")
    assert code == 1
    data = json.loads(out)
    tests = data["tests"]
    assert {key: tests[key] for key in tests if key not in ("seconds", "runs")} == {
        "command": CHECK,
        "by_test": False,
        "limit_reached": False,
        "passed_before": 1,
        "failed_before": [],
        "passed": 1,
        "taken_back": [{"function": "lib:c", "tests": [""], "message": "exit code 1"}],
        "flaky": [],
        "slower": None,
    }
    (taken,) = [change for change in data["files"][0]["changes"] if change["outcome"] == "refused"]
    assert (taken["function"], taken["reason"]) == ("lib:c", "taken back: breaks the command: exit code 1")


def test_pytest_tells_each_test(api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "checks").mkdir()
    (project / "checks" / "test_lib.py").write_text(
        "import pathlib, pytest\n"
        "TEXT = pathlib.Path('lib.py').read_text()\n"
        "def test_a(): assert '@tf.function\\ndef a' not in TEXT, 'no a'\n"
        "def test_b(): assert '@tf.function\\ndef b' not in TEXT, 'no b'\n"
        "def test_good(): pass\n"
        "def test_failing(): assert False\n"
    )
    command = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {PYTHON} -m pytest -q checks"
    assert main(["fix", "--verify-with", command]) == 1
    output = capsys.readouterr()
    assert hybrid(project) == "cdef"
    assert "a: taken back: breaks checks/test_lib.py::test_a: AssertionError: no a\n" in output.out
    assert "b: taken back: breaks checks/test_lib.py::test_b: AssertionError: no b\n" in output.out
    assert "\n3 tests pass, 1 that failed before the changes does not count (" in output.out
    assert ", 2 tests again: " in output.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--verify-with", "pytest", "--diff"], "does not go with --diff"),
        (["--verify-with", "pytest", "--verify", "train.py"], "do not go together"),
        (["--verify-with", ""], "no command"),
        (["--verify-with", "pytest 'x"], "no closing quotation"),
        (["--verify-with", "no-such-tool"], "no-such-tool: No such file or directory: nothing is changed"),
        (["--verify-with", "pytest", "--verify-runs", "1"], "2 or more"),
        (["--verify-with", "pytest", "--verify-timeout", "0"], "above 0"),
        (["--verify-runs", "9"], "needs --verify-with"),
        (["--verify-timeout", "9"], "needs --verify-with"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_one_line(
    api: FakeApi, project: Path, capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    assert main(["fix", "--quiet", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert why in line
    assert (project / "lib.py").read_text() == PROGRAM
    assert os.listdir(project) == ["lib.py"]


def test_without_anything_to_change_nothing_runs(
    monkeypatch: pytest.MonkeyPatch, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "lib.py").write_text("x = 1\n")
    install(monkeypatch, lambda: report_on(project))
    assert main(["fix", "--verify-with", "no-such-tool"]) == 0
    assert capsys.readouterr().out == "nothing to change\n"


# The whole command as a process of its own, for what comes to it from outside.

TRAIN = """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])


def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


for _ in range(10):
    train_step(tf.ones([4, 2]), tf.ones([4, 1]))
"""
WAITS = """\
import os, pathlib, sys, time
if "@tf.function" in pathlib.Path("lib.py").read_text():
    pathlib.Path("started.part").write_text(str(os.getpid()))
    os.rename("started.part", "started")
    time.sleep(600)
"""


@pytest.fixture
def process(project: Path) -> subprocess.Popen[str]:
    """A run that waits for its tests, with the change made."""
    (project / "lib.py").write_text(TRAIN, encoding="utf-8")
    (project / "check").write_text(WAITS, encoding="utf-8")
    words = [sys.executable, "-m", "hybridize", "fix", "--isolated", "--verify-with", CHECK]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell in the background ignores it, and so would the run
    try:
        started = subprocess.Popen(words, env=environment, text=True, **pipes)
    finally:
        signal.signal(signal.SIGINT, before)
    for _ in range(600):
        if (project / "started").exists() or started.poll() is not None:
            break
        time.sleep(0.05)
    assert "@tf.function" in (project / "lib.py").read_text()
    return started


def ended(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_puts_the_files_back(
    project: Path, process: subprocess.Popen[str], number: signal.Signals, code: int
) -> None:
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert (project / "lib.py").read_text() == TRAIN
    assert err.endswith("hybridize: note: interrupted: all files are as they were\n")
    assert not (project / NAME).exists()
    assert ended(int((project / "started").read_text()))


def test_after_a_kill_the_files_are_put_back(
    project: Path, process: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix"]) == 2
    assert "another run of `fix --verify-with` is at work here" in capsys.readouterr().err
    before = {path.name for path in project.iterdir()} - {NAME}
    process.kill()
    process.communicate()
    assert ended(int((project / "started").read_text()))
    assert wait_for(lambda: not (project / NAME).exists())
    assert (project / "lib.py").read_text() == TRAIN
    assert {path.name for path in project.iterdir()} == before


def wait_for(holds: Callable[[], bool]) -> bool:
    """Whether something comes true within two seconds."""
    limit = time.monotonic() + 2
    while not holds() and time.monotonic() < limit:
        time.sleep(0.02)
    return holds()


def test_where_the_whole_machine_stopped_the_next_fix_puts_the_files_back(
    project: Path, process: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for pid in descendants(top=process.pid):  # so that nobody is left to do it at once
        if b"guard.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate()
    assert ended(int((project / "started").read_text()))
    assert main(["fix", "--diff"]) == 2
    assert "a run that was cut off has left files changed; `fix` puts them back" in capsys.readouterr().err
    assert main(["fix", "--select", "P2"]) == 0
    assert "lib.py: put back: a run that was cut off had left it changed" in capsys.readouterr().err
    assert (project / "lib.py").read_text() == TRAIN
    assert not (project / NAME).exists()


REPAIRED = TRAIN.replace("    return loss\n", '    print(f"loss {loss:.4f}")\n    return loss\n')


def test_a_repair_goes_with_the_conversion_that_needs_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = "\n\ndef evaluate(x):\n    for _ in range(30):\n        x = tf.tanh(tf.matmul(x, w @ tf.transpose(w)))\n"
    second += "    return x\n"
    text = REPAIRED.replace("\n\nfor _", f"{second}\n\nfor _").replace("range(10)", "range(10000)")
    text += "for _ in range(1000):\n    evaluate(tf.ones([4, 2]))\n"
    (project / "lib.py").write_text(text)
    (project / "check").write_text("exit('tf.print' in open('lib.py').read())\n")
    assert main(["fix", "--unsafe-fixes", "--verify-with", CHECK]) == 1
    assert (project / "lib.py").read_text() == text.replace("def evaluate", "@tf.function\ndef evaluate")
    out = capsys.readouterr().out
    assert "train_step: taken back: breaks the command: exit code 1" in out
    assert "HY801 print-to-tf-print: `print` becomes" not in out


def test_the_readmes_command_works_as_it_stands(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = re.findall(r"`hybridize (fix --verify-with .*?)`", (SOURCES.parent / "README.md").read_text())
    install(monkeypatch, lambda: report_on(project))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (project / "test_it.py").write_text("class TestIt:\n    def test_it(self):\n        pass\n")
    assert main([*shlex.split(found), "--only", "lib.py"]) == 0
    assert "1 test passes (2 runs of `pytest -q` in" in capsys.readouterr().out
    assert hybrid(project) == NAMES


def test_the_page_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--help"]) == 0
    options = set(re.findall(r"--verify-\w+", capsys.readouterr().out))
    page = (SOURCES.parent / "docs" / "cli.md").read_text(encoding="utf-8")
    assert len(options) == 3
    assert all(f"`{option} " in page for option in options)
