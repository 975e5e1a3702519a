"""Runs a project's tests, applies `fix` to a copy of it, and compares."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from project_corpus import Home, Project, fresh_copy, test_files

PLUGIN = Path(__file__).parent / "project_plugin"
MODES: Mapping[str, Sequence[str]] = {
    "default": (),
    "declared": ("--confidence=declared",),
    "assumed": ("--confidence=assumed",),
    "all-safe": ("--all-safe",),
    "unsafe-fixes": ("--unsafe-fixes",),
}
BAD = ("failed", "crashed")
_TOO_LONG = "hybridize_recorder.TookTooLong"
_KEPT = ("outcome", "seconds", "cpu", "message", "places", "graphs", "traced")
_BATCH = 25  # test files per process: a crash loses the rest of one
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """All in seconds."""

    budget: float = 30.0  # of CPU for the tests of the first run: no further test is begun then
    test: float = 120.0
    run: float = 600.0
    fix: float = 900.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended."""

    outcome: str  # passed, failed, skipped, xfailed, crashed
    seconds: float = 0.0
    cpu: float = 0.0
    message: str = ""
    places: Sequence[str] = ()
    graphs: Sequence[str] = ()  # functions of the tree that ran as graphs of their own, "path:qualified name"
    traced: Mapping[str, float] = field(default_factory=dict)  # calls, traces, objects of these, seconds of traces


@dataclass(frozen=True, slots=True)
class TestRun:
    """How all tests ended (by node id, in the order in which they ran), and the tree's modules that were imported."""

    tests: Mapping[str, Outcome]
    modules: Sequence[str]
    seconds: float
    timed_out: bool = False

    def bad(self) -> set[str]:
        """The tests that did not end well."""
        return {name for name, test in self.tests.items() if test.outcome in BAD}

    def files(self) -> list[str]:
        """The test files, in that order."""
        return list(dict.fromkeys(name.split("::")[0] for name in self.tests))

    def traced(self) -> dict[str, float]:
        """What all tests did with graphs of the tree: calls, traces, how many objects, CPU seconds of traces."""
        keys = ("calls", "traces", "objects", "seconds")
        return {key: sum(test.traced.get(key, 0) for test in self.tests.values()) for key in keys}


def _with_parent() -> None:
    """In the child, before it runs: it ends when this process does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def guarded(command: Sequence[str], folder: Path, variables: Mapping[str, str], limit: float, log: Path) -> int | None:
    """The exit code of a command that runs in a process group of its own, None after `limit` seconds; none is left."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_with_parent,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def _variables(project: Project, root: Path, record: Path, limits: Limits, left: float) -> dict[str, str]:
    """The environment variables of a test process."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
    paths = [str(root / part) for part in project.path]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([*paths, str(PLUGIN)]),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "MPLBACKEND": "Agg",
        "HYBRIDIZE_RECORD": str(record),
        "HYBRIDIZE_TREE": str(root),
        "HYBRIDIZE_BUDGET": str(left),
        "HYBRIDIZE_TEST_SECONDS": str(int(limits.test)),
        **project.variables,
    }


def _scratch(home: Home, project: Project, name: str) -> Path:
    """A file of this process: another one may be at the same project."""
    return home.work(project) / f"{os.getpid()}.{name}"


def run_tests(
    home: Home, project: Project, root: Path, limits: Limits, like: TestRun | None = None, ids: Sequence[str] = ()
) -> TestRun:
    """Run the tests in `root`: these (ids, files), or those of another, or the project's until the budget is used."""
    started, deadline = time.monotonic(), time.monotonic() + limits.run
    wanted = list(ids) if like is None else list(like.tests)
    files = test_files(project, root) if not wanted else list(dict.fromkeys(name.split("::")[0] for name in wanted))
    record, chosen = _scratch(home, project, "record"), _scratch(home, project, "chosen")
    chosen.write_text("\n".join(wanted), encoding="utf-8")
    tests: dict[str, Outcome] = {}
    modules: set[str] = set()
    timed_out = False
    for start in range(0, len(files), _BATCH):
        left = float("inf") if wanted else limits.budget - sum(test.cpu for test in tests.values())
        if timed_out or left <= 0:
            break
        record.unlink(missing_ok=True)
        variables = _variables(project, root, record, limits, left)
        if wanted:
            variables["HYBRIDIZE_TESTS"] = str(chosen)
        command = [*_pytest(home, project, root), *files[start : start + _BATCH]]
        log = home.work(project) / "tests.log"
        code = guarded(command, root, variables, max(deadline - time.monotonic(), 5.0), log)
        timed_out = code is None
        one = read_record(record)
        tests.update(one.tests)
        modules.update(one.modules)
    for path in (record, chosen):
        path.unlink(missing_ok=True)
    return TestRun(tests, sorted(modules), time.monotonic() - started, timed_out)


