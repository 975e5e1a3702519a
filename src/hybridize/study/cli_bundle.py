"""`study bundle`: a study as one archive to publish, and back."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from hybridize.study import bundle
from hybridize.study.store import DatabaseError, connect


def add_parser(steps: Any) -> None:
    """Add `bundle`; the parsed arguments carry `study_run`."""
    parser = steps.add_parser(
        "bundle",
        help="write a study into one archive to publish, or open one again",
        description="Raters and authors become pseudonyms. The same study gives the same bytes.",
    )
    parser.add_argument("database", type=Path, nargs="?", metavar="STUDY.db")
    parser.add_argument("--open", type=Path, metavar="FILE", help="make a study of this archive, at --out")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the archive (.zip), or the new STUDY.db"
    )
    parser.add_argument("--title", default="A study of hybridization", help="for README and CITATION.cff")
    parser.add_argument("--creator", action="append", default=[], metavar="NAME", help="for CITATION.cff (repeatable)")
    parser.add_argument("--no-figures", action="store_true", help="leave the figures out (they need matplotlib)")
    parser.add_argument(
        "--max-bytes",
        type=int,
        default=bundle.MAX_BYTES,
        metavar="N",
        help="unpacked, with --open (default %(default)s)",
    )
    parser.set_defaults(study_run=run)


def run(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 on an error."""
    try:
        if (args.database is None) == (args.open is None):
            raise bundle.BundleError("give a database, or --open FILE")
        if args.open:
            rows = bundle.open_bundle(args.open, args.out, args.max_bytes)
            print(f"{rows['item']} items, {rows['rating']} ratings in {args.out}")
            return 0
        with closing(connect(args.database, create=False)) as connection:
            citation = bundle.Citation(args.title, tuple(args.creator))
            members = bundle.make(connection, args.out, citation, not args.no_figures)
        print(f"{len(members)} files in {args.out}")
    except (bundle.BundleError, DatabaseError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
