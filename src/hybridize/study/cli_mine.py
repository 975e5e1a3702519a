"""`study mine`, `study suggest`, `study issues` and `study export`: from histories and threads to items to rate."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from hybridize.study import cli_network
from hybridize.study import profile as profiles
from hybridize.study.profile import Profile
from hybridize.study.store import DatabaseError, connect, record_provenance


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
    parser.add_argument("--since", metavar="DATE", help="only commits after this date, as git understands it")
    parser.add_argument("--until", metavar="DATE", help="only commits before this date")
    parser.add_argument("--dataset", default="", metavar="NAME", help="a name for where these repositories come from")
    parser.set_defaults(study_run=run_mine)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--profile",
        metavar="NAME|FILE",
        help="what to look for: jax, numba, tensorflow, torch, or a TOML file (default: the database's or tensorflow)",
    )
    choice.add_argument("--keyword", metavar="NAME", help="a dotted name of an API that no profile is there for")


def _profile(args: argparse.Namespace, connection: Any = None) -> Profile:
    """What the command line asks for, else what the database was mined with.

    Raises:
        ProfileError: there is no such profile.
    """
    if args.profile:
        return profiles.load(args.profile)
    if args.keyword:
        return profiles.for_keyword(args.keyword)
    return profiles.built_in()


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
        "--no-rules", action="store_true", help="don't ask which rules fire before and not after; far faster"
    )
    parser.set_defaults(study_run=run_suggest, rules=None)


def _add_issues(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "issues",
        help="import issue threads, keep those with the keyword, draw a sample",
        description="Reads exported files, or asks GitHub's search (--download). "
        " Only threads with the literal keyword (with its period) are kept.",
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE",
        help="JSON or JSON lines as GitHub's interface, its search, `gh issue list --json` or an archive give them;"
        " CSV with columns url, title, body",
    )  # fmt: skip
    parser.add_argument("--download", action="store_true", help="search GitHub for the keyword")
    parser.add_argument("--repo", action="append", default=[], metavar="OWNER/NAME", help="only there (repeatable)")
    parser.add_argument("--since", type=cli_network.day, metavar="DATE", help="opened on this day or later")
    parser.add_argument("--until", type=cli_network.day, metavar="DATE", help="opened on this day or before")
    cli_network.add_client(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="STUDY.db", help="the database; created if missing")
    _add_profile(parser)
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
    from hybridize.study.history import GitError, Repository
    from hybridize.study.mine import MineOptions, Miner, repository_name

    try:
        profile = _profile(args)
        paths = expand(args.repositories)
    except (ValueError, OSError) as error:
        return _fail(str(error))
    if not paths:
        return _fail("no repository to mine")
    options = MineOptions(
        profile=profile,
        all_changes=args.all_changes,
        notebooks=args.notebooks,
        since=args.since,
        until=args.until,
        all_refs=args.all_refs,
        uses_only=args.uses_only,
        dataset=args.dataset,
    )
    results = []
    bar = Bar(sys.stderr)
    try:
        with closing(connect(args.out)) as connection:
            for number, path in enumerate(paths, 1):
                try:
                    name = repository_name(path)
                except GitError:
                    name = path.name
                label = f"[{number}/{len(paths)}]"
                miner = Miner(connection, Repository(path), name, options)
                result = miner.run(_progress(bar, label))
                results.append(result)
                bar.clear()
                if result.error:
                    print(f"error: {path}: {result.error}", file=sys.stderr)
                elif result.lost:
                    print(f"warning: {name}: {len(result.lost)} commits could not be read", file=sys.stderr)
            record_provenance(connection, "mine", asdict(options), {r.name: r.head for r in results if not r.error})
            total = connection.execute("SELECT count(*), sum(is_bug_fix), sum(touches_use) FROM changeset").fetchone()
    except DatabaseError as error:
        return _fail(str(error))
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


def _progress(bar: Bar, label: str) -> Callable[[str, int, int], None]:
    def show(name: str, seen: int, kept: int) -> None:
        bar.show(f"{label} {name}: {seen} looked at, {kept} kept")

    return show


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

    bar = Bar(sys.stderr)

    def work(connection: Any) -> int:
        count = suggest_all(
            connection,
            Keyword(_profile(args)),
            args.rules,
            again=args.again,
            progress=lambda n, all_: bar.show(f"{n} of {all_}"),
        )
        bar.clear()
        record_provenance(
            connection,
            "suggest",
            {"profile": _profile(args).name, "again": args.again, "rules": args.rules is not None},
        )
        print(f"{count} changesets")
        for row in connection.execute(
            "SELECT kind, count(*) AS number FROM suggestion WHERE is_primary GROUP BY kind ORDER BY number DESC, kind"
        ):
            print(f"{row['number']:6}  {row['kind'].replace('_', ' ')}")
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

    def work(connection: Any) -> int:
        asked: dict[str, object] = {}
        if args.files or args.download:
            incomplete: list[str] = []
            threads = read_threads(args.files, incomplete)
            if args.download:
                found = download(
                    cli_network.client_of(args, DatabaseShelf(connection)), _profile(args).keyword, args.repo,
                    args.since, args.until, lambda line: print(line, file=sys.stderr),
                )  # fmt: skip
                threads += found.threads
                incomplete += found.incomplete
                asked = {"queries": found.queries, "asked_at": found.asked_at, "found": found.total}
                for name in found.missing:
                    print(f"warning: GitHub knows no repository {name}", file=sys.stderr)
            asked["incomplete"] = incomplete
            for name in incomplete:
                print(f"warning: the search was incomplete: {name}", file=sys.stderr)
            counts = import_threads(
                connection,
                threads,
                ", ".join([path.name for path in args.files] + ["GitHub"] * args.download),
                Keyword(_profile(args)),
                keep_social=args.keep_social,
                dataset=args.dataset,
            )
            print(
                f"{counts.threads} threads, {counts.with_keyword} with {_profile(args).keyword},"
                f" {counts.kept} of them kept;"
                f" {counts.social} of {counts.comments} comments are social conversation"
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
    except DatabaseError as error:
        return _fail(str(error))


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2


class Bar:
    """One line of progress, on a terminal only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._width = 0

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._live:
            self._stream.write("\r" + text[:118].ljust(self._width))
            self._stream.flush()
            self._width = min(len(text), 118)

    def clear(self) -> None:
        """Leave an empty line."""
        if self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
