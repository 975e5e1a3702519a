"""`hybridize rules`: the codes there are."""

from __future__ import annotations

import argparse

from hybridize.cli.errors import NOTHING, UsageError
from hybridize.cli.options import add_format


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "rules",
        help="list the codes of preconditions, statuses, rules and repairs",
        description="Lists the codes of preconditions, statuses, rules and repairs; `explain CODE` says more of one.",
    )
    parser.add_argument("codes", nargs="*", metavar="CODE", help="only these, by code, the start of one, or name")
    add_format(parser, ("text", "json"))


def run(args: argparse.Namespace) -> int:
    """List them."""
    from hybridize.cli.output import style_for, write
    from hybridize.report.codes import list_codes
    from hybridize.report.documentation import load_docs
    from hybridize.report.select import unknown_selectors

    docs = load_docs()
    for selector, close in unknown_selectors(args.codes, [(doc.code, doc.name) for doc in docs.values()]):
        raise UsageError(f"no code starts with `{selector}`" + (f"; did you mean `{close}`?" if close else ""))
    if args.output_format == "json":
        import json
        from dataclasses import asdict

        from hybridize.report.select import matches

        shown = [
            doc for doc in docs.values() if not args.codes or any(matches(s, doc.code, doc.name) for s in args.codes)
        ]
        write(json.dumps([asdict(doc) for doc in shown], indent=1) + "\n")
    else:
        write(list_codes(docs, tuple(args.codes), style_for()))
    return NOTHING
