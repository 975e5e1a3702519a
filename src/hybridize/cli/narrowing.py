"""What `check` leaves out: `--since`, `--baseline`; and what writes down what is there: `--prune`, `--add-ignore`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hybridize.cli.errors import ERROR, NOTHING, SOMETHING, UsageError
from hybridize.cli.options import FORMATS
from hybridize.cli.output import complain
from hybridize.config import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import Report
    from hybridize.report.baseline import Known
    from hybridize.source.revision import Revision

_TOGETHER = (
    ("write_baseline", "--write-baseline", ("prune", "add_ignore", "since")),
    ("prune", "--prune", ("add_ignore",)),
)
_NAMES = {"prune": "--prune", "add_ignore": "--add-ignore", "since": "--since"}


def add_narrowing(parser: argparse.ArgumentParser) -> None:
    """The options."""
    group = parser.add_argument_group("living with what is there")
    group.add_argument(
        "--since", metavar="REV", help="only functions and lines that changed since this revision of git"
    )
    group.add_argument("--baseline", metavar="FILE", help="do not report what this file lists")
    group.add_argument(
        "--write-baseline", action="store_true", help="write everything there is to report into the baseline file"
    )
    group.add_argument("--prune", action="store_true", help="drop what no longer occurs from the baseline file")
    group.add_argument(
        "--add-ignore",
        action="store_true",
        help="write `# hybridize: ignore[CODE]` behind all lines that are reported, and report nothing",
    )
    group.add_argument("--reason", metavar="TEXT", help="what these comments say besides")


def check_narrowing(args: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go together."""
    for name in ("write_baseline", "prune"):
        if getattr(args, name) and not args.baseline:
            raise UsageError(f"--{name.replace('_', '-')} needs --baseline FILE")
    for name, option, others in _TOGETHER:
        for other in others:
            if getattr(args, name) and getattr(args, other):
                raise UsageError(f"{option} does not go with {_NAMES[other]}")
    if args.add_ignore and (args.output_file or args.output_format != FORMATS[0]):
        raise UsageError("--add-ignore writes comments and no report: it goes with no --output-format or --output-file")
    if args.reason is not None:
        if not args.add_ignore:
            raise UsageError("--reason needs --add-ignore")
        if "#" in args.reason or not args.reason.isprintable() or not args.reason.strip():
            raise UsageError("--reason takes a line of text without `#`")


class Narrowing:
    """What leaves out of a report what is not asked for."""

    def __init__(self, args: argparse.Namespace, paths: Sequence[str]) -> None:
        """Raises UsageError for a revision or a baseline that cannot be read: before anything is analyzed."""
        self._args = args
        self._file = Path(args.baseline) if args.baseline else None
        self._known = _read(self._file) if self._file is not None and not args.write_baseline else None
        self._revision = _revision(args.since, paths) if args.since is not None else None

    def narrow(self, report: Report, contents: Mapping[str, bytes] | None = None) -> Report:
        """The report without what is not asked for; `contents` stand for files on disk, by path from the root."""
        if self._known is not None and self._file is not None:
            from hybridize.report.baseline import without_baseline

            report = without_baseline(report, self._known, self._file, contents)
        return self.since(report, contents)

    def since(self, report: Report, contents: Mapping[str, bytes] | None = None) -> Report:
        """The report on what changed; `contents` as above."""
        if self._revision is None:
            return report
        from hybridize.report.since import only_since
        from hybridize.source.revision import RevisionError

        try:
            return only_since(report, self._revision.read, contents)
        except RevisionError as error:
            raise UsageError(f"--since {self._args.since}: {error}") from None

    def tell(self, report: Report, told: Report) -> None:
        """Says how much of what a report has is left out as known."""
        if self._known is not None:
            from hybridize.cli.silenced import by_baseline

            left = len(by_baseline(self.since(report), told))
            if left:
                complain(f"{_entries(left)} of {self._file} not reported", label="note")

    def write(self, report: Report) -> None:
        """Writes the baseline anew, of all that a report has to say."""
        from hybridize.report.baseline import entries_of

        assert self._file is not None
        known = entries_of(report, self._file)
        _write(known, self._file)
        complain(f"{_entries(known.total())} written to {self._file}", label="note")

    def tidy(self, report: Report, paths: Sequence[str], config: Config) -> None:
        """Says what of the baseline no longer occurs, and drops it with `--prune`."""
        if self._known is None or self._file is None:
            return
        from hybridize.report.baseline import prune
        from hybridize.report.documentation import load_docs
        from hybridize.report.select import is_selected

        names = {doc.code: doc.name for doc in load_docs().values()} if config.select or config.ignore else {}

        def is_said(code: str) -> bool:
            return is_selected(code, names.get(code, ""), config.select, config.ignore)

        pruned = prune(self._known, report, self._file, paths, is_said)
        if not pruned.gone:
            return
        gone = _entries(pruned.gone)
        if self._args.prune:
            _write(pruned.kept, self._file)
            complain(f"{gone} of {self._file} dropped, {pruned.kept.total():,} left", label="note")
        elif not self._args.quiet:
            complain(f"{gone} of {self._file} no longer found (--prune drops what is gone)", label="note")


def add_comments(args: argparse.Namespace, look: Callable[[Mapping[str, bytes]], Report], missing: bool) -> int:
    """`--add-ignore`: writes the comments, and says what is left."""
    from hybridize.fixing.ignoring import ignore_all
    from hybridize.report.paths import displayer
    from hybridize.report.style import one_line
    from hybridize.report.words import counted
    from hybridize.rewrite import apply

    done = ignore_all(look, (args.reason or "").strip())
    outcomes = apply(done.files, root=Path(done.root))
    display = displayer(done.root)
    refused = [each for each in outcomes if each.error]
    written = sum(each.written for each in outcomes)
    what = counted(done.comments, "comment") if not refused else "comments"
    complain(f"{what} written in {counted(written, 'file')}", label="note")
    for each in refused:
        complain(one_line(f"{display(str(each.path))}: {each.error}"))
    for item, why in done.left:
        complain(one_line(f"{display(item.path)}:{item.line}: {item.code} {item.name}: {why}"), label="left")
    if missing:
        return ERROR
    return SOMETHING if (refused or done.left) and not args.exit_zero else NOTHING


def _entries(number: int) -> str:
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def _revision(name: str, paths: Sequence[str]) -> Revision:
    from hybridize.source.revision import Revision, RevisionError

    start = Path(paths[0])
    folder = start if start.is_dir() else start.parent
    try:
        return Revision(str(folder), name)
    except RevisionError as error:
        raise UsageError(f"--since {name}: {error}") from None


def _read(file: Path) -> Known:
    from hybridize.report.baseline import BaselineError, read_baseline

    try:
        return read_baseline(file)
    except BaselineError as error:
        raise UsageError(str(error)) from None


def _write(known: Known, file: Path) -> None:
    from hybridize.report.baseline import BaselineError, write_baseline

    try:
        write_baseline(known, file)
    except BaselineError as error:
        raise UsageError(str(error)) from None
