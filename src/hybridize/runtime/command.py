"""Runs a command of the user's to its end; nothing that it starts outlives us."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridize.runtime.kept import run as kept_run

_TAIL = 4000  # bytes of output that are kept


class CommandError(Exception):
    """The command could not be started; the text says why."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended.

    Attributes:
        code: its exit code (negative: the signal that ended it); None where its time was up.
        seconds: wall clock.
        tail: the end of what it printed.
    """

    code: int | None
    seconds: float
    tail: str = ""


def run(words: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float | None = None) -> Ran:
    """Runs a command without input, to its end or the timeout (seconds).

    Args:
        words: program and arguments.
        cwd: the working folder.
        environment: added to this process's.
        timeout: None: no limit.

    Raises:
        CommandError: there is no such program.
        KeyboardInterrupt: the user wants us to stop; the command is ended then.
    """
    with tempfile.TemporaryFile() as output:
        kept = kept_run(
            words,
            cwd=cwd,
            environment={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        output.seek(max(output.seek(0, os.SEEK_END) - _TAIL, 0))
        tail = output.read().decode("utf-8", "replace")
    if kept.reason == "interrupted":
        raise KeyboardInterrupt
    if kept.error is not None:
        raise CommandError(f"{words[0]}: {kept.error}")
    return Ran(None if kept.reason == "timeout" else kept.code, kept.seconds, tail)
