"""`hybridize explain`: why this verdict, step by step; or what a code means."""

from __future__ import annotations

import argparse
import os

from hybridize.cli.errors import ERROR, NOTHING, UsageError
from hybridize.cli.options import add_config_options, add_format, add_verbosity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybridize.decide.model import Report
    from hybridize.report.lookup import Found, Target

_MOST_MATCHES = 20


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "explain",
        help="why this verdict, step by step; or what a code means",
        description="Says everything that is known of a function, and why it is so; or what a code means.",
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
    from hybridize.cli.codes import load_docs
    from hybridize.cli.output import style_for, write
    from hybridize.cli.session import analyze, configure
    from hybridize.report.codes import describe_code, find_code
    from hybridize.report.lookup import find, parse_target

    target = parse_target(args.target)
    doc = find_code(load_docs(), args.target) if target.path is None else None
    if doc:
        write(describe_code(doc, style_for()))
        return NOTHING
    if target.path is not None and not os.path.exists(target.path):
        raise UsageError(f"no such file or directory: {target.path}")
    paths = list(args.paths or [_project_of(target)])
    config = configure(args, paths)
    report = analyze(paths, config, repairs=args.output_format != "json")
    found = find(report, target)
    require(found, target, report)
    write(_render(found, report, args))
    return ERROR if report.missing else NOTHING


def _project_of(target: Target) -> str:
    """The current folder where it holds the file, else the file's own project, or its folder."""
    if target.path is None:
        return "."
    path, here = os.path.realpath(target.path), os.path.realpath(".")
    if path.startswith(os.path.join(here, "")):
        return "."
    from hybridize.config import ConfigError, load_config

    try:
        return str(load_config([path]).directory or os.path.dirname(os.path.abspath(target.path)))
    except ConfigError as error:
        raise UsageError(str(error)) from None


def require(found: Found, target: Target, report: Report) -> None:
    """Raise UsageError for a target that means no function, or a name that means several."""
    if not found.functions:
        path = os.path.abspath(target.path) if target.path else None
        for error in report.errors:
            if os.path.join(report.project.root, error.path) == path:
                raise UsageError(f"{target.path}:{error.line}: {error.message}")
        hint = f"; did you mean {' or '.join(f'`{name}`' for name in found.suggestions)}?" if found.suggestions else ""
        if target.line is not None:
            raise UsageError(f"no function at {target.text}{hint}")
        raise UsageError(f"no function in {target.text}" if target.path else f"no function `{target.text}`{hint}")
    if target.path is None and len(found.functions) > 1:
        names = [f"  {f.facts.id}  ({f.facts.path}:{f.facts.line})" for f in found.functions[:_MOST_MATCHES]]
        more = len(found.functions) - len(names)
        rest = [f"  and {more} more"] if more else []
        raise UsageError("\n".join([f"`{target.text}` means {len(found.functions)} functions:", *names, *rest]))


def named(report: Report, names: Sequence[str] | None) -> frozenset[str] | None:
    """The ids of the functions that `--only` names; raises UsageError for a name that is not clear."""
    if names is None:
        return None
    from hybridize.report.lookup import find, parse_target

    chosen: set[str] = set()
    for name in _split(names):
        target = parse_target(name)
        found = find(report, target)
        require(found, target, report)
        chosen.update(function.facts.id for function in found.functions)
    return frozenset(chosen)


def _split(names: Sequence[str]) -> list[str]:
    """Names with commas between are several; a path may have a comma itself."""
    found: list[str] = []
    for name in names:
        found += [name] if "/" in name or ".py" in name else [part for part in name.split(",") if part]
    return found or list(names)


def _render(found: Found, report: Report, args: argparse.Namespace) -> str:
    from hybridize.cli.output import style_for

    if args.output_format == "json":
        import json

        from hybridize.report.json_report import function_to_dict

        return json.dumps([function_to_dict(f, report.project.root) for f in found.functions], indent=1) + "\n"
    from hybridize.report.explain import explain
    from hybridize.report.paths import displayer

    display, style = displayer(report.project.root), style_for()
    return "\n".join(explain(report, function, display, style) for function in found.functions)
