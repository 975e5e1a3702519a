"""`hybridize evaluate fixes STUDY.db`: what the tool says before and after changes of hybridization by people."""

from __future__ import annotations

import argparse
from pathlib import Path

from hybridize.cli.errors import ERROR, NOTHING, UsageError
from hybridize.cli.evaluate_corpus import executor


def run(args: argparse.Namespace) -> int:
    """Judge the changes that have no result yet, then write the tables of all. Raises ExecutionError."""
    from hybridize.cli.output import complain, write
    from hybridize.evaluate import fixes_running as running
    from hybridize.evaluate.fixes import Limits, draw, of_study
    from hybridize.evaluate.output import write as write_files
    from hybridize.study.store import DatabaseError

    if not args.repositories:
        raise UsageError("`fixes` needs --mirrors FOLDER, where the clones are")
    database = Path(args.database)
    if not database.is_file():
        raise UsageError(f"{database}: no such file")
    try:
        fixes = of_study(database, Limits())
    except DatabaseError as error:
        complain(f"{database}: {error}")
        return ERROR
    if args.per_kind:
        fixes = draw(fixes, args.per_kind, args.seed)
    if not fixes:
        write(f"{database}: no change of a function that is there before and after\n")
        return NOTHING

    def tell(done: int, count: int, name: str, why: str) -> None:
        if not args.quiet:
            write(f"[{done}/{count}] {name}{': ' if why else ''}{why}\n")

    out, limits = Path(args.out), (args.timeout, args.memory * 1_000_000)
    results, failed = running.run(fixes, tuple(map(Path, args.repositories)), executor(args), out, limits, tell)
    files = write_files(running.tables(results), {}, "What people changed", out)
    write(f"{out}: {len(files)} files; start with {out / 'tables.md'}\n")
    for line in failed:
        write(f"no result: {line}\n")
    return 1 if failed else NOTHING
