"""`hybridize report`: the whole analysis as one HTML page, to look at and to share."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import ERROR, NOTHING
from hybridize.cli.options import add_config_options, add_paths, add_verbosity

_EPILOG = "The page holds the sources of the functions that it shows. Exit code 0: written, 2: an error."


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "report",
        help="write the whole analysis as one HTML page, to look at and to share",
        description="Writes what `check` finds as one HTML page that needs no network and no other file.",
        epilog=_EPILOG,
    )
    add_paths(parser)
    parser.add_argument("--html", metavar="FILE", required=True, help="where to write the page; - for stdout")
    add_verbosity(parser)
    add_config_options(parser)


def run(args: argparse.Namespace) -> int:
    """Analyze, write the page, and say where it is."""
    from hybridize import __version__
    from hybridize.cli.output import complain, deliver_whole, write
    from hybridize.cli.session import analyze, configure, paths_of
    from hybridize.fixing.previews import previews
    from hybridize.report.documentation import load_docs
    from hybridize.report.html.page import render
    from hybridize.report.paths import read_errors
    from hybridize.report.words import counted

    paths = paths_of(args)
    report = analyze(paths, configure(args, paths))
    data = render(report, previews(report), load_docs(), __version__).encode("utf-8", "backslashreplace")
    deliver_whole(data, args.html)
    unread = len(read_errors(report))
    if unread:
        complain(f"{counted(unread, 'file')} could not be read or parsed: the page names them", label="warning")
    if args.html != "-" and not args.quiet:
        write(f"{args.html}: {counted(len(report.functions), 'function')}, {max(1, len(data) // 1000):,} KB\n")
    return ERROR if report.missing else NOTHING