def _pytest(home: Home, project: Project, root: Path) -> list[str]:
    """The command without what is to be run; the project's own options (coverage, processes) are not taken over."""
    command = [str(home.python(project)), "-m", "pytest", "-q", "--tb=short", "--continue-on-collection-errors"]
    command += ["-p", "hybridize_recorder", "-p", "no:cacheprovider", "-W", "ignore", "--rootdir", str(root)]
    for setting in ("addopts=", "filterwarnings=", "python_files=*.py", "xfail_strict=false"):
        command += ["-o", setting]
    return [*command, *project.arguments, *(f"--deselect={name}" for name in project.deselected if "::" in name)]


def read_record(path: Path) -> TestRun:
    """What the plugin wrote in one process; a test that began and did not end has crashed it."""
    tests: dict[str, Outcome] = {}
    modules: list[str] = []
    running: str | None = None
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            continue  # cut off by the crash
        if "start" in entry:
            running = entry["start"]
        elif "id" in entry:
            running = None
            known = {key: entry[key] for key in _KEPT if key in entry}
            tests[entry["id"]] = Outcome(**known)
        elif "modules" in entry:
            modules = entry["modules"]
    if running is not None:
        tests[running] = Outcome("crashed", message="the process ended or was ended during this test")
    return TestRun(tests, modules, 0.0)


@dataclass(frozen=True, slots=True)
class Fixed:
    """What `fix` did."""

    code: int | None
    seconds: float
    changes: Sequence[Mapping[str, Any]] = ()  # path, function, line, action, outcome
    repairs: int = 0
    error: str = ""

    @property
    def done(self) -> list[Mapping[str, Any]]:
        """The changes that were made."""
        return [change for change in self.changes if change["outcome"] == "done"]


def apply_fix(
    home: Home,
    project: Project,
    root: Path,
    tool: Path,
    options: Iterable[str],
    limits: Limits,
    only: Sequence[str] = (),
) -> Fixed:
    """Run `hybridize fix` of the source tree `tool` on a copy; `only`: the changes (FILE:LINE) to be made."""
    output = _scratch(home, project, "fix.json")
    output.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-P",
        "-m",
        "hybridize",
        "fix",
        *options,
        "--output-format",
        "json",
        "--output-file",
        str(output),
    ]
    for name in only:
        command += ["--only", name]
    variables = {**os.environ, "PYTHONPATH": str(tool / "src")}
    started = time.monotonic()
    log = _scratch(home, project, "fix.log")
    log.unlink(missing_ok=True)
    code = guarded([*command, *project.fix], root, variables, limits.fix, log)
    seconds = time.monotonic() - started
    if not output.exists():
        return Fixed(code, seconds, error=log.read_text(encoding="utf-8", errors="replace")[-2000:])
    report = json.loads(output.read_text(encoding="utf-8"))
    for path in (output, log):
        path.unlink(missing_ok=True)
    changes = [{"path": entry["path"], **change} for entry in report["files"] for change in entry["changes"]]
    return Fixed(code, seconds, changes, len(report.get("repairs", ())))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the tests say before and after."""

    newly_failing: Sequence[str]
    flaky: Sequence[str]  # failed after in one of two runs, or before in one of two
    newly_slow: Sequence[str]
    ratio: float  # of the time of the tests that passed in both
    seconds: Sequence[float] = field(default=(0.0, 0.0))


def slower(before: TestRun, after: TestRun) -> tuple[list[str], float, tuple[float, float]]:
    """Tests above twice their time and a second more, by both clocks; the ratio of all, and the sums, of CPU time."""
    both = [n for n, t in before.tests.items() if t.outcome == "passed" and n in after.tests]
    both = [name for name in both if after.tests[name].outcome == "passed"]
    slow = []
    for name in both:
        was, now = before.tests[name], after.tests[name]
        if (
            min(now.cpu - was.cpu, now.seconds - was.seconds) > 1
            and now.cpu > 2 * was.cpu
            and now.seconds > 2 * was.seconds
        ):
            slow.append(name)
    old, new = (sum(run.tests[name].cpu for name in both) for run in (before, after))
    return slow, new / old if old > 0 else 1.0, (old, new)


def key_of(project: Project) -> str:
    """What a first run hangs on; the budget only says how many tests there are."""
    return hashlib.sha256(json.dumps(asdict(project), default=str).encode()).hexdigest()[:16]


def baseline(home: Home, project: Project, limits: Limits, again: bool = False) -> TestRun:
    """The tests of the project as it is, without those that take too long; kept until its entry changes."""
    kept, key = home.result("baseline", project, "before"), key_of(project)
    if kept.exists() and not again:
        data = json.loads(kept.read_text(encoding="utf-8"))
        if data["key"] == key:
            return load_run(data["run"])
    run = run_tests(home, project, fresh_copy(home, project, "before"), limits)
    in_time = {name: test for name, test in run.tests.items() if not test.message.startswith(_TOO_LONG)}
    run = TestRun(in_time, run.modules, run.seconds, run.timed_out)
    save(kept, {"project": project.name, "commit": project.commit, "key": key, "run": asdict(run)})
    return run


def load_run(data: Mapping[str, Any]) -> TestRun:
    """The run that was saved."""
    return TestRun(**{**data, "tests": {name: Outcome(**test) for name, test in data["tests"].items()}})


def save(path: Path, data: Mapping[str, Any]) -> None:
    """As JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(data, indent=1), encoding="utf-8")
    draft.replace(path)


