"""From parsed arguments to a report: what `check`, `fix` and `explain` have in common."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from hybridize.cli.errors import UsageError
from hybridize.cli.options import overrides
from hybridize.cli.output import complain
from hybridize.cli.progress import Progress
from hybridize.config import FROM_COMMAND_LINE, Config, ConfigError, load_config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.caching.store import Store
    from hybridize.decide.model import Report
    from hybridize.fixing.planner import Planner


#: Contents of files that stand for those on disk, by absolute path.
Given: TypeAlias = Mapping[str, bytes]


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


def analyze(
    paths: Sequence[str], config: Config, *, repairs: bool = True, given: Given = MappingProxyType({})
) -> Report:
    """Run the analysis, say on stderr which paths do not exist, and drop what is not selected."""
    from hybridize.report.select import selected

    return selected(run_analysis(paths, config, repairs=repairs, given=given), config)


def run_analysis(
    paths: Sequence[str],
    config: Config,
    *,
    repairs: bool = True,
    given: Given = MappingProxyType({}),
    store: Store | None = None,
) -> Report:
    """Run the analysis, with or without looking for repairs, and say on stderr which paths do not exist.

    `given` are contents that stand for those on disk, `store` where results are kept if not where the options say.
    """
    from hybridize.api import analyze as analyze_paths
    from hybridize.caching.store import open_store

    store = open_store(config) if store is None else store
    with Progress() as progress:
        places = [Path(path) for path in paths]
        more = {"contents": given} if given else {}
        report = analyze_paths(places, config, progress=progress, repairs=repairs, store=store, **more)
    if store is not None and store.problem:
        complain(store.problem, label="note")
    for path in report.missing:
        complain(f"no such file or directory: {path}")
    if not report.missing and not report.errors and not report.project.files:
        complain(f"no Python files in {', '.join(paths)}", label="warning")
    return report


def analyze_again(
    paths: Sequence[str],
    config: Config,
    contents: Mapping[str, bytes],
    store: Store | None = None,
    *,
    repairs: bool = True,
) -> Report:
    """The report on the project with other contents of some files; nobody is told anything."""
    from hybridize.api import analyze as analyze_paths
    from hybridize.caching.store import open_store

    with Progress() as progress:
        places, store = [Path(path) for path in paths], store or open_store(config)
        return analyze_paths(places, config, progress=progress, contents=contents, repairs=repairs, store=store)


def store_for_fixing(config: Config) -> Store:
    """Where the results of a run that analyzes several times are kept: with `--no-cache` no longer than it takes."""
    from hybridize.caching.store import Memory, open_store

    return open_store(config) or Memory()


def planner_of(
    args: argparse.Namespace,
    paths: Sequence[str],
    config: Config,
    report: Report,
    *,
    given: Given = MappingProxyType({}),
    store: Store | None = None,
) -> Planner:
    """What plans the changes of a project that was analyzed, as the options want them."""
    from hybridize.fixing.planner import Planner
    from hybridize.report.paths import relative_to_root

    kept = store or store_for_fixing(config)

    def again(contents: Mapping[str, bytes]) -> Report:
        return analyze_again(paths, config, {**given, **contents}, kept)

    root = report.project.root
    texts = {relative_to_root(path, root): data for path, data in given.items()}
    return Planner(report, config, again, args.unsafe_fixes, texts)


def paths_of(args: argparse.Namespace) -> list[str]:
    """The paths given, or the current folder; the name that the text on stdin is analyzed under."""
    if reads_stdin(args):
        if args.stdin_filename is None:
            raise UsageError("`-` needs --stdin-filename NAME: which file of the project the text is")
        if not args.stdin_filename.endswith((".py", ".ipynb")):
            raise UsageError(f"--stdin-filename {args.stdin_filename}: is neither a .py nor an .ipynb file")
        return [args.stdin_filename]
    return list(args.paths or ["."])


def reads_stdin(args: argparse.Namespace) -> bool:
    """Whether a text on stdin is meant; raises UsageError where other paths are given beside it."""
    if not hasattr(args, "stdin_filename"):  # the command takes none
        return False
    named = args.stdin_filename is not None
    if args.paths == ["-"] or (named and not args.paths):
        return True
    if named or "-" in args.paths:
        raise UsageError("`-` with --stdin-filename NAME stands alone: there is one text on stdin")
    return False


def given_of(args: argparse.Namespace) -> dict[str, bytes]:
    """The text on stdin, where it is meant, by the absolute path of the file that it stands for."""
    if not reads_stdin(args):
        return {}
    return {os.path.abspath(args.stdin_filename): sys.stdin.buffer.read()}


def _check_selectors(config: Config) -> None:
    if not (config.select or config.ignore or config.per_file_ignores):
        return
    from hybridize.report.documentation import unknown_codes

    for message in unknown_codes(config):
        if FROM_COMMAND_LINE in (config.origins["select"], config.origins["ignore"]):
            raise UsageError(f"{message}\nrun `hybridize rules` to see what there is")
        complain(message, label="warning")
