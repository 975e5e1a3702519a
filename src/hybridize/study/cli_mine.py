"""`study mine`, `study suggest`, `study issues` and `study export`: from histories and threads to items to rate."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

from hybridize.study import cli_network
from hybridize.study import profile as profiles
from hybridize.study.mined_set import SetError, moment, profile_of, tie, tie_options
from hybridize.study.profile import Profile, ProfileError
from hybridize.study.store import DatabaseError, connect, record_provenance
from hybridize.workers import available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.study.mine import MineResult

PROGRESS_SECONDS: Final = 10.0
"""Between two lines of progress where it is no terminal."""


def add_parser(subparsers: Any) -> None:
    """Add the four sub-commands; the parsed arguments carry `study_run`."""
    _add_mine(subparsers)
    _add_suggest(subparsers)
    _add_issues(subparsers)
    _add_export(subparsers)


def _add_mine(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "mine",
        help="find changesets that add or remove a use of tf.function in local clones",
        description="Reads clones by the git command line; writes one database. Stops and resumes at will.",
    )
    parser.add_argument(
        "repositories", nargs="+", metavar="REPO", help="a clone, bare or not, or a file that lists some"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="STUDY.db", help="the database; created if missing")
    _add_profile(parser)
    parser.add_argument(
        "--all-changes", action="store_true", help="select also changesets that fail the bug-fix filter"
    )
    parser.add_argument("--uses-only", action="store_true", help="drop changesets that touch the name only in text")
    parser.add_argument("--notebooks", action="store_true", help="search the code of notebooks too")
    parser.add_argument("--all-refs", action="store_true", help="all branches and tags, not only what HEAD reaches")
    parser.add_argument("--since", metavar="DATE", help="only commits from this day on (YYYY-MM-DD, or with time; UTC)")
    parser.add_argument("--until", metavar="DATE", help="only commits up to the end of this day")
    parser.add_argument(
        "--jobs",
        type=int,
        default=available(),
        metavar="N",
        help="histories mined at once (default: one for each processor)",
    )
    parser.add_argument("--dataset", default="", metavar="NAME", help="a name for where these repositories come from")
    parser.set_defaults(study_run=run_mine)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--profile",
        metavar="NAME|FILE",
        help="jax, numba, tensorflow, torch, or a TOML file (default: the database's, else tensorflow)",
    )
    choice.add_argument("--keyword", metavar="NAME", help="a dotted name of an API that no profile is there for")


def _profile(args: argparse.Namespace, connection: Any) -> Profile:
    """What the command line asks for, else what the database is tied to, else TensorFlow's.

    Raises:
        ProfileError: there is no such profile.
        SetError: the database is tied to another one.
    """
    tied = profile_of(connection)
    asked = profiles.load(args.profile) if args.profile else None
    asked = profiles.for_keyword(args.keyword) if args.keyword else asked
    if asked is not None:
        tie(connection, asked)
    return asked or tied or profiles.built_in()


def _mined_profile(args: argparse.Namespace) -> Profile:
    with closing(connect(args.out)) as connection:
        return _profile(args, connection)


def _add_suggest(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "suggest",
        help="say what each mined changeset did, as a pre-fill for raters",
        description="Compares syntax trees before and after. A suggestion never counts as a rating.",
    )
    parser.add_argument("database", type=Path, metavar="STUDY.db")
    _add_profile(parser)
    parser.add_argument("--again", action="store_true", help="also where there are suggestions already")
    parser.add_argument(
        "--rules",
        action="store_true",
        dest="ask_rules",
        help="also say, of all, which rules fire before and not after, and a problem category by them; slow at first,"
        " and the category was right less often than always saying the most frequent one",
    )
    parser.set_defaults(study_run=run_suggest, rules=None)


def _add_issues(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "issues",
        help="import issue threads, keep those with the keyword, draw a sample",
        description="Reads exported files, or asks GitHub's search (--download). Only threads with the literal keyword "
        "(with its period) are kept.",
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE",
        help="JSON or JSON lines as GitHub's interface, its search, `gh issue list --json` or an archive of it give "
        "them; CSV with columns url, title, body",
    )  # fmt: skip
    parser.add_argument("--download", action="store_true", help="search GitHub for the keyword")
    parser.add_argument("--repo", action="append", default=[], metavar="OWNER/NAME", help="only there (repeatable)")
    parser.add_argument("--since", type=cli_network.day, metavar="DATE", help="opened on this day or later")
    parser.add_argument("--until", type=cli_network.day, metavar="DATE", help="opened on this day or before")
    cli_network.add_client(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="STUDY.db", help="the database; created if missing")
    _add_profile(parser)
    parser.add_argument(
        "--no-pull-requests", action="store_true", help="leave pull requests out (the paper looked at both)"
    )
    parser.add_argument("--keep-social", action="store_true", help="don't filter out social conversation")
    parser.add_argument("--sample", type=int, metavar="N", help="select N threads at random, the rest is set aside")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    parser.add_argument(
        "--code-weight", type=float, default=3.0, help="how much likelier threads with code are (default 3)"
    )
    parser.add_argument("--dataset", default="", metavar="NAME", help="a name for where these threads come from")
    parser.set_defaults(study_run=run_issues)


def _add_export(subparsers: Any) -> None:
    parser = subparsers.add_parser("export", help="write a table of the database as CSV, JSON lines or Parquet")
    parser.add_argument("database", type=Path, metavar="STUDY.db")
    parser.add_argument(
        "--table", default="commits", help="commits, changes, suggestions, issues, ... (default: commits)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument("--format", choices=("csv", "jsonl", "parquet"), help="default: by the file's ending, else csv")
    parser.set_defaults(study_run=run_export)


def run_mine(args: argparse.Namespace) -> int:
    """Exit code 0; 1 if some repository or commit could not be read; 2 if none could, or on a usage error."""
    from hybridize.study.mine import MineOptions
    from hybridize.study.mine_all import mine_all

    try:
        profile = _mined_profile(args)
        paths = expand(args.repositories)
    except (ValueError, OSError, DatabaseError) as error:
        return _fail(str(error))
    if not paths:
        return _fail("no repository to mine")
    try:
        period = _period(args.since, args.until)
        if args.jobs < 1:
            raise ValueError("--jobs must be at least 1")
    except ValueError as error:
        return _fail(str(error))
    options = MineOptions(
        profile=profile,
        all_changes=args.all_changes,
        notebooks=args.notebooks,
        since=period[0],
        until=period[1],
        all_refs=args.all_refs,
        uses_only=args.uses_only,
        dataset=args.dataset,
    )
    bar = Bar(sys.stderr)
    try:
        with closing(connect(args.out)) as connection:
            tie(connection, profile)
            tie_options(connection, options.identity(), options.all_changes)
        with _alone(args.out):
            results = _told(mine_all(args.out, paths, options, args.jobs, bar.show), len(paths), bar)
        with closing(connect(args.out)) as connection:
            said = {"profile": profile.name, "jobs": args.jobs, **json.loads(options.identity())}
            said |= {"all_changes": options.all_changes, "dataset": options.dataset}
            heads = {r.name: r.head for r in sorted(results, key=lambda r: r.name) if not r.error}
            record_provenance(connection, "mine", said, heads)
            total = connection.execute("SELECT count(*), sum(is_bug_fix), sum(touches_use) FROM changeset").fetchone()
    except (DatabaseError, SetError) as error:
        return _fail(f"{args.out}: {error}" if isinstance(error, SetError) else str(error))
    except KeyboardInterrupt:
        bar.clear()
        print("interrupted: the same command resumes", file=sys.stderr)
        return 2
    new = sum(r.kept for r in results)
    commits = sum(r.commits for r in results)
    print(f"{len(results)} repositories, {commits} commits looked through, {new} new changesets")
    print(f"in all {total[0]} changesets, {total[1] or 0} bug fixes by their message, {total[2] or 0} change a use")
    if results and all(r.error for r in results):
        return 2
    return int(any(r.error or r.lost for r in results))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two miners would count what both have looked through twice; where the system knows of locks, the second one ends.

    Workers have the lock, too: it holds as long as one of them goes on, whatever became of the command.
    """
    with open(path, "rb") as stream:
        try:
            import fcntl

            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            raise DatabaseError(f"{path}: another `study mine` is at work on it") from None
        yield


