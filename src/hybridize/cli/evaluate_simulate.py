"""`hybridize evaluate simulate RESULTS`: what many repositories would cost on many cores."""

from __future__ import annotations

import argparse
from pathlib import Path

from hybridize.cli.errors import NOTHING, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("results", metavar="DIR", help="where `evaluate` has written results")
    parser.add_argument("--out", metavar="DIR", required=True, help="where the table and the plot go")
    parser.add_argument("--cores", metavar="NUMBERS", default="8,64,512", help="how many, of each row (8,64,512)")
    parser.add_argument("--repository-count", type=int, default=10_000, metavar="N", help="repositories (10000)")
    parser.add_argument("--scheduler-cost", type=float, metavar="MS", help="of a task at the scheduler, in "
                        "milliseconds (default: measured, on a Dask scheduler that is started for it)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (0)")


def run(args: argparse.Namespace) -> int:
    """Draws from what was measured, simulates, writes the table and the plot."""
    from hybridize.cli.output import write
    from hybridize.evaluate import simulate
    from hybridize.evaluate.output import write as write_tables
    from hybridize.evaluate.plot import available
    from hybridize.evaluate.tables import render

    try:
        cores = [int(each) for each in args.cores.split(",")]
    except ValueError:
        raise UsageError(f"--cores: `{args.cores}` is no list of numbers") from None
    if min(cores) < 1 or args.repository_count < 1:
        raise UsageError("`simulate` takes numbers above 0")
    times = list(simulate.measured_times(Path(args.results)).values())
    if not times:
        raise UsageError(f"{args.results}: no results of `hybridize evaluate` are there")
    cost = simulate.scheduler_cost() if args.scheduler_cost is None else args.scheduler_cost / 1000
    made = simulate.table(times, cores, args.repository_count, cost, args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    plots = simulate.plot(times, args.repository_count, cost, args.seed, out / "simulation") if available() else {}
    write_tables([made], plots, "Simulation", out)
    write(f"{render(made.columns, made.rows, 'text')}{made.note}\n{out / 'index.html'}\n")
    return NOTHING
