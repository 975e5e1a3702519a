"""`hybridize verify --all` on a folder of semantics cases: what it catches, what it misses, and whom it blames.

    python scripts/verify_cases.py FOLDER --python PATH [--only NAME ...] [--show] [--jobs N]

The folders are those of `scripts/semantics_cases.py`. Each program is analyzed, every function that can be decorated is
watched, and the program is run in a process forked off one with TensorFlow imported: seconds instead of minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from semantics_cases import Case, read_cases

from hybridize.api import analyze
from hybridize.cli.programs import Conversions, conversions, everything
from hybridize.config import Config
from hybridize.runtime.launch import GUEST, Ended, Launch, Target, job_of, read_events
from hybridize.runtime.verify import KINDS, Verdict, judge, shadow_options

#: Forks for every job and reports each one's exit code; a job that is late is killed.
SERVER = """
import json, os, runpy, signal, sys, time
guest, jobs, seconds, width = sys.argv[1], json.load(open(sys.argv[2])), float(sys.argv[3]), int(sys.argv[4])
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
running, waiting = {}, list(enumerate(jobs))
while running or waiting:
    while waiting and len(running) < width:
        number, job = waiting.pop(0)
        pid = os.fork()
        if not pid:
            child(job)
        running[pid] = (number, time.monotonic() + seconds)
    pid, status = os.waitpid(-1, os.WNOHANG)
    if pid in running:
        number, _ = running.pop(pid)
        print(json.dumps([number, os.waitstatus_to_exitcode(status)]), flush=True)
    elif not pid:
        time.sleep(0.02)
        for pid, (_, limit) in running.items():
            if time.monotonic() > limit:
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


def run_all(prepared: list[tuple[Launch, Conversions]], python: str, seconds: float, jobs: int) -> list[list[Verdict]]:
    """The verdicts on every case's functions."""
    with tempfile.TemporaryDirectory() as name:
        listed = []
        for run, _ in prepared:
            assert run.cwd is not None
            report = run.cwd / "report.jsonl"
            (run.cwd / "job.json").write_text(json.dumps(job_of(run, report)))
            listed.append({"cwd": str(run.cwd), "job": str(run.cwd / "job.json")})
        jobs_file = Path(name) / "jobs.json"
        jobs_file.write_text(json.dumps(listed))
        command = [python, "-c", SERVER, str(GUEST), str(jobs_file), str(seconds), str(jobs)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        codes: dict[int, int] = dict(json.loads(line) for line in done.stdout.splitlines())
    found = []
    for number, (run, made) in enumerate(prepared):
        assert run.cwd is not None
        events = tuple(read_events(run.cwd / "report.jsonl"))
        ended = Ended(codes.get(number, -9), 0.0, "exit", events)
        found.append(judge(made.functions, ended))
    return found


def main() -> None:
    """Prints the table, and whoever is not where he should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
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
        results = run_all(prepared, args.python, args.seconds, args.jobs)
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