def _told(mined: Iterable[MineResult], count: int, bar: Bar) -> list[MineResult]:
    """The results of repositories; what went wrong with each is told as it comes."""
    results: list[MineResult] = []
    for result in mined:
        results.append(result)
        bar.clear()
        if result.error:
            print(f"error: {result.name}: {result.error}", file=sys.stderr)
        elif result.lost:
            print(f"warning: {result.name}: {len(result.lost)} commits could not be read", file=sys.stderr)
        bar.show(f"[{len(results)}/{count}] {result.name}: {result.kept} new changesets")
    bar.clear()
    return results


def _period(since: str | None, until: str | None) -> tuple[str | None, str | None]:
    """The period as git takes it.

    Raises:
        ValueError: a date is none, or the end is before the start.
    """
    try:
        first = moment(since, end=False) if since else None
    except ValueError as error:
        raise ValueError(f"--since: {error}") from None
    try:
        last = moment(until, end=True) if until else None
    except ValueError as error:
        raise ValueError(f"--until: {error}") from None
    if first and last and last < first:
        raise ValueError(f"--until {until} is before --since {since}")
    return first, last


def expand(arguments: list[str]) -> list[Path]:
    """Clones named one by one or in list files (one a line, `#` for comments, relative to the file).

    Raises:
        OSError: a name is neither a folder nor a file that can be read.
    """
    paths: list[Path] = []
    for argument in arguments:
        path = Path(argument)
        if path.is_dir():
            paths.append(path)
            continue
        if not path.is_file():
            raise FileNotFoundError(f"no such repository or list: {argument}")
        for line in path.read_text("utf-8", errors="replace").splitlines():
            text = line.partition(" #")[0].strip()
            if text and not text.startswith("#"):
                paths.append(path.parent / text)
    return list(dict.fromkeys(paths))


