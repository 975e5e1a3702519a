"""From parsed arguments to a report: what `check`, `fix` and `explain` have in common."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridize.cli.errors import UsageError
from hybridize.cli.options import overrides
from hybridize.cli.output import complain
from hybridize.cli.progress import Progress
from hybridize.config import FROM_COMMAND_LINE, Config, ConfigError, load_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import Report
    from hybridize.fixing.planner import Planner


def configure(args: argparse.Namespace, paths: Sequence[str]) -> Config:
    """The options in force; raises UsageError for a configuration that cannot be used."""
    # Without a file, the search starts where no project is.
    start = (os.path.abspath(os.sep),) if args.isolated else paths
    try:
        config = load_config(start, overrides(args), config_file=Path(args.config) if args.config else None)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    for note in config.notes:
        complain(note, label="warning")
    _check_selectors(config)
    return config


def analyze(paths: Sequence[str], config: Config, *, repairs: bool = True) -> Report:
    """Run the analysis, say on stderr which paths do not exist, and drop what is not selected."""
    from hybridize.report.select import selected

    return selected(run_analysis(paths, config, repairs=repairs), config)


def run_analysis(paths: Sequence[str], config: Config, *, repairs: bool = True) -> Report:
    """Run the analysis, with or without looking for repairs, and say on stderr which paths do not exist."""
    from hybridize.api import analyze as analyze_paths
    from hybridize.caching.store import open_store

    store = open_store(config)
    with Progress() as progress:
        places = [Path(path) for path in paths]
        report = analyze_paths(places, config, progress=progress, repairs=repairs, store=store)
    if store is not None and store.problem:
        complain(store.problem, label="note")
    for path in report.missing:
        complain(f"no such file or directory: {path}")
    if not report.missing and not report.errors and not report.project.files:
        complain(f"no Python files in {', '.join(paths)}", label="warning")
    return report


def analyze_again(
    paths: Sequence[str], config: Config, contents: Mapping[str, bytes], *, repairs: bool = True
) -> Report:
    """The report on the project with other contents of some files; nobody is told anything."""
    from hybridize.api import analyze as analyze_paths
    from hybridize.caching.store import open_store

    with Progress() as progress:
        places, store = [Path(path) for path in paths], open_store(config)
        return analyze_paths(places, config, progress=progress, contents=contents, repairs=repairs, store=store)


def planner_of(args: argparse.Namespace, paths: Sequence[str], config: Config, report: Report) -> Planner:
    """What plans the changes of a project that was analyzed, as the options want them."""
    from hybridize.fixing.planner import Planner

    return Planner(report, config, lambda contents: analyze_again(paths, config, contents), args.unsafe_fixes)


def paths_of(args: argparse.Namespace) -> list[str]:
    """The paths given, or the current folder."""
    return list(args.paths or ["."])


def _check_selectors(config: Config) -> None:
    if not (config.select or config.ignore or config.per_file_ignores):
        return
    from hybridize.report.documentation import unknown_codes

    for message in unknown_codes(config):
        if FROM_COMMAND_LINE in (config.origins["select"], config.origins["ignore"]):
            raise UsageError(f"{message}\nrun `hybridize rules` to see what there is")
        complain(message, label="warning")
