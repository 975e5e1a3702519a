"""One task in a process of its own, within its limits of time and memory.

Memory is what the process has resident, looked at ten times a second, and not a limit that the system enforces
(`RLIMIT_AS`): a `MemoryError` inside of an analysis would be taken for a mistake about one function, and the result
would differ from that of a machine with more memory. Here the whole task ends, and says why.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hybridize.evaluate.execution.child import call
from hybridize.evaluate.execution.model import Ending, Outcome, Task

_LOOK: Final = 0.1  # seconds between two looks
_SAID: Final = 2_000  # bytes of stderr that an error may quote
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def here(task: Task) -> Outcome:
    """Runs a task in this process: without limits, and a crash is ours."""
    started = time.perf_counter()
    try:
        value = json.loads(json.dumps(call(task.function, task.payload)))
    except Exception as error:
        return _outcome(task, Ending.FAILED, started, error=f"{type(error).__name__}: {error}")
    return _outcome(task, Ending.DONE, started, value=value)


def bounded(task: Task, stop: threading.Event | None = None) -> Outcome:
    """Runs a task in a process that ends with this one, at its limits at the latest, or when `stop` is set."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            [sys.executable, "-m", "hybridize.evaluate.execution.child"],
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=said,
            env=_environment(),
            start_new_session=True,
        ) as process:
            assert process.stdin is not None
            data = json.dumps({"function": task.function, "payload": task.payload}).encode()
            feeding = threading.Thread(target=_feed, args=(process.stdin, data), daemon=True)
            feeding.start()
            try:
                ending, peak = _watch(process, task, started, stop or threading.Event())
            finally:
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                feeding.join()
        if ending is not None:
            return _outcome(task, ending, started, peak=peak, error=_limit(task, ending))
        return _answered(task, started, peak, process.returncode, _read(answer), _read(said)[-_SAID:])


def _feed(pipe: Any, data: bytes) -> None:
    with suppress(OSError):  # it died before it had read all
        pipe.write(data)
    with suppress(OSError):
        pipe.close()


def _watch(
    process: subprocess.Popen[bytes], task: Task, started: float, stop: threading.Event
) -> tuple[Ending | None, int]:
    """Waits for a process: the limit that it went beyond, if one, and the most memory that was seen."""
    peak = 0
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK)
            return None, peak
        peak = max(peak, _resident(process.pid))
        if task.memory is not None and peak > task.memory:
            return Ending.MEMORY, peak
        if task.seconds is not None and time.perf_counter() - started > task.seconds:
            return Ending.TIMEOUT, peak
        if stop.is_set():
            return Ending.LOST, peak


def _resident(pid: int) -> int:
    """Bytes of a process in memory; 0 where the system does not say (no `/proc`)."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _limit(task: Task, ending: Ending) -> str:
    if ending is Ending.MEMORY:
        return f"ended at its limit of {(task.memory or 0) / 1e6:,.0f} MB of memory"
    if ending is Ending.LOST:
        return "ended with the run"
    return f"ended at its limit of {task.seconds:g} s"


def _answered(task: Task, started: float, peak: int, code: int, answer: bytes, said: bytes) -> Outcome:
    try:
        found = json.loads(answer)
    except ValueError:
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return _outcome(task, Ending.LOST, started, peak=peak, error=f"its process ended {how}{last and f': {last}'}")
    if "error" in found:
        return _outcome(task, Ending.FAILED, started, peak=peak, error=found["error"])
    return _outcome(task, Ending.DONE, started, peak=peak, value=found["value"])


def _read(file: Any) -> bytes:
    file.seek(0)
    data: bytes = file.read()
    return data


def _environment() -> dict[str, str]:
    """That of this process, in which the child finds the same hybridize."""
    package = str(Path(__file__).resolve().parents[3])
    before = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{before}" if before else package}


def _outcome(
    task: Task, ending: Ending, started: float, *, value: Any = None, error: str = "", peak: int = 0
) -> Outcome:
    worker = f"{platform.node()}:{os.getpid()}"
    return Outcome(task.key, ending, value, " ".join(error.split()), time.perf_counter() - started, peak, 1, worker)
