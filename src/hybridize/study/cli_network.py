"""`study subjects`, `study clone` and the download of `study issues`: what asks the network."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any

from hybridize.study import clone, github, subjects


def day(text: str) -> date:
    """A date of the command line; argparse tells the error in one line."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date like 2021-01-31") from None


def add_client(parser: Any) -> None:
    """The options of whoever asks GitHub."""
    parser.add_argument("--api", metavar="URL", default=github.BASE, help="another server (default: %(default)s)")
    parser.add_argument(
        "--token-variable", metavar="NAME", default="GITHUB_TOKEN",
        help="the environment variable that holds the token (default: %(default)s); it is never stored or printed",
    )  # fmt: skip
    parser.add_argument(
        "--patience", type=float, default=3700, metavar="SECONDS", help="longest wait for a limit (default 3700)"
    )


def client_of(args: argparse.Namespace, shelf: github.Shelf | None = None) -> github.Client:
    """The client that the options ask for."""
    return github.Client(
        args.api.rstrip("/"),
        os.environ.get(args.token_variable) or None,
        shelf,
        args.patience,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )


def add_parser(steps: Any) -> None:
    """Add `subjects` and `clone`; the parsed arguments carry `study_run`."""
    parser = steps.add_parser(
        "subjects",
        help="search GitHub for repositories to study, by topic and dependency",
        description="Keeps GitHub's metadata of each subject, and why the others were left out.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON, which `study clone` reads")
    parser.add_argument("--topic", action="append", default=[], help="one of these topics (repeatable)")
    parser.add_argument(
        "--depends", action="append", default=[], metavar="NAME", help="one of these in its requirements (repeatable)"
    )
    parser.add_argument("--language", default="Python")
    parser.add_argument("--min-stars", type=int, default=0, metavar="N")
    parser.add_argument("--min-size", type=int, default=0, metavar="KB")
    parser.add_argument("--max-size", type=int, metavar="KB")
    parser.add_argument("--pushed-since", type=day, metavar="DATE", help="still active on this day")
    parser.add_argument("--forks", action="store_true", help="keep forks")
    parser.add_argument("--archived", action="store_true", help="keep what is archived")
    parser.add_argument("--any-domain", action="store_true", help="skip the deep-learning check")
    parser.add_argument("--limit", type=int, default=1000, metavar="N", help="how many subjects (default 1000)")
    add_client(parser)
    parser.set_defaults(study_run=run_subjects)
    parser = steps.add_parser(
        "clone",
        help="clone the subjects: bare, of the contents only what mining reads, several at once",
        description="Skips what is there, so that the same command goes on where it was stopped.",
    )
    parser.add_argument("list", type=Path, metavar="FILE", help="of `study subjects`, or one address a line")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="at once (default 4)")
    parser.add_argument("--seconds", type=int, default=1800, metavar="N", help="for one git command (default 1800)")
    parser.add_argument("--notebooks", action="store_true", help="bring the contents of notebooks, too")
    parser.set_defaults(study_run=run_clone)


def run_subjects(args: argparse.Namespace) -> int:
    """Exit code 0; 1 if a search was incomplete; 2 on an error."""
    if not args.topic and not args.depends:
        return _fail("give --topic, --depends, or both")
    wanted = subjects.Wanted(
        tuple(args.topic), tuple(args.depends), args.language, args.min_stars, args.min_size, args.max_size,
        str(args.pushed_since) if args.pushed_since else None, args.forks, args.archived, not args.any_domain,
        args.limit,
    )  # fmt: skip
    try:
        found = subjects.search(client_of(args), wanted)
        args.out.write_text(found.as_json(), "utf-8")
    except (github.GitHubError, OSError) as error:
        return _fail(str(error))
    print(f"{len(found.kept)} subjects, {len(found.left_out)} left out, in {args.out}")
    for query in found.incomplete:
        print(f"warning: GitHub did not look everywhere for: {query}", file=sys.stderr)
    return int(bool(found.incomplete))


def run_clone(args: argparse.Namespace) -> int:
    """Exit code 0; 1 if some subject could not be cloned; 2 on an error."""

    from hybridize.study.mine import MineOptions

    def done(one: clone.Cloned) -> None:
        if one.error:
            print(f"error: {one.name}: {one.error}", file=sys.stderr, flush=True)

    try:
        results = clone.clone_all(
            clone.listed(args.list), args.into, jobs=args.jobs, seconds=args.seconds,
            paths=MineOptions(notebooks=args.notebooks).paths(), done=done,
        )  # fmt: skip
    except (clone.CloneError, OSError) as error:
        return _fail(str(error))
    failed = sum(one.error is not None for one in results)
    print(f"{len(results) - failed} clones in {args.into}, {sum(one.new for one in results)} new, {failed} failed")
    return int(failed > 0)


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 2
