"""How fast `hybridize check` is: CPU time of a cold check against `ast.parse` of the same files, in one run.

    python benchmarks/check_speed.py [--repeat N] [--growth] [--kept] PROJECT...

Ratios in one run are what counts: seconds depend on the machine and on what else runs on it. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: What the comparison runs: reads and parses every Python file below a folder, as a check does.
_PARSE = """
import ast, gc, pathlib, sys, warnings
gc.disable()
warnings.simplefilter("ignore")
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        pass
"""
#: `ru_maxrss` is in kilobytes, but on macOS in bytes.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: CPU seconds (user and system), its largest resident size in MB, seconds by the clock."""

    seconds: float
    megabytes: float
    clock: float


#: Modules stand compiled where they are installed: a shell that keeps Python from it must not be part of the figures.
_COMPILED = tempfile.TemporaryDirectory(prefix="check-speed-compiled-")
_ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPYCACHEPREFIX": _COMPILED.name,
}


def measure(command: Sequence[str]) -> Cost:
    """Runs a command, its output dropped, and says what it took; raises RuntimeError if it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=_ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(command)}")
    clock = time.perf_counter() - started
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _RSS_UNIT / 1e6, clock)


def least(runs: Sequence[Cost]) -> Cost:
    """The least of several runs: what the work takes when nothing disturbs it."""
    return Cost(*(min(getattr(run, name) for run in runs) for name in ("seconds", "megabytes", "clock")))


def check_command(project: Path, *more: str) -> list[str]:
    """A check of a project without its notebooks; a cold one if nothing more is said."""
    options = [
        "--all-safe",
        "--output-format",
        "json",
        "--exclude",
        "*.ipynb",
        *(more or ("--no-cache", "--jobs", "1")),
    ]
    return [sys.executable, "-m", "hybridize", "check", str(project), *options]


def compared(project: Path, repeat: int) -> tuple[Cost, Cost]:
    """The cost of a check and of parsing, their runs interleaved."""
    checks, parses = [], []
    for _ in range(repeat):
        parses.append(measure([sys.executable, "-c", _PARSE, str(project)]))
        checks.append(measure(check_command(project)))
    return least(checks), least(parses)


@dataclass(frozen=True, slots=True)
class Kept:
    """Times as parts of a cold check's: unchanged, after an edit within a function, after one of a comment (medians),
    and two jobs against one."""

    unchanged: float
    edited: float
    commented: float
    jobs: float


def kept(project: Path, edits: int, seed: int = 0) -> Kept:
    """What a check costs after another one, of a copy of the project."""
    folder = Path(tempfile.mkdtemp(prefix="check-speed-"))
    try:
        copy = folder / "project"
        copy_sources(project, copy)
        again = check_command(copy, "--cache-dir", str(folder / "kept"))
        cold = measure(check_command(copy)).clock
        two = measure(check_command(copy, "--no-cache", "--jobs", "2")).clock
        measure(again)
        unchanged = measure(again).clock
        chosen = random.Random(seed)
        places = [found for path in sorted(copy.rglob("*.py")) for found in _bodies(path)]
        edited, commented = (
            [_after_edit(*chosen.choice(places), text, again) for _ in range(edits)] for text in ("pass", "# seen")
        )
        return Kept(unchanged / cold, statistics.median(edited) / cold, statistics.median(commented) / cold, two / cold)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _bodies(path: Path) -> list[tuple[Path, int, str]]:
    """The first lines (from 0) of the bodies of a file's functions, with their indentation."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    first = (function.body[0] for function in functions if function.body[0].lineno > function.lineno)
    return [(path, each.lineno - 1, " " * each.col_offset) for each in first]


def _after_edit(path: Path, line: int, indent: str, text: str, command: Sequence[str]) -> float:
    """Seconds of a check after a line was put into a file; the file is then as it was, and known to be."""
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:line], f"{indent}{text}\n".encode(), *lines[line:]]))
    try:
        return measure(command).clock
    finally:
        path.write_bytes(data)


def lines_of(project: Path) -> int:
    """The lines of the Python files of a project."""
    return sum(path.read_bytes().count(b"\n") for path in project.rglob("*.py") if path.is_file())


