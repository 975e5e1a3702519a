"""`hybridize check`: decisions and findings; nothing is run or imported, nor written unless asked for."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import ERROR, NOTHING, SOMETHING, UsageError
from hybridize.cli.narrowing import Narrowing, add_comments, add_narrowing, check_narrowing
from hybridize.cli.options import (
    FORMATS,
    OneOf,
    add_config_options,
    add_output_options,
    add_paths,
    add_stdin,
    add_verbosity,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybridize.config import Config
    from hybridize.decide.model import Report
    from hybridize.report.sarif import Silenced

_EPILOG = (
    "Exit code 0: nothing to report (or --exit-zero), 1: something, or a file that cannot be read or parsed, "
    "2: an error."
)
_SHOW_REPAIRS = ("full", "json", "json-lines", "sarif")
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
    parser.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="every function with its reasons, and nothing only counted",
    )
    parser.add_argument("--assumptions", action="store_true", help="list what rests on assumptions, too")
    parser.add_argument("--statistics", action="store_true", help="only the counts")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there is something to report")
    parser.add_argument(
        "--json-schema", action="store_true", help="print the JSON schema of --output-format json, and nothing else"
    )
    add_verbosity(parser)
    add_narrowing(parser)
    add_config_options(parser)
    parser.add_argument("--debug", type=OneOf(*_DEBUG), help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Analyze, report, and say by the exit code whether there is something to do."""
    from hybridize.cli.formats import render
    from hybridize.cli.output import deliver
    from hybridize.cli.session import analyze, configure, given_of, paths_of

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
    check_narrowing(args)
    narrowing = Narrowing(args, paths)
    if args.add_ignore:
        return _add_ignore(args, paths, config, narrowing)
    repairs = args.output_format in _SHOW_REPAIRS and not args.write_baseline
    args.given = given_of(args)
    report = analyze(paths, config, repairs=repairs, given=args.given)
    if args.write_baseline:
        narrowing.write(report)
        return ERROR if report.missing else NOTHING
    narrowing.tidy(report, paths, config)
    told = narrowing.narrow(report)
    if args.output_format == "full" and not args.quiet:
        narrowing.tell(report, told)
    silenced = _silenced(args, paths, config, report, narrowing) if args.output_format == "sarif" else ()
    deliver(render(told, args, silenced), args.output_file)
    return exit_code(told, exit_zero=args.exit_zero)


def _silenced(
    args: argparse.Namespace, paths: list[str], config: Config, report: Report, narrowing: Narrowing
) -> list[Silenced]:
    """What is not reported of what is looked at: SARIF has it as suppressed."""
    from hybridize.cli.session import reads_stdin
    from hybridize.cli.silenced import by_baseline, by_comments

    changed = narrowing.since(report)
    found = [] if reads_stdin(args) else by_comments(paths, config, changed, narrowing.since)
    return [*found, *by_baseline(changed, narrowing.narrow(report))]


def exit_code(report: Report, *, exit_zero: bool = False) -> int:
    """What a report means for the exit code, whatever the format; a mistake in the command is one all the same."""
    from hybridize.report.summary import has_something_to_report

    if report.missing:
        return ERROR
    return SOMETHING if has_something_to_report(report) and not exit_zero else NOTHING


def _add_ignore(args: argparse.Namespace, paths: list[str], config: Config, narrowing: Narrowing) -> int:
    from hybridize.cli.safeguard import refuse_unfinished
    from hybridize.cli.session import analyze, analyze_again
    from hybridize.report.select import selected

    refuse_unfinished(paths)
    first = analyze(paths, config, repairs=False)

    def look(contents: Mapping[str, bytes]) -> Report:
        report = selected(analyze_again(paths, config, contents, repairs=False), config) if contents else first
        return narrowing.narrow(report, contents)

    return add_comments(args, look, bool(first.missing))
