"""Runs the suite: each program as it is, as `hybridize fix` leaves it (safe changes alone), and as an expert would.

python benchmarks/run_suite.py [--python PYTHON_WITH_TENSORFLOW] [--runs N] [--only NAME] [--output-format markdown]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUITE = Path(__file__).resolve().parent / "suite"
sys.path.insert(0, str(ROOT / "src"))

from hybridize.evaluate import metrics  # noqa: E402
from hybridize.evaluate.processes import Finished, load, run  # noqa: E402
from hybridize.evaluate.statistics import geometric_mean  # noqa: E402
from hybridize.evaluate.tables import Column, render  # noqa: E402

VARIANTS = ("original", "fixed", "expert")
#: Relative; sums in another order and random streams of some layers differ, training amplifies it.
TOLERANCE = 0.05


@dataclass
class Program:
    """One program of the suite, and what its runs gave."""

    name: str
    runs: dict[str, list[Finished]] = field(default_factory=lambda: {variant: [] for variant in VARIANTS})
    converted: str = ""

    def time(self, variant: str, clock: str) -> float:
        values = sorted(getattr(run, clock) or math.nan for run in self.runs[variant] if run.code == 0)
        return values[len(values) // 2] if values else math.nan

    def speed_up(self, variant: str, clock: str, start_up: float = 0.0) -> float:
        return (self.time("original", clock) - start_up) / (self.time(variant, clock) - start_up)

    def differences(self, variant: str) -> list[metrics.Difference]:
        series = {v: [metrics.read(run.out) for run in self.runs[v] if run.code == 0] for v in ("original", variant)}
        return metrics.compare(series["original"], series[variant])


def prepare(name: str, folder: Path) -> str:
    """Three copies of a program; returns what `fix` changed, in its words."""
    ignored = shutil.ignore_patterns("expert.patch", "__pycache__")
    for variant in VARIANTS:
        shutil.copytree(SUITE / name, folder / variant, ignore=ignored)
    patch = (SUITE / name / "expert.patch").read_bytes()
    subprocess.run(["git", "apply", "-p1", "-"], cwd=folder / "expert", input=patch, check=True)
    fix = [sys.executable, "-m", "hybridize", "fix", "--isolated", "--output-format", "concise", str(folder / "fixed")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(fix, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: fix failed: {done.stdout}{done.stderr}")
    changed = re.findall(r"to hybrid +([^\s:]+)", done.stdout)
    return ", ".join(changed)


def steps_of(name: str, options: argparse.Namespace) -> int:
    """The program's own number of steps, or what is asked for instead."""
    if options.steps:
        return int(options.steps)
    default = re.search(r'"--steps", type=int, default=(\d+)', (SUITE / name / "train.py").read_text(encoding="utf-8"))
    return max(1, round(int(default[1]) * options.scale)) if default else 1


def measure(programs: Sequence[Program], folder: Path, options: argparse.Namespace) -> None:
    """All runs; the variants of one program follow each other, in another order in each round."""
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    for number in range(options.runs):
        for program in programs:
            for variant in VARIANTS[number % 3 :] + VARIANTS[: number % 3]:
                command = [options.python, "train.py", "--steps", str(steps_of(program.name, options))]
                done = run(command, folder / program.name / variant, environment, options.timeout)
                program.runs[variant].append(done)
                busy = load()
                note = "" if done.code == 0 else f"  exit code {done.code}: {done.err[-300:]}"
                cpu = f"{done.cpu:6.1f}" if done.cpu is not None else "-"
                text = f"{program.name:24}{variant:10}{done.wall:6.1f} s  cpu {cpu} s  load {busy or 0:.1f}{note}"
                print(text, file=sys.stderr, flush=True)


