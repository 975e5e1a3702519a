"""Starts the user's program in a process of the user's interpreter, and reads what that process told until it ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hybridize.runtime.sources import MemoryFile

GUEST = Path(__file__).parent / "guest" / "__main__.py"
GRACE = 5.0  # seconds that a process has to end after it was asked to
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """What is run: `python NAME ARGUMENTS` (kind `script`) or `python -m NAME ARGUMENTS` (kind `module`)."""

    kind: str
    name: str
    arguments: tuple[str, ...] = ()

    @classmethod
    def script(cls, name: str, arguments: Sequence[str] = ()) -> Target:
        """A file, by its path as it is typed."""
        return cls("script", name, tuple(arguments))

    @classmethod
    def module(cls, name: str, arguments: Sequence[str] = ()) -> Target:
        """A module, as for `-m`; `pytest` with its arguments runs tests."""
        return cls("module", name, tuple(arguments))

    def __str__(self) -> str:
        return " ".join(["-m", self.name] if self.kind == "module" else [self.name]) + "".join(
            f" {argument}" for argument in self.arguments
        )


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of the user's program.

    Attributes:
        target: what is run.
        sources: files with another text than on disk.
        python: the interpreter; it needs the modules of the program, not hybridize.
        cwd: the working directory (None: this process's).
        mode: the module of `guest` whose `Watcher` sees the watched functions; None: nobody watches.
        options: what that module reads (JSON data).
        functions: described for that module, by number: `id`, `path`, `line`, `qualname`, `kind`.
        own: folders whose code is the user's.
        environment: changes to the environment; None takes a variable away.
        timeout: seconds (None: no limit).
        needs: a module that the interpreter must have.
    """

    target: Target
    sources: tuple[MemoryFile, ...] = ()
    python: str = sys.executable
    cwd: Path | None = None
    mode: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    functions: tuple[Mapping[str, Any], ...] = ()
    own: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    timeout: float | None = None
    needs: str | None = "tensorflow"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    Attributes:
        code: its exit code; negative: the signal that ended it.
        seconds: wall clock, from start to end of the process.
        reason: `exit`, `timeout`, `interrupted`, or `missing` (the interpreter lacks what is needed).
        events: what the processes told, in order.
    """

    code: int
    seconds: float
    reason: str
    events: tuple[Event, ...]

    def of(self, kind: str) -> list[Event]:
        """The events of a kind."""
        return [event for event in self.events if event.get("event") == kind]


class LaunchError(RuntimeError):
    """The interpreter could not be started; the message says why."""


def launch(
    run: Launch,
    *,
    stdin: int | None = None,
    stdout: IO[Any] | int | None = None,
    stderr: IO[Any] | int | None = None,
) -> Ended:
    """Runs the program to its end, to the timeout, or until the user interrupts it.

    Args:
        run: what and how.
        stdin: what it reads (default: what this process does).
        stdout, stderr: where the program's output goes (default: where this process's does).

    Raises:
        LaunchError: there is no such interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="hybridize-") as folder:
        job = Path(folder) / "job.json"
        report = Path(folder) / "report.jsonl"
        job.write_text(json.dumps(job_of(run, report)), encoding="utf-8")
        started = time.perf_counter()
        # In a session of its own all that it starts can be ended; at a terminal it must stay in ours to read from it.
        own_session = not _at_terminal()
        try:
            process = subprocess.Popen(
                [run.python, str(GUEST), str(job)],
                cwd=run.cwd,
                env=_environment(run),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=own_session,
            )
        except OSError as error:
            raise LaunchError(f"{run.python}: {error.strerror or error}") from None
        reason = wait(process, run.timeout, own_session)
        seconds = time.perf_counter() - started
        events = tuple(read_events(report))
    if any(event.get("event") == "missing" for event in events):
        reason = "missing"
    return Ended(process.returncode, seconds, reason, events)


def _at_terminal() -> bool:
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:
        return False


def job_of(run: Launch, report: Path) -> dict[str, Any]:
    """The job as the child reads it; `report` is the file that it writes."""
    target = {"kind": run.target.kind, "name": run.target.name, "arguments": list(run.target.arguments)}
    return {
        "report": str(report),
        "target": target,
        "mode": run.mode,
        "options": dict(run.options),
        "functions": [dict(f) for f in run.functions],
        "own": list(run.own),
        "needs": run.needs,
        "sources": [source.as_json() for source in run.sources],
    }


def _environment(run: Launch) -> dict[str, str]:
    environment = dict(os.environ)
    for name, value in run.environment.items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def wait(process: subprocess.Popen[Any], timeout: float | None, own_session: bool) -> str:
    """Until the process ends: `exit`; after a `timeout` or Ctrl-C (`interrupted`) it is asked to end, then made to."""
    try:
        process.wait(timeout)
        return "exit"
    except subprocess.TimeoutExpired:
        reason, asked = "timeout", False
    except KeyboardInterrupt:
        reason, asked = "interrupted", not own_session  # a terminal tells all its processes
    for number in (None if asked else signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _send(process, number, own_session)
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(GRACE)
            break
    if own_session:  # what it started and left
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return reason


def _send(process: subprocess.Popen[Any], number: int, own_session: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if own_session and number != signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def read_events(report: Path) -> Iterable[Event]:
    """The lines of the report that are whole."""
    if not report.exists():
        return
    for line in report.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event