def run_suggest(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 on an error."""
    from hybridize.study.keyword import Keyword
    from hybridize.study.suggest import suggest_all
    from hybridize.study.suggest_model import UNSURE

    bar = Bar(sys.stderr)

    def work(connection: Any) -> int:
        keyword = Keyword(_profile(args, connection))
        count = suggest_all(
            connection,
            keyword,
            args.rules,
            again=args.again or args.rules is not None,  # what was said without them has no category
            progress=lambda n, all_: bar.show(f"{n} of {all_}"),
        )
        bar.clear()
        record_provenance(
            connection,
            "suggest",
            {"profile": keyword.profile.name, "again": args.again, "rules": args.rules is not None},
        )
        print(f"{count} changesets")
        for row in connection.execute(
            "SELECT kind, count(*) AS number FROM suggestion WHERE is_primary GROUP BY kind ORDER BY number DESC, kind"
        ):
            print(f"{row['number']:6}  {row['kind'].replace('_', ' ')}")
        (unsure,) = connection.execute(
            "SELECT count(*) FROM suggestion WHERE is_primary AND confidence < ?", (UNSURE,)
        ).fetchone()
        print(f"{unsure} of them unsure (confidence below {UNSURE})")
        if args.rules is not None:
            _print_categories(connection)
        return 0

    return _with_database(args.database, work, create=False)


def _print_categories(connection: Any) -> None:
    rows = connection.execute(
        "SELECT category, count(*) AS number FROM suggestion WHERE is_primary AND rules_json != '[]'"
        " GROUP BY category ORDER BY category IS NULL, number DESC, category"
    ).fetchall()
    print(f"{sum(row['number'] for row in rows)} settle what our rules say; likely categories:")
    for row in rows:
        print(f"{row['number']:6}  {row['category'] or 'several'}")


def run_issues(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 on an error."""
    from hybridize.study.download import DatabaseShelf, download
    from hybridize.study.github import GitHubError
    from hybridize.study.issues import IssueError, draw_sample, import_threads, read_threads
    from hybridize.study.keyword import Keyword

    if not args.files and args.sample is None and not args.download:
        return _fail("nothing to do: give files, --download, --sample N")
    if (args.sample is not None and args.sample < 0) or args.code_weight <= 0:
        return _fail("--sample and --code-weight must be positive")

    bar = Bar(sys.stderr)

    def work(connection: Any) -> int:
        keyword = Keyword(_profile(args, connection))
        tie(connection, keyword.profile)
        asked: dict[str, object] = {}
        if args.files or args.download:
            incomplete: list[str] = []
            threads = read_threads(args.files, incomplete)
            if args.download:
                found = download(
                    cli_network.client_of(args, DatabaseShelf(connection)), keyword.profile.keyword, args.repo,
                    args.since, args.until, bar.show, pull_requests=not args.no_pull_requests,
                )  # fmt: skip
                bar.clear()
                threads += found.threads
                incomplete += found.incomplete
                asked = {"queries": found.queries, "asked_at": found.asked_at, "found": found.total}
                for name in found.missing:
                    print(f"warning: GitHub knows no repository {name}", file=sys.stderr)
            if args.no_pull_requests:
                threads = [thread for thread in threads if not thread.is_pull_request]
            asked["incomplete"] = incomplete
            for name in incomplete:
                print(f"warning: the search was incomplete: {name}", file=sys.stderr)
            counts = import_threads(
                connection,
                threads,
                ", ".join([path.name for path in args.files] + ["GitHub"] * args.download),
                keyword,
                keep_social=args.keep_social,
                dataset=args.dataset,
            )
            pulls = sum(thread.is_pull_request for thread in threads)
            print(
                f"{counts.threads} threads ({pulls} pull requests), {counts.with_keyword} with {keyword.text},"
                f" {counts.kept} of them kept; {counts.social} of {counts.comments} comments are social conversation"
            )
        if args.sample is not None:
            drawn = draw_sample(connection, args.sample, args.seed, args.code_weight)
            print(f"{len(drawn)} threads drawn (seed {args.seed})")
        options = {k: v for k, v in vars(args).items() if k not in ("study_run", "out")}
        record_provenance(connection, "issues", json.loads(json.dumps(options | asked, default=str)))
        return 0

    try:
        return _with_database(args.out, work, create=True)
    except (IssueError, GitHubError, ValueError) as error:
        return _fail(str(error))


def run_export(args: argparse.Namespace) -> int:
    """Exit code 0, or 2 on an error."""
    from hybridize.study.export import FORMATS, QUERIES, ExportError, export

    if args.table not in QUERIES:
        return _fail(f"there is no table {args.table!r}; there are {', '.join(QUERIES)}")
    ending = args.out.suffix.lstrip(".") if args.out else ""
    form = args.format or (ending if ending in FORMATS else "csv")

    def work(connection: Any) -> int:
        count = export(connection, args.table, args.out, form)
        if args.out:
            print(f"{count} rows in {args.out}")
        return 0

    try:
        return _with_database(args.database, work, create=False)
    except ExportError as error:
        return _fail(str(error))


def _with_database(path: Path, work: Callable[[Any], int], *, create: bool) -> int:
    try:
        with closing(connect(path, create=create)) as connection:
            return work(connection)
    except (DatabaseError, ProfileError, SetError) as error:
        return _fail(str(error))


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2


class Bar:
    """Progress: one line on a terminal, elsewhere a line every ten seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._width = 0
        self._last = time.monotonic()

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._live:
            self._stream.write("\r" + text[:118].ljust(self._width))
            self._stream.flush()
            self._width = min(len(text), 118)
        elif time.monotonic() - self._last >= PROGRESS_SECONDS:
            self._last = time.monotonic()
            print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Leave an empty line."""
        if self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
