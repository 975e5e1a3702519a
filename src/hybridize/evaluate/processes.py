"""Whole processes, timed from outside: wall clock and processor time."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HAS_RESOURCE: Final = importlib.util.find_spec("resource") is not None  # Windows has not


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended.

    Attributes:
        code: its exit code; None if it was ended because its time was up.
        wall: seconds by the clock.
        cpu: seconds of processor time, user and system, of it and all it started; None where that is not known.
        out, err: what it printed.
    """

    code: int | None
    wall: float
    cpu: float | None
    out: str
    err: str


def children_cpu() -> float | None:
    """Processor time of all ended children of this process, in seconds; None where the system does not tell."""
    if not _HAS_RESOURCE:
        return None
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, timeout: float | None = None
) -> Finished:
    """Runs a command to its end; raises OSError if it cannot be started.

    Args:
        command: program and arguments.
        cwd: where it runs.
        environment: added to this process's.
        timeout: seconds.
    """
    before, started = children_cpu(), time.perf_counter()
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, out, err = None, late.stdout or b"", late.stderr or b""
    wall, after = time.perf_counter() - started, children_cpu()
    cpu = after - before if before is not None and after is not None else None
    return Finished(code, wall, cpu, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def load() -> float | None:
    """How many processes have wanted a processor in the last minute, divided by the processors; None if not known."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (OSError, AttributeError):
        return None
