"""Runs a program of the user's to its end; nothing that it starts outlives us, however we end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

KEEPER = Path(__file__).parent / "keeper.py"
GRACE = 5.0  # seconds that a process has to end after it was asked to


@dataclass(frozen=True, slots=True)
class Kept:
    """How a program ended.

    Attributes:
        code: its exit code; negative: the signal that ended it.
        seconds: wall clock.
        cpu: seconds of processor time, user and system, of it and all that it started; None where that is not known.
        reason: `exit`, `timeout` or `interrupted` (it was then asked to end).
        error: why it could not be started; None where it was.
    """

    code: int
    seconds: float
    cpu: float | None
    reason: str
    error: str | None = None


def run(
    words: Sequence[str],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: IO[Any] | int | None = None,
    stderr: IO[Any] | int | None = None,
    timeout: float | None = None,
    foreground: bool = False,
) -> Kept:
    """Runs a program to its end, to the timeout (seconds), or until the user interrupts it.

    Args:
        words: program and arguments.
        cwd: the working folder (None: this process's).
        environment: all of it (None: this process's).
        stdin, stdout, stderr: as for `subprocess.Popen`, but for pipes.
        timeout: None: no limit.
        foreground: it stays in our session, so that it can read from the terminal.
    """
    control, hold = os.pipe()
    telling, told = os.pipe()
    keeper = [sys.executable, "-I", "-S", str(KEEPER), str(control), str(told), str(GRACE), str(int(foreground))]
    try:
        try:
            process = subprocess.Popen(
                [*keeper, *words],
                cwd=cwd,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(control, told),
                start_new_session=not foreground,
            )
        finally:
            os.close(control)
            os.close(told)
        try:
            reason = _wait(process, timeout, hold, foreground)
        finally:
            with contextlib.suppress(OSError):
                os.close(hold)  # ends what is still there
            hold = -1
            process.wait()
        with open(telling, "rb", closefd=False) as stream:
            data: dict[str, Any] = json.loads(stream.read() or b"{}")
    finally:
        os.close(telling)
        if hold >= 0:
            os.close(hold)
    code = data.get("code")
    ended = process.returncode if code is None else int(code)
    return Kept(ended, data.get("seconds", 0.0), data.get("cpu"), reason, data.get("error"))


def _wait(process: subprocess.Popen[Any], timeout: float | None, hold: int, foreground: bool) -> str:
    """Until the program ends: `exit`; after a `timeout` or Ctrl-C (`interrupted`) it is asked to end, then made to."""
    try:
        process.wait(timeout)
        return "exit"
    except subprocess.TimeoutExpired:
        reason, word = "timeout", b"i"
    except KeyboardInterrupt:
        reason, word = "interrupted", b"t" if foreground else b"i"  # a terminal tells all its processes
    with contextlib.suppress(OSError):
        os.write(hold, word)
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):  # whoever presses it again is in a hurry
        process.wait(3 * GRACE)
    return reason
