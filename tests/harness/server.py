"""The client of the fork server: starts it, sends programs, takes the outcomes."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import hybridize
from harness.decorate import TargetError, decorated, lexical_path, split_target
from harness.model import PATIENCE, Difference, Kind, Outcome, Program
from hybridize.runtime.verify import TOLERANCES

START = "import sys; sys.path[:0] = sys.argv[1:];from harness.main import main; main(*sys.argv[1:])"
#: Where this package is, and the one under test.
LIBRARIES = (Path(__file__).resolve().parents[1], Path(hybridize.__file__).resolve().parents[1])
START_SECONDS = 120.0
SIDE_BY_SIDE = 3  # programs; each is two processes, of which the eager one is soon done


#: The job of the eager run, and the hybrid one's.
Pair = tuple[dict[str, Any], dict[str, Any]]


class RuntimeUnavailable(RuntimeError):
    """The interpreter has no TensorFlow, or the server died; the message says which."""


class ForkServer:
    """A process with TensorFlow imported and no op executed, which forks for each run. Use as a context.

    Args:
        python: the interpreter that has TensorFlow (default: this one).
        seconds: the limit for one run, of processor time.
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
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [self.python, "-c", START, *map(str, LIBRARIES)],
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
        found: dict[int, Outcome] = {}
        pairs: dict[int, Pair] = {}
        for i, program in enumerate(programs):
            try:
                pairs[i] = _jobs(program)
            except TargetError as error:
                found[i] = Outcome(Kind.FAILED, (Difference("target", str(error), ""),))
        found.update(zip(pairs, self._outcomes(list(pairs.values())), strict=True))
        return [found[i] for i in sorted(found)]

    def compare_all(self, pairs: Iterable[tuple[Program, Program]]) -> list[Outcome]:
        """For pairs of programs (before and after a change), each run as it is: what the second does otherwise.

        Differences by which two runs of the first differ, too, are noise.
        """
        return self._outcomes([(_as_it_is(before), _as_it_is(after)) for before, after in pairs])

    def run(self, program: Program) -> Outcome:
        """What a program does by itself that an empty one does not: its exception, its output, its names."""
        return self.compare_all([(Program.single(""), program)])[0]

    def _outcomes(self, pairs: list[Pair]) -> list[Outcome]:
        found: list[Outcome] = []
        for start in range(0, len(pairs), SIDE_BY_SIDE):
            found += map(Outcome.from_json, self._asked(pairs[start : start + SIDE_BY_SIDE]))
        return found

    def _asked(self, pairs: list[Pair]) -> list[dict[str, Any]]:
        request = {"pairs": pairs, "seconds": self._seconds, "memory": self._memory, "tolerances": TOLERANCES}
        if self._process is None or self._process.stdin is None:
            raise RuntimeUnavailable("the server is not running")
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer: list[dict[str, Any]] = self._answer(2 * PATIENCE * self._seconds + 30)
        return answer

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


def _jobs(program: Program) -> Pair:
    """The eager and the hybrid run."""
    common = {"entry": program.entry, "arguments": list(program.arguments)}
    eager: dict[str, Any] = {**common, "files": dict(program.files)}
    if not program.targets:
        return {**eager, "strip": True, "probe": None}, {**eager, "strip": False, "probe": False}
    texts = dict(program.files)
    names = []
    for target in program.targets:
        path, name = split_target(program, target)
        names.append(lexical_path(texts.get(path, ""), name))
    hybrid = {**common, "files": dict(decorated(program).files)}
    return {**eager, "strip": False, "probe": names}, {**hybrid, "strip": False, "probe": False}


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
