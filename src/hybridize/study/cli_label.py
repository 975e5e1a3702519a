"""`study label`: the page, or a sheet out and in."""

from __future__ import annotations

import argparse
import secrets
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from hybridize.study import codebook, codebook_store
from hybridize.study.codebook import CodebookError
from hybridize.study.label import ratings, reconcile, rounds, sheet
from hybridize.study.label.ratings import Refused
from hybridize.study.label.sheet import SheetError
from hybridize.study.mined_set import profile_of
from hybridize.study.store import DatabaseError, connect, record_provenance


def add_parser(subparsers: Any) -> None:
    """Add `label`; the parsed arguments carry `study_run`, which takes them and returns the exit code."""
    parser = subparsers.add_parser(
        "label",
        help="rate changesets and issues: a local web page for several raters, or CSV",
        description="Opens a page on this machine only. Ratings are blind until enough raters have submitted.",
    )
    parser.add_argument("database", type=Path, metavar="STUDY.db", help="made by `study mine` or `study issues`")
    parser.add_argument("--codebook", type=Path, metavar="FILE", help="TOML file that extends the built-in names")
    parser.add_argument("--port", type=int, default=None, help="port on 127.0.0.1 (default 8737; 0: any free one)")
    parser.add_argument(
        "--raters-per-item", type=int, default=2, metavar="N", help="ratings before an item may be compared (default 2)"
    )
    parser.add_argument("--no-suggestions", action="store_true", help="hide what `study suggest` found")
    parser.add_argument(
        "--no-token", action="store_true", help="let everybody on this machine in, not only who has the address"
    )
    parser.add_argument("--no-browser", action="store_true", help="don't open a browser")
    parser.add_argument("--rater", metavar="NAME", help="whose sheet; also who accepts with --accept-agreed")
    parser.add_argument("--round", metavar="ROUND", help="only this round's items (for CSV)")
    parser.add_argument("--export-csv", type=Path, metavar="FILE", help="write the rater's queue to fill in")
    parser.add_argument("--import-csv", type=Path, metavar="FILE", help="read a filled sheet, wholly or not at all")
    parser.add_argument(
        "--accept-agreed", action="store_true", help="make final what enough raters submitted with the same labels"
    )
    parser.add_argument("--make-round", metavar="NAME", help="give items that are in no round yet to this round")
    parser.add_argument("--size", type=int, metavar="N", help="how many items, drawn at random (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of that draw (default 0)")
    parser.set_defaults(study_run=run)


def run(args: argparse.Namespace) -> int:
    """Exit code 0: done; 2: an error, told in one line (or one per cell of a sheet)."""
    try:
        if args.raters_per_item < 2:
            raise Refused("--raters-per-item must be at least 2")
        with closing(connect(args.database, create=False)) as connection:
            if args.codebook or not connection.execute("SELECT 1 FROM codebook").fetchone():
                mined = profile_of(connection)
                book = codebook.of_profile(mined) if mined and not args.codebook else codebook.load(args.codebook)
                codebook_store.save(connection, book)
            if args.export_csv or args.import_csv or args.accept_agreed or args.make_round is not None:
                return _without_page(args, connection)
        return _serve(args)
    except BrokenPipeError:
        raise
    except SheetError as error:
        print(f"error: nothing was imported\n{error}", file=sys.stderr)
    except (DatabaseError, CodebookError, Refused, OSError, UnicodeDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
    return 2


def _without_page(args: argparse.Namespace, connection: Any) -> int:
    if args.make_round is not None:
        number = rounds.make_round(connection, args.make_round, args.size, args.seed)
        print(f"{number} items given to round {args.make_round}")
    if args.export_csv or args.import_csv or args.accept_agreed:
        if not args.rater:
            raise Refused("--rater NAME is needed: whose ratings are they?")
        rounds.check(connection, args.round)
        ratings.add_rater(connection, args.rater)
    if args.import_csv:
        content = args.import_csv.read_bytes().decode("utf-8-sig")
        done = sheet.read(connection, content, args.rater)
        print(f"{done.submitted} submitted, {done.drafts} drafts, {done.unchanged} unchanged or empty")
    if args.accept_agreed:
        number = reconcile.accept_agreed(connection, args.rater, args.raters_per_item, args.round)
        print(f"{number} items reconciled")
    if args.export_csv:
        # The byte order mark tells spreadsheets that this is UTF-8.
        args.export_csv.write_bytes(sheet.export(connection, args.rater, args.round).encode("utf-8-sig", "replace"))
        print(f"wrote {args.export_csv}")
    options = {name: str(value) for name, value in vars(args).items() if name not in ("study_run", "command")}
    record_provenance(connection, "study label", options)
    return 0


def _serve(args: argparse.Namespace) -> int:
    from hybridize.study.label.server import DEFAULT_PORT, LabelServer, Settings

    port = DEFAULT_PORT if args.port is None else args.port
    settings = Settings(
        args.database, args.raters_per_item, not args.no_suggestions, "" if args.no_token else secrets.token_urlsafe(16)
    )
    try:
        server = LabelServer(settings, port)
    except (OSError, OverflowError) as error:
        raise OSError(f"cannot listen on port {port}: {error}; --port 0 takes a free one") from error
    with server:
        print(f"{server.url}  (Ctrl+C ends it; every answer is saved as it is given)", flush=True)
        if not args.no_browser:
            import webbrowser

            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