def table(programs: Sequence[Program], clock: str, start_up: float, style: str) -> str:
    """The rows of Table VII, and what the expert reached."""
    columns = [
        Column("program"),
        *(Column(f"{title} s", ".1f") for title in ("original", "refactored", "expert")),
        *(Column(title, ".2f") for title in ("speed-up", "expert's")),
        Column("share", ".0%"),
        Column("without start-up", ".2f"),
        Column("metric"),
        *(Column(title, ".5g") for title in ("original ", "refactored ")),
        Column("largest difference", ".2%"),
        Column("converted"),
    ]
    rows: list[list[object]] = []
    for p in programs:
        times = [p.time(v, clock) for v in VARIANTS]
        ours, theirs = p.speed_up("fixed", clock), p.speed_up("expert", clock)
        worst = max(p.differences("fixed"), key=lambda d: d.largest, default=None)
        shown = [worst.name, worst.original, worst.refactored, worst.largest] if worst else [None] * 4
        rows.append(
            [p.name, *times, ours, theirs, ours / theirs, p.speed_up("fixed", clock, start_up), *shown, p.converted]
        )
    return render(columns, rows, style)


def summary(programs: Sequence[Program], clock: str, start_up: float) -> str:
    """Geometric means, the worst, and whether metrics stayed the same."""
    ours = [p.speed_up("fixed", clock) for p in programs]
    theirs = [p.speed_up("expert", clock) for p in programs]
    inside = [p.speed_up("fixed", clock, start_up) for p in programs]
    mean, best = geometric_mean(ours), geometric_mean(theirs)
    share = geometric_mean([a / b for a, b in zip(ours, theirs, strict=True)])
    different = [p.name for p in programs if not all(d.equal(TOLERANCE) for d in p.differences("fixed"))]
    measured = {"wall": "clock", "cpu": "processor"}[clock]
    total = sum(run.wall for p in programs for v in VARIANTS for run in p.runs[v])
    return (
        f"by {measured} time; {len(programs)} programs, {total / 60:.1f} minutes\n"
        f"geometric mean of the speed-up: {mean:.2f} (expert {best:.2f}; {share:.0%} of the expert's), "
        f"least {min(ours):.2f}; without {start_up:.1f} s of start-up {geometric_mean(inside):.2f}\n"
        f"metrics differ by more than {TOLERANCE:.0%} in: {', '.join(different) or 'none'}\n"
    )


def start_up_time(python: str, clock: str) -> float:
    """Of an interpreter that imports TensorFlow and ends."""
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    runs = [run([python, "-c", "import tensorflow"], SUITE, environment) for _ in range(2)]
    return float(min(getattr(each, clock) or 0.0 for each in runs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has TensorFlow")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--steps", type=int, help="instead of each program's own number")
    parser.add_argument("--scale", type=float, default=1.0, help="of each program's own number of steps")
    parser.add_argument("--only", action="append", help="a program; repeatable")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("--output-format", choices=("text", "markdown", "latex"), default="text")
    parser.add_argument("--raw", help="write every run to this file (JSON)")
    options = parser.parse_args()
    names = sorted(path.parent.name for path in SUITE.glob("*/train.py"))
    programs = [Program(name) for name in names if not options.only or name in options.only]
    with tempfile.TemporaryDirectory(prefix="hybridize-suite-") as name:
        folder = Path(name)
        for program in programs:
            program.converted = prepare(program.name, folder / program.name)
        start_up = start_up_time(options.python, options.clock)
        try:
            measure(programs, folder, options)
        except KeyboardInterrupt:
            print("interrupted: the table shows what was measured", file=sys.stderr)
    programs = [p for p in programs if all(p.runs[variant] for variant in VARIANTS)]
    if not programs:
        return 1
    if options.raw:
        data = {
            p.name: {v: [[r.code, r.wall, r.cpu, metrics.read(r.out)] for r in p.runs[v]] for v in VARIANTS}
            for p in programs
        }
        Path(options.raw).write_text(json.dumps(data, indent=1), encoding="utf-8")
    print(table(programs, options.clock, start_up, options.output_format))
    print(summary(programs, options.clock, start_up))
    return int(any(run.code != 0 for p in programs for v in VARIANTS for run in p.runs[v]))


if __name__ == "__main__":
    sys.exit(main())