def compare(home: Home, project: Project, before: TestRun, after: TestRun, root: Path, limits: Limits) -> Comparison:
    """What is newly bad; the files of doubtful tests run once more on both trees, to part the flaky from the broken."""
    suspects = {n for n, t in before.tests.items() if t.outcome not in BAD and _bad(after, n)}
    suspects |= {n for n in after.bad() if n not in before.tests}
    slow, ratio, sums = slower(before, after)
    again = {name.split("::")[0] for name in suspects}
    if (ratio > 1.1 and sums[1] - sums[0] > 1) or slow:
        again.update(before.files())
    if not again:
        return Comparison([], [], [], ratio, sums)
    ids = [name for name in {**before.tests, **dict.fromkeys(suspects)} if name.split("::")[0] in again]
    old = run_tests(home, project, home.work(project) / "before" / project.folder, limits, ids=ids)
    new = run_tests(home, project, root, limits, ids=ids)
    broken = sorted(n for n in suspects if _bad(new, n) and old.tests.get(n, _MISSING).outcome not in BAD)
    slow_again, ratio_again, sums_again = slower(old, new)
    if again >= set(before.files()) and ratio_again < ratio:
        ratio, sums = ratio_again, sums_again
    return Comparison(broken, sorted(suspects - set(broken)), sorted({*slow} & {*slow_again}), ratio, sums)


_MISSING = Outcome("crashed", message="did not run")


def _bad(run: TestRun, name: str) -> bool:
    return run.tests.get(name, _MISSING).outcome in BAD


def with_changed_tests(home: Home, project: Project, before: TestRun, fixed: Fixed, limits: Limits) -> TestRun:
    """The first run, with the test files besides that `fix` changed: what it does to tests shows only there."""
    changed = {change["path"] for change in fixed.done}
    root = home.work(project) / "before" / project.folder
    more = [name for name in test_files(project, root) if name in changed and name not in before.files()]
    if not more:
        return before
    run = run_tests(home, project, root, limits, ids=more)
    in_time = {name: test for name, test in run.tests.items() if not test.message.startswith(_TOO_LONG)}
    return TestRun({**before.tests, **in_time}, before.modules, before.seconds)


def measure(home: Home, project: Project, tool: Path, mode: str, label: str, limits: Limits) -> dict[str, Any]:
    """The whole of one project and mode; the result is kept as JSON."""
    before = baseline(home, project, limits)
    root = fresh_copy(home, project, mode)
    fixed = apply_fix(home, project, root, tool, MODES[mode], limits)
    result: dict[str, Any] = {
        "project": project.name,
        "repository": project.repository,
        "commit": project.commit,
        "half": project.half,
        "mode": mode,
        "fix": {"code": fixed.code, "seconds": fixed.seconds, "repairs": fixed.repairs, "error": fixed.error},
        "changes": fixed.done,
        "tests": len(before.tests),
        "failing_before": len(before.bad()),
        "newly_failing": {},
        "flaky": [],
        "newly_slow": [],
        "ratio": 1.0,
    }
    if fixed.done or fixed.repairs:
        before = with_changed_tests(home, project, before, fixed, limits)
        result["tests"], result["failing_before"] = len(before.tests), len(before.bad())
        after = run_tests(home, project, root, limits, like=before)
        found = compare(home, project, before, after, root, limits)
        result["reached"] = sum(change["path"] in after.modules for change in fixed.done)
        changed = {f"{change['path']}:{change['function'].partition(':')[2]}" for change in fixed.done}
        reach = [name for name, test in after.tests.items() if changed.intersection(test.graphs)]
        result["reaching"] = [name for name in reach if name in before.tests and before.tests[name].outcome not in BAD]
        result["newly_failing"] = {n: asdict(after.tests.get(n, _MISSING)) for n in found.newly_failing}
        result["flaky"], result["newly_slow"], result["ratio"] = found.flaky, found.newly_slow, found.ratio
        result["seconds"], result["traced"] = found.seconds, after.traced()
    save(home.result(label, project, mode), result)
    return result
