"""Starts the user's program in a process of the user's interpreter, and reads what that process told until it ended."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hybridize.guard import folder as guarded_folder
from hybridize.runtime.kept import run as kept_run
from hybridize.runtime.rewritten import MemoryFile

GUEST = Path(__file__).parent / "guest" / "__main__.py"
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
        shim: a file that is run first, in the same process; it stands in for data and downloads.
        seed: what Python's, NumPy's and TensorFlow's random numbers begin from; None: nothing is seeded.
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
    shim: Path | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    Attributes:
        code: its exit code; negative: the signal that ended it.
        seconds: wall clock, from start to end of the process.
        reason: `exit`, `timeout`, `interrupted`, or `missing` (the interpreter lacks what is needed).
        events: what the processes told, in order.
        cpu: seconds of processor time, of it and all that it started; None where that is not known.
    """

    code: int
    seconds: float
    reason: str
    events: tuple[Event, ...]
    cpu: float | None = None

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
    with guarded_folder("hybridize-") as folder:
        job = Path(folder) / "job.json"
        report = Path(folder) / "report.jsonl"
        job.write_text(json.dumps(job_of(run, report)), encoding="utf-8")
        kept = kept_run(
            [run.python, str(GUEST), str(job)],
            cwd=run.cwd,
            environment=_environment(run),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            timeout=run.timeout,
            # In a session of its own all that it starts can be ended; at a terminal it must stay in ours to read there.
            foreground=_at_terminal(),
        )
        events = tuple(read_events(report))
    if kept.error is not None:
        raise LaunchError(f"{run.python}: {kept.error}")
    missing = any(event.get("event") == "missing" for event in events)
    return Ended(kept.code, kept.seconds, "missing" if missing else kept.reason, events, kept.cpu)


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
        "shim": str(run.shim) if run.shim else None,
        "seed": run.seed,
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


def read_events(report: Path) -> Iterable[Event]:
    """The lines of the report that are whole."""
    if not report.exists():
        return
    for line in report.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event
