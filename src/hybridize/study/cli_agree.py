"""`study agree`: how far the raters agree."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from hybridize.study import agree, agreement
from hybridize.study.label import rounds
from hybridize.study.store import DatabaseError, connect


def add_parser(subparsers: Any) -> None:
    """Add `agree`; the parsed arguments carry `study_run`."""
    parser = subparsers.add_parser(
        "agree",
        help="Cohen's and Fleiss' kappa, Krippendorff's alpha, with intervals; the disagreements",
        description="Counts submitted ratings only, as they were before reconciling.",
    )
    parser.add_argument("database", type=Path, metavar="STUDY.db")
    parser.add_argument("--round", metavar="ROUND", help="only ratings of this round (default: all)")
    parser.add_argument("--raters", metavar="A,B", help="only these raters (default: all)")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text", help="default: text (Markdown)")
    parser.add_argument("--level", type=float, default=agreement.DEFAULT_LEVEL, help="of the intervals (default 0.95)")
    parser.add_argument(
        "--resamples", type=int, default=agreement.DEFAULT_RESAMPLES, help="of the bootstrap (default 2000; 0: none)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap (default 0)")
    parser.add_argument("--no-disagreements", action="store_true", help="don't list the disagreements")
    parser.set_defaults(study_run=run)


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 where nothing could be computed."""
    if not 0 < args.level < 1:
        print("error: --level must lie between 0 and 1", file=sys.stderr)
        return 2
    raters = [name.strip() for name in args.raters.split(",")] if args.raters else []
    try:
        with closing(connect(args.database, create=False)) as connection:
            known = {row[0] for row in connection.execute("SELECT name FROM rater")}
            missing = [name for name in raters if name not in known]
            if missing:
                raise DatabaseError(f"there is no rater {missing[0]!r}; there are {', '.join(sorted(known)) or 'none'}")
            rounds.check(connection, args.round)
            found = agree.report(
                connection,
                round_name=args.round,
                raters=raters,
                resamples=args.resamples,
                level=args.level,
                seed=args.seed,
            )
    except (DatabaseError, agreement.MissingStatistics) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if args.format == "json":
        sys.stdout.write(agree.as_json(found))
    elif args.format == "csv":
        sys.stdout.write(agree.as_csv(found))
    else:
        sys.stdout.write(agree.as_text(found, disagreements=not args.no_disagreements))
    return 0
