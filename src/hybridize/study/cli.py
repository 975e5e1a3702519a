"""`hybridize study ...`: one sub-command for each step of the study."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add `study` with its own sub-commands to the command line's sub-parsers."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "study",
        help="repeat the empirical study: mine, label, agree, tables, figures",
        description="From git histories and issue threads to labels, agreement, tables and figures; one database file.",
    )
    add_commands(parser)
    return parser


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add the study's sub-commands to a parser."""
    from hybridize.study import cli_agree, cli_bundle, cli_label, cli_mine, cli_network, cli_tables

    steps = parser.add_subparsers(dest="study_command", metavar="STEP", required=True)
    for module in (cli_network, cli_mine, cli_label, cli_agree, cli_tables, cli_bundle):
        module.add_parser(steps)


def run(args: argparse.Namespace) -> int:
    """Run the chosen step; exit code 0, 1 or 2 as the step says."""
    code: int = args.study_run(args)
    return code
