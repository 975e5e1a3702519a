"""The client of the fork server: starts it, sends programs, compares what comes back."""

from __future__ import annotations

import difflib
import json
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from hybridize.runtime.compare import outcome
from hybridize.runtime.decorate import TargetError, decorated, lexical_path, split_target
from hybridize.runtime.model import Difference, Kind, Outcome, Program

START = "import sys; sys.path.insert(0, sys.argv[1]);from hybridize.runtime.inside.main import main; main(sys.argv[1])"
START_SECONDS = 120.0
SIDE_BY_SIDE = 3  # programs; each is two processes, of which the eager one is soon done


class RuntimeUnavailable(RuntimeError):
    """The interpreter has no TensorFlow, or the server died; the message says which."""


class ForkServer:
    """A process with TensorFlow imported and no op executed, which forks for each run. Use as a context.

    Args:
        python: the interpreter that has TensorFlow (default: this one).
        seconds: the limit for one run, wall clock.
        memory: bytes that a run may allocate.

    Raises:
        RuntimeUnavailable: at entry, or when the server dies.
    """

    def __init__(self, python: str | None = None, *, seconds: float = 30.0, memory: int = 4 << 30) -> None:
        self.python = python or sys.executable
        self._seconds = seconds
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._errors: Any = None
        self.versions: dict[str, str] = {}

    def __enter__(self) -> ForkServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, where: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Starts the process and waits until TensorFlow is there."""
        root = str(Path(__file__).resolve().parents[2])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [self.python, "-c", START, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self.versions = self._answer(START_SECONDS)

    def close(self) -> None:
        """Ends the process; a second call does nothing."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None and process.stdout is not None:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            self._errors.close()

    def prove(self, program: Program) -> Outcome:
        """Runs a program eagerly and as graphs and compares; a third run, when they differ, tells noise from effect."""
        return self.prove_all([program])[0]

    def prove_all(self, programs: Iterable[Program]) -> list[Outcome]:
        """The outcomes of many programs, in order; a few at a time run side by side."""
        found: list[Outcome] = []
        waiting = list(programs)
        for start in range(0, len(waiting), SIDE_BY_SIDE):
            found += self._prove_some(waiting[start : start + SIDE_BY_SIDE])
        return found

    def compare_all(self, pairs: Iterable[tuple[Program, Program]]) -> list[Outcome]:
        """For pairs of programs (before and after a change), each run as it is: what the second does otherwise.

        Differences by which two runs of the first differ, too, are noise.
        """
        found: list[Outcome] = []
        waiting = list(pairs)
        for start in range(0, len(waiting), SIDE_BY_SIDE):
            some = waiting[start : start + SIDE_BY_SIDE]
            runs = self._run([_as_it_is(program) for pair in some for program in pair])
            outcomes = [outcome(*runs[i : i + 2]) for i in range(0, len(runs), 2)]
            unsure = [i for i, o in enumerate(outcomes) if o.kind in (Kind.DIFFERS, Kind.RAISES)]
            for i, again in zip(unsure, self._run([_as_it_is(some[i][0]) for i in unsure]), strict=True):
                outcomes[i] = outcome(runs[2 * i], runs[2 * i + 1], again)
            found += outcomes
        return found

    def _prove_some(self, programs: list[Program]) -> list[Outcome]:
        found: dict[int, Outcome] = {}
        pairs: dict[int, list[dict[str, Any]]] = {}
        for i, program in enumerate(programs):
            try:
                pairs[i] = _jobs(program)
            except TargetError as error:
                found[i] = Outcome(Kind.FAILED, (Difference("target", str(error), ""),))
        runs = iter(self._run([job for jobs in pairs.values() for job in jobs]))
        results = {i: (next(runs), _at_original_line(next(runs), programs[i].entry, jobs)) for i, jobs in pairs.items()}
        found.update((i, outcome(*both)) for i, both in results.items())
        unsure = [i for i, o in found.items() if o.kind in (Kind.DIFFERS, Kind.RAISES)]
        for i, again in zip(unsure, self._run([pairs[i][0] for i in unsure]), strict=True):
            found[i] = outcome(*results[i], again)
        return [found[i] for i in range(len(programs))]

    def _run(self, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not jobs:
            return []
        request = {"runs": jobs, "seconds": self._seconds, "memory": self._memory}
        if self._process is None or self._process.stdin is None:
            raise RuntimeUnavailable("the server is not running")
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        runs: list[dict[str, Any]] = self._answer(self._seconds + 30)["runs"]
        return runs

    def _answer(self, seconds: float) -> Any:
        """The next line from the server as data."""
        if self._process is None or self._process.stdout is None:
            raise RuntimeUnavailable("the server is not running")
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                chunk = b""
                if selector.select(seconds):
                    chunk = self._process.stdout.read1(1 << 20)  # type: ignore[attr-defined]
                if not chunk:
                    raise RuntimeUnavailable(self._last_words())
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        if any("No module named 'tensorflow'" in line for line in lines):
            return f"{self.python} has no TensorFlow"
        return f"the TensorFlow process of {self.python} ended: {lines[-1] if lines else 'no message'}"


def _as_it_is(program: Program) -> dict[str, Any]:
    """A run of a program that is not touched."""
    common = {"entry": program.entry, "arguments": list(program.arguments), "files": dict(program.files)}
    return {**common, "strip": False, "probe": False}


def _jobs(program: Program) -> list[dict[str, Any]]:
    """The eager and the hybrid run."""
    common = {"entry": program.entry, "arguments": list(program.arguments)}
    eager: dict[str, Any] = {**common, "files": dict(program.files)}
    if not program.targets:
        return [{**eager, "strip": True, "probe": None}, {**eager, "strip": False, "probe": False}]
    texts = dict(program.files)
    names = []
    for target in program.targets:
        path, name = split_target(program, target)
        names.append(lexical_path(texts.get(path, ""), name))
    hybrid = {**common, "files": dict(decorated(program).files)}
    return [{**eager, "strip": False, "probe": names}, {**hybrid, "strip": False, "probe": False}]


def _at_original_line(hybrid: dict[str, Any], entry: str, jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The hybrid run's report with the line of its error as in the program without the decorators."""
    if hybrid.get("error"):
        texts = [job["files"][entry] for job in jobs]
        hybrid["error"]["line"] = _original_line(texts[0], texts[1], hybrid["error"]["line"])
    return hybrid


def _original_line(original: str, decorated: str, line: int | None) -> int:
    """The line (from 1) of the program as it is, for one of the decorated program; 0 for None."""
    if not line or original == decorated:
        return line or 0
    matcher = difflib.SequenceMatcher(None, original.splitlines(), decorated.splitlines(), autojunk=False)
    for block in matcher.get_matching_blocks():
        if line <= block.b + block.size:
            return max(line - block.b, 1) + block.a
    return line


def prove(
    source: str,
    target: str | None = None,
    *,
    server: ForkServer,
    decorator: str = "tf.function",
    outermost: bool = False,
) -> Outcome:
    """The outcome for a one-file program; without a target its own `tf.function`s are what is hybrid."""
    return server.prove(Program.single(source, target, decorator=decorator, outermost=outermost))
