"""`hybridize explain`: why this verdict, step by step; or what a code means."""

from __future__ import annotations

import argparse
import os

from hybridize.cli.errors import ERROR, NOTHING, UsageError
from hybridize.cli.options import add_config_options, add_format, add_verbosity
from hybridize.regex import regex

#: What can only be meant as a code.
_CODE = regex(r"(?i)(?:hy|p)\d+")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybridize.decide.model import FunctionReport, Report
    from hybridize.report.lookup import Target


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "explain",
        help="why this verdict, step by step; or what a code means",
        description="Says everything that is known of a function, and why it is so; what is found at a line of a "
        "script; or what a code means.",
    )
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="a function (`step`, `Trainer.step`, `module:Trainer.step`), FILE, FILE:LINE, or a code",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="the project (default: the current folder)")
    add_format(parser, ("text", "json"))
    add_verbosity(parser)
    add_config_options(parser)


def run(args: argparse.Namespace) -> int:
    """Explain a code, or analyze the project and explain one function or all of a file."""
    from hybridize.cli.output import style_for, write
    from hybridize.cli.session import analyze, configure
    from hybridize.report.codes import describe_code, find_code
    from hybridize.report.documentation import load_docs
    from hybridize.report.lookup import TargetError, functions_of, parse_target
    from hybridize.report.select import unknown_selectors

    target = parse_target(args.target)
    doc = find_code(load_docs(), args.target) if target.path is None else None
    if doc:
        write(describe_code(doc, style_for()))
        return NOTHING
    if target.path is None and _CODE.fullmatch(args.target):
        ((_, close),) = unknown_selectors([args.target], [(doc.code, "") for doc in load_docs().values()])
        raise UsageError(f"no code `{args.target}`" + (f"; did you mean `{close}`?" if close else ""))
    if target.path is not None and not os.path.exists(target.path):
        raise UsageError(f"no such file or directory: {target.path}")
    paths = list(args.paths or [_project_of(target)])
    config = configure(args, paths)
    report = analyze(paths, config, repairs=args.output_format != "json")
    try:
        found = functions_of(report, target)
    except TargetError as error:
        shown = _found_at(report, target) if args.output_format != "json" else ""
        if not shown:
            raise UsageError(str(error)) from None
        write(shown)
    else:
        write(_render(found, report, args))
    return ERROR if report.missing else NOTHING


def _project_of(target: Target) -> str:
    """The project of the file, else that of the current folder."""
    from hybridize.source.project import project_folder

    return project_folder(target.path or ".")


def named(report: Report, names: Sequence[str] | None) -> frozenset[str] | None:
    """The ids of the functions that `--only` names; raises UsageError for a name that is not clear."""
    from hybridize.report.lookup import TargetError
    from hybridize.report.lookup import named as ids_of

    try:
        return ids_of(report, names)
    except TargetError as error:
        raise UsageError(str(error)) from None


def _found_at(report: Report, target: Target) -> str:
    """What is found at a line of no function: the training step of a script's loop, say."""
    from hybridize.cli.output import page_for
    from hybridize.report.lookup import place_of
    from hybridize.report.paths import Places
    from hybridize.report.problems import at_line

    place = place_of(report, target)
    return at_line(report, Places.of(report), page_for(), *place) if place is not None else ""


def _render(found: Sequence[FunctionReport], report: Report, args: argparse.Namespace) -> str:
    from hybridize.cli.output import page_for

    if args.output_format == "json":
        import json

        from hybridize.report.json_report import function_to_dict

        return json.dumps([function_to_dict(f, report.project.root) for f in found], indent=1) + "\n"
    from hybridize.report.explain import explain
    from hybridize.report.paths import Places

    display, page = Places.of(report), page_for()
    return page.fold("\n".join(explain(report, function, display, page.style) for function in found))
