"""Tasks in forks: answers, failures, deaths, and processes that end with their parent."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from hybridize import workers

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forks")


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_task_is_answered_once(jobs: int) -> None:
    found = list(workers.run([5, 1, 9, 9, 2], lambda i: b"x" * (i * 300_000), jobs))
    assert sorted((task, len(answer or b"")) for task, answer in found) == [(i, i * 300_000) for i in range(5)]


def test_a_worker_ends_when_it_has_done_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_MOST", 2)
    answers = dict(workers.run([1] * 6, lambda i: str(os.getpid()).encode(), 1))
    assert len(answers) == 6
    assert len(set(answers.values())) == 3
    assert str(os.getpid()).encode() not in answers.values()


def test_a_task_that_raises_ends_the_run() -> None:
    def work(task: int) -> bytes:
        raise ValueError(f"task {task}")

    with pytest.raises(workers.WorkerError, match="ValueError: task 0") as found:
        list(workers.run([1, 1], work, 1))
    assert 'raise ValueError(f"task {task}")' in found.value.__notes__[0]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_process_that_dies_loses_its_task_alone(jobs: int) -> None:
    def work(task: int) -> bytes:
        if task == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"done"

    found = dict(workers.run([1, 1, 1, 1], work, jobs))
    assert found == {0: b"done", 1: b"done", 2: None, 3: b"done"}


def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import os, pathlib, time
        from hybridize import workers
        def work(i):
            pathlib.Path({str(tmp_path)!r}, str(os.getpid())).touch()
            time.sleep(60)
        list(workers.run([1, 1], work, 2))
        """
    )
    source = str(Path(workers.__file__).parents[1])
    parent = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": source})
    deadline = time.monotonic() + 20
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    children = [int(path.name) for path in tmp_path.iterdir()]
    assert len(children) == 2
    parent.kill()
    parent.wait()
    while any(map(_is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_is_alive, children))


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
