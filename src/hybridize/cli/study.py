"""`hybridize study ...`: the study's own commands, and for its `suggest` the rules, which it may not see by itself."""

from __future__ import annotations

import argparse
from typing import Any

from hybridize.study import cli


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The study's commands and their arguments."""
    return cli.add_parser(subparsers)


def run(args: argparse.Namespace) -> int:
    """Run the chosen step; exit code 0, 1 or 2 as the step says."""
    if args.study_command != "suggest" or not args.ask_rules:
        return cli.run(args)
    from hybridize.caching.store import open_store
    from hybridize.cli.study_rules import RuleProcess
    from hybridize.config import Config

    with RuleProcess(open_store(Config())) as rules:
        args.rules = rules
        return cli.run(args)
