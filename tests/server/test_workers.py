"""The process that runs jobs, in forks of its own."""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import socket
import threading
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason='needs pygls: pip install "hybridize[lsp]"')

import hybridize
from hybridize.config import Config
from hybridize.server.frames import ANSWER, frame, frames, write
from hybridize.server.host import _Host, _Kept
from hybridize.server.jobs import Check, Project
from hybridize.server.keeping import Edits
from hybridize.server.workers import JobError, Workers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at processes in /proc"),
]


def check(folder: Path, lines: int = 1) -> Check:
    """A job that takes the longer the more lines there are."""
    body = "".join(f"def f{i}(x):\n    return tf.sin(x) + f{i - 1 if i else 0}(x)\n\n" for i in range(lines))
    (folder / "main.py").write_text(f"import tensorflow as tf\n\n{body}f{lines - 1}(tf.ones([2]))\n")
    return Check(Project((folder,), Config(origins={}, cache=False), {}))


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def until(ready: object) -> None:
    for _ in range(1_200):
        if ready():  # type: ignore[operator]
            return
        await asyncio.sleep(0.05)
    raise AssertionError("waited in vain")


def test_a_job_that_is_wanted_no_more_is_killed_and_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()

    async def scenario() -> None:
        workers = Workers()
        long = asyncio.create_task(workers.run(check(tmp_path, 4_000)))
        await until(lambda: workers._process is not None and children(workers._process.pid))
        assert workers._process is not None
        (fork,) = children(workers._process.pid)
        report = await workers.run(check(tmp_path / "small"))
        assert isinstance(report.report, hybridize.Report)
        assert not long.done()
        long.cancel()
        await until(lambda: children(workers._process.pid) == [])  # type: ignore[union-attr]
        assert not Path(f"/proc/{fork}").exists()
        workers.close()
        await workers.ended()

    asyncio.run(scenario())


def test_what_died_is_said_and_started_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        workers = Workers()
        long = asyncio.create_task(workers.run(check(tmp_path, 4_000)))
        await until(lambda: workers._process is not None and children(workers._process.pid))
        assert workers._process is not None
        os.kill(children(workers._process.pid)[0], signal.SIGKILL)
        with pytest.raises(JobError, match="its process died"):
            await long
        os.kill(workers._process.pid, signal.SIGKILL)
        await until(lambda: workers._process.returncode is not None)  # type: ignore[union-attr]
        assert isinstance((await workers.run(check(tmp_path))).report, hybridize.Report)
        workers.close()
        await workers.ended()

    asyncio.run(scenario())


def test_a_job_that_comes_as_the_process_dies_runs_in_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        workers = Workers()
        long = asyncio.create_task(workers.run(check(tmp_path, 4_000)))
        await until(lambda: workers._process is not None and children(workers._process.pid))
        assert workers._process is not None
        os.kill(workers._process.pid, signal.SIGKILL)
        with pytest.raises(JobError, match="has died"):
            await long
        found = await asyncio.wait_for(workers.run(check(tmp_path)), 120)  # nobody has waited for its end so far
        assert isinstance(found.report, hybridize.Report)
        workers.close()
        await workers.ended()

    asyncio.run(scenario())


def test_who_keeps_a_program_is_heard_while_it_is_asked() -> None:
    """Both have more to say than a socket takes: the answer for the edit before, and the next edit."""
    large = bytes(4 << 20)
    reading, out = os.pipe()
    mine, theirs = socket.socketpair()

    def keep() -> None:
        write(theirs.fileno(), frame(ANSWER, 1, large))
        heard = bytearray()
        while not frames(heard):
            heard += theirs.recv(1 << 20)
        theirs.close()

    def drain() -> None:
        while os.read(reading, 1 << 20):
            pass

    host = _Host(out)
    host._kept[mine.fileno()] = _Kept(mine, 7)
    host._selector.register(mine.fileno(), selectors.EVENT_READ)
    asking = threading.Thread(target=host._ask, args=(2, 7, Edits({"main.py": large})), daemon=True)
    others = [threading.Thread(target=each, daemon=True) for each in (keep, drain)]
    for each in (*others, asking):
        each.start()
    asking.join(30)
    assert not asking.is_alive()
    os.close(out)
    for each in others:
        each.join(30)


def test_an_error_in_a_job_is_one_line(tmp_path: Path) -> None:
    async def scenario() -> None:
        workers = Workers()
        with pytest.raises(JobError, match="AttributeError: 'int' object has no attribute 'exclude'"):
            await workers.run(Check(Project((tmp_path,), 1, {})))  # type: ignore[arg-type]
        workers.close()
        await workers.ended()

    asyncio.run(scenario())
