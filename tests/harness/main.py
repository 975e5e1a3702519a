"""The fork server: imports TensorFlow once, executes no op, and forks a child for each run of a program."""

from __future__ import annotations

import contextlib
import difflib
import gc
import importlib
import json
import math
import os
import pickle
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness.child import execute
from harness.compare import outcome
from harness.model import PATIENCE, Kind, Outcome
from hybridize.runtime.guest.differ import Comparison

#: What programs load at their first use of something; only modules that execute no op when they are imported.
PRELOADED = ("numpy", "numpy.random", *(f"tensorflow.python.data.ops.{n}_op" for n in ("range", "zip", "from_tensors")))
HEADER = 8  # bytes that tell the length of what follows


def main(*libraries: str) -> None:
    """Reads requests (one JSON object a line) from standard input, writes answers to standard output, until its end.

    Args:
        libraries: folders that were put on the path for this server alone, taken off again for the programs.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 1)
    versions = _load()
    for folder in libraries:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
    gc.collect()
    gc.freeze()  # the children touch no page that they need not
    _say(answers, versions)
    for line in sys.stdin:
        _say(answers, [found.as_json() for found in _outcomes(json.loads(line))])


def _load() -> dict[str, str]:
    """Imports what most programs use and warms AutoGraph, without executing an op or creating a thread pool."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")  # fewer threads to start in each child
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", "2")
    tf = importlib.import_module("tensorflow")
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    keras: Any = tf.keras  # loaded lazily
    keras.layers, keras.optimizers, keras.metrics  # noqa: B018
    with contextlib.suppress(Exception):
        tf.autograph.to_graph(_sample)
    named = str(getattr(keras, "__version__", "") or importlib.import_module("keras").__version__)
    return {"tensorflow": str(tf.__version__), "keras": named}


def _sample(x: Any) -> Any:
    """Something for AutoGraph to convert: it loads much at its first use."""
    total = 0
    for i in x:
        total += i if i > 0 else -i
    return total


def _say(answers: Any, what: object) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def _outcomes(request: dict[str, Any]) -> list[Outcome]:
    """For each pair of jobs what the second does otherwise; a third run, of the first job, tells noise from effect.

    No third run tells more where only the second one ended by an exception.
    """
    pairs = request["pairs"]
    comparison = Comparison(importlib.import_module("numpy"), request["tolerances"])
    runs = _run_all([job for pair in pairs for job in pair], request)
    results = [(runs[2 * i], _at_original_line(runs[2 * i + 1], *pair)) for i, pair in enumerate(pairs)]
    found = [outcome(comparison, *both) for both in results]
    ended = [not eager.get("error") and bool(hybrid.get("error")) for eager, hybrid in results]
    unsure = [i for i, o in enumerate(found) if o.kind in (Kind.DIFFERS, Kind.RAISES) and not ended[i]]
    for i, again in zip(unsure, _run_all([pairs[i][0] for i in unsure], request), strict=True):
        found[i] = outcome(comparison, *results[i], again)
    return found


def _at_original_line(run: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The second run's report with the line of its error as in the first program."""
    if run.get("error"):
        original, changed = (job["files"][job["entry"]] for job in (before, after))
        run["error"]["line"] = _original_line(original, changed, run["error"]["line"])
    return run


def _original_line(original: str, changed: str, line: int | None) -> int:
    """The line (from 1) of the program as it was, for one of the changed program; 0 for None."""
    if not line or original == changed:
        return line or 0
    matcher = difflib.SequenceMatcher(None, original.splitlines(), changed.splitlines(), autojunk=False)
    for block in matcher.get_matching_blocks():
        if line <= block.b + block.size:
            return max(line - block.b, 1) + block.a
    return line


def _run_all(jobs: list[dict[str, Any]], request: dict[str, Any]) -> list[dict[str, Any]]:
    """All jobs, side by side, each in a process and a folder of its own."""
    root = Path(tempfile.mkdtemp(prefix="hybridize-run-")).resolve()
    try:
        children = [_start(job, root / f"{i}", request["memory"], request["seconds"]) for i, job in enumerate(jobs)]
        return _collect(children, time.monotonic() + PATIENCE * request["seconds"])
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _start(job: dict[str, Any], folder: Path, memory: int, seconds: float) -> tuple[int, int]:
    folder.mkdir()
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        os.setsid()
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _limit(memory, seconds)
        data = pickle.dumps(execute(job, folder))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(len(data).to_bytes(HEADER, "big") + data)
    finally:
        os._exit(0)  # no exit handler of the parent's may run


def _limit(memory: int, seconds: float) -> None:
    """Private memory beyond what the process has may grow by so many bytes; so much processor time it may take."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + memory
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _collect(children: list[tuple[int, int]], deadline: float) -> list[dict[str, Any]]:
    """The children's reports; who is late is killed, with all that it started."""
    received = {pipe: b"" for _, pipe in children}
    waiting = set(received)
    while waiting and (left := deadline - time.monotonic()) > 0:
        for pipe in select.select(list(waiting), [], [], left)[0]:
            chunk = os.read(pipe, 1 << 20)
            received[pipe] += chunk
            if not chunk or _complete(received[pipe]):
                waiting.discard(pipe)
    results = []
    for child, pipe in children:
        for group in (True, False):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                (os.killpg if group else os.kill)(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(pipe)
        if _complete(received[pipe]):
            results.append(pickle.loads(received[pipe][HEADER:]))
        elif pipe in waiting or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
            results.append({"ended": "timeout"})
        else:
            code = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            results.append({"ended": "crash", "message": f"the process ended with signal {code}"})
    return results


def _complete(data: bytes) -> bool:
    return len(data) >= HEADER and len(data) - HEADER >= int.from_bytes(data[:HEADER], "big")
