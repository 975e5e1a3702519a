"""The server in the long run: random edits, a thousand of them, and what is left when something dies."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp", reason='needs pytest-lsp: pip install "hybridize[dev]"')

from editor import Editor, capabilities, editing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at processes in /proc"),
]

LIB = """\
import tensorflow as tf


def scaled(x, factor):
    return tf.sin(tf.matmul(x, x)) * factor


def shouted(x):
    y = scaled(x, 2.0)
    print("done")
    return y
"""
MAIN = """\
import tensorflow as tf
from lib import scaled, shouted


@tf.function
def step(x, level):
    name = "é😀"
    return scaled(x, 1.0) * level


for i in range(100):
    step(tf.ones([4, 4]), i)
    shouted(tf.ones([4, 4]))
"""
#: What is typed: whole lines, halves of them, nothing.
TYPED = [
    "",
    "\n",
    " ",
    "# 😀 é\n",
    "@tf.function\n",
    "x",
    "(",
    ")",
    "    print(x)\n",
    "tf.constant(i)",
    "def other(x):\n",
    "\t",
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "lib.py").write_text(LIB)
    (tmp_path / "main.py").write_text(MAIN)
    return tmp_path


def any_edit(editor: Editor, chance: random.Random) -> None:
    """Some edit of some file: anywhere, of anything, or of everything back to what it was."""
    path, whole = chance.choice([("lib.py", LIB), ("main.py", MAIN)])
    if chance.random() < 0.3:
        editor.rewrite(path, whole)
        return
    text = editor.texts[editor.uri(path)]
    start = chance.randint(0, len(text))
    if chance.random() < 0.5:
        start = text.rfind("\n", 0, start) + 1
    editor.edit(path, start, min(len(text), start + chance.choice([0, 0, 0, 1, 5, 30])), chance.choice(TYPED))


#: So many edits; a thousand and more were made by hand (`HYBRIDIZE_EDITS=1000`): they take minutes.
EDITS = int(os.environ.get("HYBRIDIZE_EDITS", "300"))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_server_says_what_check_says_at_every_step(project: Path, seed: int) -> None:
    chance = random.Random(seed)

    async def scenario() -> None:
        async with editing(project, options={"delay": 0}) as editor:
            editor.open("lib.py")
            editor.open("main.py")
            for step in range(12):
                for _ in range(chance.randint(1, 3)):  # some of them while an analysis is under way
                    any_edit(editor, chance)
                    await asyncio.sleep(chance.choice([0, 0, 0.02, 0.1]))
                assert await editor.everything() == editor.checked(), f"step {step} of seed {seed}"

    asyncio.run(scenario())


def test_memory_is_flat_over_many_edits(project: Path) -> None:
    async def scenario() -> None:
        async with editing(project, options={"delay": 0}) as editor:
            editor.open("lib.py")
            used = []
            for number in range(EDITS):
                editor.edit("lib.py", 0, 0 if number % 2 == 0 else 10, "# comment\n" if number % 2 == 0 else "")
                if number % 4 == 0:
                    await editor.diagnostics("lib.py")
                if number in (EDITS // 5, EDITS - 1):
                    await editor.diagnostics("lib.py")
                    used.append(await _at_rest(editor.pid))
            assert used[1] - used[0] < 4 << 20, used

    asyncio.run(scenario())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_server_that_is_killed(project: Path, number: signal.Signals) -> None:
    async def scenario() -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011, PT012 (whatever a client says whose server is gone)
            async with editing(project, options={"delay": 0}) as editor:
                editor.open("main.py")
                editor.edit("main.py", 0, 0, "# so that there is something to analyze\n")
                processes = await _with_forks(editor.pid)
                os.kill(editor.pid, number)
                await _gone(processes)
                raise RuntimeError("all are gone")

    asyncio.run(scenario())


def test_the_server_ends_with_a_client_that_is_killed(project: Path) -> None:
    """The client's process dies, and something else still holds the pipe."""

    async def scenario() -> None:
        parent = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")
        can = capabilities()
        with pytest.raises(Exception):  # noqa: B017, PT011, PT012
            async with editing(project, can=can, process=parent.pid) as editor:
                editor.open("main.py")
                await editor.diagnostics("main.py")
                processes = _tree(editor.pid)
                parent.kill()
                await parent.wait()
                await _gone(processes)
                raise RuntimeError("all are gone")

    asyncio.run(scenario())


def test_the_server_ends_when_nobody_can_speak_any_more(project: Path) -> None:
    async def scenario() -> None:
        command = (sys.executable, "-m", "hybridize", "server")
        server = await asyncio.create_subprocess_exec(*command, stdin=-1, stdout=-1)
        assert server.stdin is not None
        server.stdin.close()
        assert await asyncio.wait_for(server.wait(), 30) == 2  # nobody asked it to

    asyncio.run(scenario())


async def _with_forks(pid: int) -> list[int]:
    """The processes of a server once it analyzes: itself, the host, a fork of that."""
    for _ in range(3_000):
        found = _tree(pid)
        if len(found) > 2:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError("nothing is analyzed")


async def _gone(processes: list[int]) -> None:
    started = time.monotonic()
    while any(_is_running(pid) for pid in processes):
        await asyncio.sleep(0.05)
        assert time.monotonic() - started < 10, processes


def _is_running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _tree(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _tree(int(child)))]


async def _at_rest(pid: int) -> int:
    """The memory of a server and its host, in bytes, once no fork of the host is at work on what nobody asked for."""
    for _ in range(3_000):
        if len(processes := _tree(pid)) == 2:
            return sum(map(_resident, processes))
        await asyncio.sleep(0.01)
    raise AssertionError("an analysis does not end")


def _resident(pid: int) -> int:
    """In bytes; none of a process that has just ended."""
    found = Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()
    return int(found[0]) << 10 if found else 0
