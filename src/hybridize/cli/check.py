"""`hybridize check`: decisions and findings; nothing is written, run or imported."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import ERROR, NOTHING, SOMETHING, UsageError
from hybridize.cli.options import (
    FORMATS,
    add_config_options,
    add_output_options,
    add_paths,
    add_stdin,
    add_verbosity,
    one_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import Report

_EPILOG = "Exit code 0: nothing to report, 1: something, or a file that cannot be read or parsed, 2: an error."
_SHOW_REPAIRS = ("full", "json", "json-lines")
_DEBUG = ("ir", "flow", "facts")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "check",
        help="decide for every function whether it should run eagerly or as a graph, and why",
        description="Decides for every function whether it should run eagerly or as a graph, and says why.",
        epilog=_EPILOG,
    )
    add_paths(parser)
    add_stdin(parser)
    add_output_options(parser, FORMATS)
    parser.add_argument("--all", action="store_true", dest="everything", help="functions that are no candidates, too")
    parser.add_argument("--statistics", action="store_true", help="only the counts")
    parser.add_argument("--baseline", metavar="FILE", help="do not report what this file lists")
    parser.add_argument(
        "--write-baseline", action="store_true", help="write everything there is to report into the baseline file"
    )
    parser.add_argument(
        "--json-schema", action="store_true", help="print the JSON schema of --output-format json, and nothing else"
    )
    add_verbosity(parser)
    add_config_options(parser)
    parser.add_argument("--debug", type=one_of(*_DEBUG), help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Analyze, report, and say by the exit code whether there is something to do."""
    from hybridize.cli.output import deliver
    from hybridize.cli.session import analyze, configure, given_of, paths_of
    from hybridize.report.summary import has_something_to_report

    if args.json_schema:
        from hybridize.report.json_report import schema_text

        deliver(schema_text(), args.output_file)
        return NOTHING
    paths = paths_of(args)
    config = configure(args, paths)
    if args.debug:
        from pathlib import Path

        from hybridize import api

        show = getattr(api, "debug", None)
        if show is None:
            raise UsageError("--debug is not part of this installation")
        deliver(show([Path(path) for path in paths], config, args.debug), args.output_file)
        return NOTHING
    if args.write_baseline and not args.baseline:
        raise UsageError("--write-baseline needs --baseline FILE")
    repairs = args.output_format in _SHOW_REPAIRS and not args.write_baseline
    report = analyze(paths, config, repairs=repairs, given=given_of(args))
    if args.baseline:
        report = _with_baseline(report, args)
        if args.write_baseline:
            return NOTHING
    deliver(_render(report, args), args.output_file)
    if report.missing:
        return ERROR
    return SOMETHING if has_something_to_report(report) else NOTHING


def _with_baseline(report: Report, args: argparse.Namespace) -> Report:
    from pathlib import Path

    from hybridize.cli.output import complain
    from hybridize.report.baseline import BaselineError, read_baseline, without_baseline, write_baseline

    file = Path(args.baseline)
    try:
        if args.write_baseline:
            number = write_baseline(report, file)
            complain(f"{number} entries written to {file}", label="note")
            return report
        return without_baseline(report, read_baseline(file))
    except BaselineError as error:
        raise UsageError(str(error)) from None


def _render(report: Report, args: argparse.Namespace) -> str:
    from hybridize.cli.output import style_for

    if args.output_format in ("json", "json-lines"):
        from hybridize.report import json_report

        return json_report.dumps(report) if args.output_format == "json" else json_report.dump_lines(report)
    if args.output_format == "sarif":
        from hybridize import __version__
        from hybridize.report import sarif
        from hybridize.report.documentation import load_docs

        return sarif.dumps(report, __version__, load_docs())
    from hybridize.report import lines, text
    from hybridize.report.paths import Places

    if args.output_format == "github":
        return lines.github(report, Places.of(report))
    display, style = Places.of(report), style_for(args.output_file)
    if args.output_format == "concise" and not args.statistics:
        return lines.concise(report, display, style=style, quiet=args.quiet)
    options = text.TextOptions(
        everything=args.everything,
        quiet=args.quiet and not args.statistics,
        verbose=args.verbose,
        statistics=args.statistics,
        style=style,
    )
    return text.full(report, display, options)
