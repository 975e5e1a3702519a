"""`hybridize verify --all` on a folder of semantics cases: what it catches, what it misses, and whom it blames.

    python scripts/verify_cases.py FOLDER --python PATH [--only NAME ...] [--show] [--jobs N] [--once]

The folders are those of `scripts/semantics_cases.py`. Each program is analyzed, every function that can be decorated is
watched, and the program is run in a process forked off one with TensorFlow imported: seconds instead of minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from semantics_cases import Case, read_cases

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.fixing.memory import Conversions, conversions, everything
from hybridize.runtime.launch import GUEST, Ended, Launch, Target, job_of, read_events
from hybridize.runtime.verify import KINDS, Verdict, judge, shadow_options
from hybridize.runtime.whole import Comparison, again

#: Forks for every line, a job, and tells the exit code; a job that is late is killed.
SERVER = """
import json, os, runpy, selectors, signal, sys, time
guest = sys.argv[1]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "2")
import tensorflow as tf
tf.keras.layers, tf.keras.optimizers
def child(job):
    os.setsid()
    os.chdir(job["cwd"])
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
    sys.path[:] = [guest.rpartition("/")[0], *(p for p in sys.path if p)]
    code = 1
    try:
        runpy.run_path(guest)["start"](job["job"])
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
running, lines, buffer = {}, selectors.DefaultSelector(), b""
lines.register(0, selectors.EVENT_READ)
open_input = True
while running or open_input:
    if open_input and lines.select(0.02):
        data = os.read(0, 65536)
        open_input = bool(data)
        *whole, buffer = (buffer + data).split(b"\\n")
        for line in whole:
            job = json.loads(line)
            pid = os.fork()
            if not pid:
                child(job)
            running[pid] = (job["number"], time.monotonic() + job["seconds"])
    elif not open_input:
        time.sleep(0.02)
    for pid in list(running):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            number, _ = running.pop(pid)
            print(json.dumps([number, os.waitstatus_to_exitcode(status)]), flush=True)
        elif time.monotonic() > running[pid][1]:
            os.killpg(pid, signal.SIGKILL)
"""


def prepare(case: Case, folder: Path) -> tuple[Launch, Conversions]:
    """The case as a project of its own, with everything that can be converted."""
    folder.mkdir()
    (folder / "main.py").write_text(case.source, encoding="utf-8")
    report = analyze([folder], Config())
    made = conversions(report, everything(report))
    run = Launch(
        Target.script("main.py"),
        made.files,
        cwd=folder,
        mode="shadow",
        options=shadow_options(call_seconds=20.0),
        functions=tuple(made.described()),
        own=(str(folder),),
    )
    return run, made


class Server:
    """Runs jobs in processes forked off one that has TensorFlow; several threads may ask at once."""

    def __init__(self, python: str) -> None:
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        command = [python, "-c", SERVER, str(GUEST)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._waiting: dict[int, queue.Queue[int]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, code = json.loads(line)
            self._waiting.pop(number).put(code)

    def run(self, job: Launch) -> Ended:
        """One run, as `launch` gives it."""
        assert job.cwd is not None
        assert self._process.stdin is not None
        answer: queue.Queue[int] = queue.Queue()
        with self._lock:
            number = Server.count = Server.count + 1
            self._waiting[number] = answer
        path, report = job.cwd / f"job{number}.json", job.cwd / f"report{number}.jsonl"
        path.write_text(json.dumps(job_of(job, report)))
        started = time.perf_counter()
        sent = {"number": number, "cwd": str(job.cwd), "job": str(path), "seconds": job.timeout or 60.0}
        with self._lock:
            self._process.stdin.write(json.dumps(sent) + "\n")
            self._process.stdin.flush()
        code = answer.get()
        reason = "timeout" if code == -9 else "exit"
        return Ended(code, time.perf_counter() - started, reason, tuple(read_events(report)))

    count = 0

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def verified(server: Server, run: Launch, made: Conversions, once: bool) -> list[Verdict]:
    """The verdicts on a case's functions, as `hybridize verify --all` gives them."""
    ended = server.run(run)
    verdicts = judge(made.functions, ended)
    if once or ended.reason != "exit":
        return verdicts

    def run_again(left: frozenset[int], nudge: int) -> Ended:
        return server.run(again(run, left, nudge, 30.0))

    return Comparison(ended, verdicts, run_again, apart=True).compare()[1]


def run_all(
    prepared: list[tuple[Launch, Conversions]], python: str, seconds: float, jobs: int, once: bool
) -> list[list[Verdict]]:
    """The verdicts on every case's functions."""
    server = Server(python)
    try:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(lambda p: verified(server, replace(p[0], timeout=seconds), p[1], once), prepared))
    finally:
        server.close()


def main() -> None:
    """Prints the table, and whoever is not where he should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--once", action="store_true", help="only compare calls, not the programs' ends")
    parser.add_argument("--keep", type=Path, help="a new folder for the programs and their reports")
    args = parser.parse_args()
    query = "import tensorflow; print(*tensorflow.__version__.split('.')[:2], sep='')"
    version = subprocess.run(
        [args.python, "-c", query], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    ).stdout.strip()
    cases = [c for c in read_cases(args.folder) if c.plain and (not args.only or c.name in args.only)]
    with tempfile.TemporaryDirectory() as temporary:
        root = args.keep or Path(temporary)
        root.mkdir(exist_ok=True)
        prepared = [prepare(case, root / case.name) for case in cases]
        started = time.perf_counter()
        results = run_all(prepared, args.python, args.seconds, args.jobs, args.once)
        seconds = time.perf_counter() - started
    table(cases, results, version, args.show)
    print(f"{len(cases)} programs, {seconds:.0f} s")


def table(cases: list[Case], results: list[list[Verdict]], version: str, show_all: bool) -> None:
    """Recorded classes against verdicts on the target."""
    counts: Counter[tuple[str, str]] = Counter()
    for case, verdicts in zip(cases, results, strict=True):
        expected = case.classes.get(version, "?")
        target = [v for v in verdicts if v.qualname.rpartition(".")[2] == "target"]
        worst = min((v.kind for v in target), default="not watched", key=ORDER.index)
        counts[expected, worst] += 1
        others = [v for v in verdicts if v not in target and v.kind in ("different", "raised")]
        right = worst in GOOD[expected]
        if show_all or not right or others:
            print(f"{' ' if right else '!'} {case.name}: recorded {expected}, target {worst}; {case.detail[:150]}")
            for verdict in verdicts:
                print(f"      {verdict}"[:300])
    for (theirs, ours), n in sorted(counts.items()):
        print(f"  {theirs:13} {ours:12} {n:4}  {'' if ours in GOOD[theirs] else '!'}")


ORDER = [*KINDS, "not watched"]
GOOD: dict[str, tuple[str, ...]] = {
    "SAFE": ("equal", "random", "in graphs"),
    "ERROR": ("raised", "different"),
    "WRONG-SILENT": ("raised", "different"),
    "RETRACE": ("retraces", "raised", "different"),
    "?": (),
}


if __name__ == "__main__":
    main()
