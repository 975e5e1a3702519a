"""`--output-format`: which room's function writes a report."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import Report
    from hybridize.report.paths import Places
    from hybridize.report.sarif import Silenced

Render: TypeAlias = "Callable[[Report, argparse.Namespace], str]"


def render(report: Report, args: argparse.Namespace, silenced: Sequence[Silenced] = ()) -> str:
    """The report in the format that was asked for. The formats themselves are imported only where they are used.

    `silenced` is for SARIF, which alone tells of it.
    """
    return _FORMATS[args.output_format](report, args) if not silenced else _sarif(report, args, silenced)


def _full(report: Report, args: argparse.Namespace) -> str:
    from hybridize.cli.output import page_for
    from hybridize.cli.session import paths_of
    from hybridize.report import text_report

    options = text_report.TextOptions(
        everything=args.everything,
        quiet=args.quiet and not args.statistics,
        verbose=args.verbose,
        statistics=args.statistics,
        assumptions=args.assumptions,
        page=page_for(args.output_file),
        paths=paths_of(args),
    )
    return text_report.full(report, _display(report, args), options)


def _concise(report: Report, args: argparse.Namespace) -> str:
    if args.statistics:
        return _full(report, args)
    from hybridize.cli.output import page_for
    from hybridize.report import lines

    return lines.concise(report, _display(report, args), style=page_for(args.output_file).style, quiet=args.quiet)


def _json(report: Report, args: argparse.Namespace) -> str:
    from hybridize.report.json_report import dumps

    return dumps(report)


def _json_lines(report: Report, args: argparse.Namespace) -> str:
    from hybridize.report.json_report import dump_lines

    return dump_lines(report)


def _sarif(report: Report, args: argparse.Namespace, silenced: Sequence[Silenced] = ()) -> str:
    from hybridize import __version__
    from hybridize.fixing.offers import Offered
    from hybridize.report.documentation import load_docs
    from hybridize.report.sarif import dumps, to_sarif

    display = _display(report, args)
    offers = Offered(report, display.contents)
    log = to_sarif(report, __version__, load_docs(), display, here=os.getcwd(), offers=offers, silenced=silenced)
    return dumps(log)


def _github(report: Report, args: argparse.Namespace) -> str:
    from hybridize.report.github import github

    return github(report, _display(report, args))


def _gitlab(report: Report, args: argparse.Namespace) -> str:
    from hybridize.report.gitlab import gitlab

    return gitlab(report, _display(report, args))


def _junit(report: Report, args: argparse.Namespace) -> str:
    from hybridize.report.junit import junit

    return junit(report, _display(report, args))


def _display(report: Report, args: argparse.Namespace) -> Places:
    """Paths relative to the working folder; `args.given` is the text on stdin, if there is one."""
    from hybridize.report.paths import Places

    return Places.of(report, given=args.given)


_FORMATS: Mapping[str, Render] = {
    "full": _full,
    "concise": _concise,
    "json": _json,
    "json-lines": _json_lines,
    "sarif": _sarif,
    "github": _github,
    "gitlab": _gitlab,
    "junit": _junit,
}
