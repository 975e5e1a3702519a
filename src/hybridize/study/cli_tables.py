"""`study tables` and `study figures`: from labels, or from the published counts, to what goes into a paper."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from hybridize.study import figures, tables
from hybridize.study.codebook import FACETS
from hybridize.study.counts import Counts
from hybridize.study.published import published
from hybridize.study.store import DatabaseError, connect
from hybridize.study.tally import from_database

_TABLES = ("1", "2", "3", "4", "figure1", "comparison", "findings")


class _Mistake(ValueError):
    """What the user asked for can't be done."""


def add_parser(subparsers: Any) -> None:
    """Add `tables` and `figures`; the parsed arguments carry `study_run`."""
    parser = subparsers.add_parser(
        "tables",
        help="Tables 1 to 4, the hierarchy and the findings: Markdown, LaTeX, CSV, HTML",
        description="Counts the reconciled rows of a database, or shows the 2022 study's published counts.",
    )
    _add_data(parser)
    parser.add_argument("--format", choices=tuple(tables.FORMATS), default="markdown")
    parser.add_argument("--only", metavar="NAMES", help=f"comma-separated: {', '.join(_TABLES)} (default: all)")
    parser.add_argument(
        "--breakdown", action="append", default=[], metavar="CATEGORY:FACET",
        help="one more table: a category by cause, symptom or fix (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--count-lines",
        action="store_true",
        help="count the lines of Python files (blank ones too) in the mined clones for Table 1",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="one file per table (default: standard output)")
    parser.set_defaults(study_run=run_tables)
    parser = subparsers.add_parser(
        "figures",
        help="Figures 1 to 4: sunburst, symptom pies, commits against issues: PNG, SVG, PDF, HTML",
        description="Needs matplotlib: pip install 'hybridize[study]'.",
    )
    _add_data(parser)
    parser.add_argument("--format", choices=(*figures.FORMATS, "all"), default="all")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("figures"), help="default: figures")
    parser.set_defaults(study_run=run_figures)


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("database", type=Path, nargs="?", metavar="STUDY.db")
    parser.add_argument("--data", choices=("published",), help="the 2022 study's counts in place of a database")
    parser.add_argument("--rater", metavar="NAME", help="count this rater's ratings in place of the reconciled rows")


def _counts(args: argparse.Namespace) -> Counts:
    if (args.database is None) == (args.data is None):
        raise _Mistake("give a database, or --data published")
    if args.data:
        return published()
    with closing(connect(args.database, create=False)) as connection:
        return from_database(connection, rater=args.rater, count_lines=getattr(args, "count_lines", False))


def run_tables(args: argparse.Namespace) -> int:
    """Exit code 0; 2 for a mistake in the arguments or the database."""
    try:
        counts = _counts(args)
        chosen = [*_chosen(counts, args.only), *(_breakdown(counts, text) for text in args.breakdown)]
        if args.out is None:
            text = "\n".join(tables.write(table, args.format) for table in chosen)
            sys.stdout.write(tables.page(counts.title, [text]) if args.format == "html" else text)
            return 0
        args.out.mkdir(parents=True, exist_ok=True)
        for table in chosen:
            text = tables.write(table, args.format)
            path = args.out / (table.name + tables.FORMATS[args.format])
            path.write_text(tables.page(table.title, [text]) if args.format == "html" else text, encoding="utf-8")
            print(path)
    except BrokenPipeError:
        raise
    except (_Mistake, DatabaseError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _chosen(counts: Counts, only: str | None) -> list[tables.Table]:
    found = tables.all_tables(counts)
    if only is None:
        return list(found)
    wanted = [f"table{name}" if name.isdecimal() else name for name in (word.strip() for word in only.split(","))]
    for name in wanted:
        if name.removeprefix("table") not in _TABLES:
            raise _Mistake(f"there is no table {name.removeprefix('table')!r}; there are {', '.join(_TABLES)}")
    return [table for table in found if table.name in wanted]


def _breakdown(counts: Counts, text: str) -> tables.Table:
    category, _, facet = text.rpartition(":")
    if facet not in FACETS[1:]:
        raise _Mistake(f"--breakdown needs CATEGORY:FACET with cause, symptom or fix, not {text!r}")
    code = counts.book.get("category", category) or next(
        (code for code in counts.book.children(None) if code.abbreviation == category), None
    )
    if code is None:
        raise _Mistake(f"there is no category {category!r}")
    name = f"{(code.abbreviation or code.name).lower().replace(' ', '-')}-{facet}"
    return tables.breakdown_table(counts, code.name, facet, "".join(c for c in name if c.isalnum() or c == "-"), "")


def run_figures(args: argparse.Namespace) -> int:
    """Exit code 0; 2 for a mistake, a missing matplotlib, or counts with nothing to draw."""
    try:
        drawn = figures.all_figures(_counts(args))
        if not drawn:
            raise _Mistake("there is no final problem to draw: reconcile first, or choose --rater NAME")
        args.out.mkdir(parents=True, exist_ok=True)
        for figure in drawn:
            for form in figures.FORMATS if args.format == "all" else (args.format,):
                path = args.out / (figure.name + figures.FORMATS[form])
                path.write_bytes(figures.render(figure, form))
                print(path)
            for mark in figure.marks:
                print(f"  ‡ {mark}")
    except BrokenPipeError:
        raise
    except (_Mistake, DatabaseError, figures.MissingMatplotlib, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
