"""The repairs of a `fix` run: what the command line asks for, tried in memory."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hybridize.config import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import Report
    from hybridize.repairing import Repaired, Wanted
    from hybridize.repairs.model import Proposed


def mend(
    args: argparse.Namespace, paths: Sequence[str], config: Config, report: Report, functions: frozenset[str] | None
) -> Repaired:
    """The repairs that unlock something, for some functions (ids) or all; nothing is written."""
    from hybridize.cli.session import analyze_again
    from hybridize.repairing import Repaired, repair

    if not report.repairs:
        return Repaired(report)
    root = Path(report.project.root)
    return repair(
        lambda contents: analyze_again(paths, config, contents),
        report,
        lambda path: (root / path).read_bytes(),
        wanted(args, config, functions),
    )


def wanted(args: argparse.Namespace, config: Config, functions: frozenset[str] | None) -> Wanted:
    """What the options say about repairs: a code selects its repair, and that of a rule all that answer it."""
    from hybridize.repairing import Wanted
    from hybridize.report.select import EVERYTHING, ignored_by, is_selected, matches

    ignored = ignored_by(config.per_file_ignores) if config.per_file_ignores else None

    def selected(each: Proposed) -> bool:
        ignore = [*config.ignore, *(ignored(each.path) if ignored is not None else ())]
        if not config.select and not ignore:
            return True
        codes = [(each.code, each.name), *((code, "") for code in each.answers)]
        chosen = [is_selected(code, name, config.select, ignore) for code, name in codes]
        return any(chosen) if config.select else chosen[0]

    def explicit(each: Proposed) -> bool:
        names = [s for s in config.select if s.upper() != EVERYTHING]
        return any(matches(s, code, each.name) for s in names for code in (each.code, *each.answers))

    return Wanted(args.unsafe_fixes, selected, explicit, functions)