def copy_sources(project: Path, target: Path, suffix: str = "") -> None:
    """Copies the Python files of a project; with a suffix, its top-level packages and modules get other names."""
    names = {path.stem for path in project.iterdir() if path.is_dir() or path.suffix == ".py"}
    pattern = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, sorted(names))) + r")(?=[.\s])") if names else None
    for path in sorted(project.rglob("*.py")):
        if not path.is_file():
            continue
        first, *rest = path.relative_to(project).parts
        renamed = f"{Path(first).stem}{suffix}{Path(first).suffix}"
        made = target.joinpath(renamed, *rest)
        made.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        if suffix and pattern is not None:
            text = "".join(_renamed(line, pattern, suffix) for line in text.splitlines(keepends=True))
        made.write_bytes(text.encode("utf-8", "surrogateescape"))


def _renamed(line: str, pattern: re.Pattern[str], suffix: str) -> str:
    is_import = line.lstrip().startswith(("import ", "from "))
    return pattern.sub(rf"\g<1>{suffix}", line) if is_import else line


def growth(project: Path, repeat: int) -> float:
    """How many times as long the check of a project takes with a copy of it under other package names."""
    folder = Path(tempfile.mkdtemp(prefix="check-speed-"))
    try:
        single, double = folder / "single", folder / "double"
        copy_sources(project, single)
        copy_sources(project, double)
        copy_sources(project, double, "_again")
        runs = [(measure(check_command(single)), measure(check_command(double))) for _ in range(repeat)]
        start = min(
            measure([sys.executable, "-m", "hybridize", "check", str(_empty(folder))]).seconds for _ in range(2)
        )
        return (least([d for _, d in runs]).seconds - start) / (least([s for s, _ in runs]).seconds - start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _empty(folder: Path) -> Path:
    path = folder / "empty.py"
    path.write_text("", "utf-8")
    return path


def _example(folder: Path) -> Path:
    path = folder / "example.py"
    path.write_text(
        "import tensorflow as tf\n\n\ndef f(x):\n    print(x)\n    return tf.sin(x)\n\n\nf(tf.ones(3))\n", "utf-8"
    )
    return path


def startup(repeat: int) -> tuple[float, float]:
    """CPU seconds of `hybridize --version` and of Python itself."""
    version = least([measure([sys.executable, "-m", "hybridize", "--version"]) for _ in range(repeat)])
    bare = least([measure([sys.executable, "-c", "pass"]) for _ in range(repeat)])
    return version.seconds, bare.seconds


def main() -> None:
    """Prints one line for each project."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("projects", nargs="+", type=Path, metavar="PROJECT")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the least counts (default 3)")
    parser.add_argument("--growth", action="store_true", help="also check each project together with a copy of itself")
    parser.add_argument(
        "--kept", action="store_true", help="also what a check costs after another one, and with two jobs"
    )
    parser.add_argument("--edits", type=int, default=9, help="edits of each kind (default 9)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="check-speed-") as folder:
        measure(check_command(_example(Path(folder))))  # compiles the modules
    version, bare = startup(args.repeat)
    print(f"start-up: --version {version:.3f} s, bare Python {bare:.3f} s")
    print(f"{'project':24} {'KLOC':>6} {'check s':>8} {'s/KLOC':>7} {'parse s':>8} {'ratio':>6} {'MB/KLOC':>8} growth")
    for project in args.projects:
        check, parse = compared(project, args.repeat)
        kloc = max(lines_of(project), 1) / 1000
        doubled = f"{growth(project, args.repeat):.2f}" if args.growth else "-"
        print(
            f"{project.name:24} {kloc:6.1f} {check.seconds:8.2f} {check.seconds / kloc:7.3f} {parse.seconds:8.2f} "
            f"{check.seconds / parse.seconds:6.1f} {check.megabytes / kloc:8.1f} {doubled}",
            flush=True,
        )
        if args.kept:
            found = kept(project, args.edits)
            print(
                f"{'':24} of cold: unchanged {found.unchanged:.1%}, a function edited {found.edited:.1%}, "
                f"a comment {found.commented:.1%}, two jobs {found.jobs:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
