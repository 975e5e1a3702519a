"""Runs a command of the user's to its end; nothing that it starts outlives us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridize.runtime.launch import GRACE, wait

KEEPER = Path(__file__).parent / "keeper.py"
_TAIL = 4000  # characters of output that are kept
#: Within this part of what a process gets to end, once asked, the keeper ends those that it cannot reach.
_PART = 1.6


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
    with tempfile.TemporaryDirectory(prefix="hybridize-") as folder:
        result, output = Path(folder) / "result.json", Path(folder) / "output"
        keeper = [sys.executable, "-I", str(KEEPER), str(result), str(round(_PART * GRACE)), *words]
        started = time.perf_counter()
        with open(output, "wb") as stream:
            process = subprocess.Popen(
                keeper,
                cwd=cwd,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            reason = wait(process, timeout, own_session=True)
        finally:
            assert process.stdin is not None
            process.stdin.close()  # ends what is still there
            process.wait()
        seconds = time.perf_counter() - started
        tail = output.read_bytes()[-_TAIL:].decode("utf-8", "replace")
        told = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    if reason == "interrupted":
        raise KeyboardInterrupt
    if "error" in told:
        raise CommandError(f"{words[0]}: {told['error']}")
    if reason == "timeout":
        return Ran(None, seconds, tail)
    return Ran(told.get("code", process.returncode), seconds, tail)
