"""A command of the user's, and what becomes of it and all that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hybridize.runtime.command import CommandError, run

SOURCES = Path(__file__).parents[2] / "src"
# Starts another process in a session of its own, writes both ids, and waits.
STARTS = (
    "import os, subprocess, sys, time; "
    "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True); "
    "open('ids.part', 'w').write(f'{os.getpid()} {other.pid}'); os.rename('ids.part', 'ids'); time.sleep(600)"
)


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def gone(pid: int) -> bool:
    """Whether a process has ended, or does within a few seconds."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def ids(folder: Path) -> list[int]:
    for _ in range(400):
        if (folder / "ids").exists():
            return [int(word) for word in (folder / "ids").read_text().split()]
        time.sleep(0.05)
    raise AssertionError("the command did not start")


def test_it_runs_in_its_folder_with_its_variables_and_no_input(tmp_path: Path) -> None:
    text = "import os, sys; print(os.getcwd(), os.environ['SEED'], repr(sys.stdin.read())); sys.exit(3)"
    ran = run(python(text), tmp_path, {"SEED": "7"})
    assert (ran.code, ran.tail) == (3, f"{tmp_path} 7 ''\n")


def test_a_signal_that_ends_it_is_its_code(tmp_path: Path) -> None:
    ran = run(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), tmp_path, {})
    assert ran.code == -signal.SIGSEGV


def test_what_is_no_command_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"^no-such-tool: No such file"):
        run(["no-such-tool", "x"], tmp_path, {})


def test_it_may_be_ended_by_signals_as_ever(tmp_path: Path) -> None:
    shown = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, "
    shown += "signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)"
    assert run(python(shown), tmp_path, {}).tail == "True True\n"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
def test_at_its_timeout_it_ends_with_all_that_it_started(tmp_path: Path) -> None:
    ran = run(python(STARTS), tmp_path, {}, timeout=3)
    assert ran.code is None
    assert all(gone(pid) for pid in ids(tmp_path))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
def test_it_does_not_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    ours = "import sys; from pathlib import Path; from hybridize.runtime.command import run; "
    ours += "run(sys.argv[1:], Path.cwd(), {})"
    process = subprocess.Popen(
        [*python(ours), *python(STARTS)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(SOURCES)}
    )
    found = ids(tmp_path)
    process.kill()
    process.wait()
    assert all(gone(pid) for pid in found)
