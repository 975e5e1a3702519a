"""`kill -9` of a command's main process: within two seconds no process and no file of it is left."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hybridize.runtime.keeper import descendants

from .test_bench import CHAIN, FAKE

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
SOURCES = Path(__file__).parents[2] / "src"
STEP = f"import tensorflow as tf\n\n\ndef step(x):\n    {CHAIN}\n    return x\n\n\n"
LOOP = "import sys\nfor _ in range(30 * len(sys.argv)):\n    step(tf.ones(3))\n\n\n"
# Starts others, in its session and in one of their own, which ignore what they can, and never ends.
ENDLESS = """\
import os, signal, subprocess, sys, time
text = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(600)"
for own in (False, True):
    subprocess.Popen([sys.executable, "-c", text], start_new_session=own)
    if os.fork() == 0:
        if own:
            os.setsid()
        time.sleep(600)
        os._exit(0)
time.sleep(1)
open("started", "w").close()
time.sleep(600)
"""


FUNCTIONS = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(300))


class Started:
    """A command in a process of its own, with a folder for temporary files of its own."""

    def __init__(self, folder: Path) -> None:
        self.project, self.temporary = folder / "project", folder / "temporary"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *words: str, **variables: str) -> None:
        """Runs `hybridize WORDS` in the project."""
        environment = {**os.environ, "TMPDIR": str(self.temporary), "PYTHONDONTWRITEBYTECODE": "1", **variables}
        environment["PYTHONPATH"] = os.pathsep.join([str(SOURCES), str(self.project.parent / "site")])
        silent = subprocess.DEVNULL
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hybridize", *words], cwd=self.project, env=environment, stdout=silent, stderr=silent
        )

    def until(self, holds: Callable[[], object], seconds: float = 60) -> None:
        """Waits for something to come true while the command is at work."""
        limit = time.monotonic() + seconds
        while not holds():
            assert self.process is not None
            assert self.process.poll() is None, "it has ended"
            assert time.monotonic() < limit, "it took too long"
            time.sleep(0.001)

    def children(self) -> list[int]:
        """All that it started, and what these did."""
        assert self.process is not None
        return descendants(top=self.process.pid)

    def kill(self) -> list[int]:
        """Kills the main process, and waits two seconds at most; those that are left."""
        assert self.process is not None
        found = self.children()
        self.process.kill()
        self.process.wait()
        limit = time.monotonic() + 2
        left = found
        while (left or self.files()) and time.monotonic() < limit:
            time.sleep(0.02)
            left = [pid for pid in found if alive(pid)]
        return left

    def files(self) -> list[Path]:
        """What is in the folder of temporary files, and is hidden in the project."""
        return [*self.temporary.iterdir(), *self.project.glob(".*.tmp"), *self.project.glob(".hybridize*")]


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Started]:
    fake = tmp_path / "site" / "tensorflow"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text(FAKE)
    started = Started(tmp_path)
    started.project.mkdir()
    started.temporary.mkdir()
    yield started
    if started.process is not None and started.process.poll() is None:
        for pid in [started.process.pid, *started.children()]:
            os.kill(pid, signal.SIGKILL)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


WORDS = {
    "verify": ["verify", "--isolated", "main.py"],
    "verify --pytest": ["verify", "--isolated", "--pytest", "-q", "-s", "-p", "no:cacheprovider", "test_main.py"],
    "fix --verify": ["fix", "--isolated", "--verify", "main.py"],
    "bench": ["bench", "--isolated", "main.py"],
    "fix --verify-with": ["fix", "--isolated", "--verify-with", f"{sys.executable} check.py"],
    "fix --verify-with pytest": [
        "fix", "--isolated", "--verify-with", f"{sys.executable} -m pytest -q -p no:cacheprovider test_main.py",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_commands_that_run_programs(command: Started, name: str) -> None:
    # Bench and fix want something to convert; verify watches what it converts, for which this TensorFlow is too little.
    program = (STEP if name in ("bench", "fix --verify-with", "fix --verify-with pytest") else "") + LOOP
    files = {
        "main.py": program if "step(x)" in program else "",
        "check.py": "",
        "test_main.py": "def test_it():\n    pass\n",
    }
    waits = {
        "verify --pytest": "test_main.py",
        "fix --verify-with": "check.py",
        "fix --verify-with pytest": "test_main.py",
    }
    files[waits.get(name, "main.py")] += ENDLESS
    for file, text in files.items():
        (command.project / file).write_text(text)
    command.start(*WORDS[name])
    command.until((command.project / "started").exists)
    assert len(command.children()) >= 6  # the keeper, the guard, the program, and what it started
    assert command.kill() == []
    assert command.files() == []
    assert names(command.project) == {*files, "started"}
    assert (command.project / "main.py").read_text() == files["main.py"]


def has_changed(file: Path) -> bool:
    return b"@tf.function" in file.read_bytes()


def test_fix_while_it_writes(command: Started) -> None:
    texts = {f"m{i:03}.py": f"{STEP}{LOOP}# {i}\n" for i in range(60)}
    for round_number in range(4):
        for name, text in texts.items():
            (command.project / name).write_text(text)
        command.start("fix", "--isolated", "--no-cache")
        file = command.project / f"m{5 * round_number:03}.py"
        command.until(functools.partial(has_changed, file))
        command.kill()
        assert names(command.project) == set(texts)
        for name, text in texts.items():
            assert (command.project / name).read_text() in (text, text.replace("def step", "@tf.function\ndef step"))


def test_check_with_workers(command: Started) -> None:
    for i in range(60):
        (command.project / f"m{i:03}.py").write_text(FUNCTIONS)
    command.start("check", "--isolated", "--jobs", "2", "--no-cache")
    command.until(command.children)
    assert command.kill() == []
    assert command.files() == []
    assert len(names(command.project)) == 60


@pytest.mark.parametrize("clones", [["."], [".", "../other"]])
def test_a_study_that_mines(command: Started, clones: list[str]) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(command.project)]
    subprocess.run([*git, "init", "-q"], check=True)
    for i in range(3):
        (command.project / "a.py").write_text(f"import tensorflow as tf\nf = tf.function(lambda x: x + {i})\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"tf.function {i}"], check=True)
    shutil.copytree(command.project, command.project.parent / "other")
    # A git that takes its time: nothing on a pipe tells it that nobody listens.
    tools = command.project.parent / "tools"
    tools.mkdir()
    slow = f'case "$*" in *" log "*) touch "{command.project.parent}/slow"; exec sleep 600;; esac'
    (tools / "git").write_text(f'#!/bin/sh\n{slow}\nexec "{shutil.which("git")}" "$@"\n')
    (tools / "git").chmod(0o755)
    database = command.project.parent / "study.db"
    command.start("study", "mine", "--out", str(database), *clones, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    command.until((command.project.parent / "slow").exists)
    assert command.children()
    assert command.kill() == []
    assert command.files() == []
