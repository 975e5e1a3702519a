"""`hybridize fix`: makes the changes in place, or shows them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from hybridize.cli.errors import ERROR, NOTHING, SOMETHING
from hybridize.cli.options import add_config_options, add_output_options, add_paths, add_verbosity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.cli.changes import Change, FileChanges
    from hybridize.decide.model import FunctionReport, Report
    from hybridize.report.style import Style

_EPILOG = "Exit code 0: all is done, 1: something is left (with --diff: there is something to change), 2: an error."


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's arguments."""
    parser = subparsers.add_parser(
        "fix",
        help="make the changes, or show them (--diff)",
        description="Makes the changes that `hybridize check` proposes: decorators and imports, nothing else.",
        epilog=_EPILOG,
    )
    add_paths(parser)
    parser.add_argument("--diff", action="store_true", help="show the changes and write nothing")
    parser.add_argument(
        "--only", action="append", metavar="FUNCTION", help="only this function, by name, FILE or FILE:LINE; repeatable"
    )
    add_output_options(parser, ("full", "concise", "json"))
    add_verbosity(parser)
    add_config_options(parser)


def run(args: argparse.Namespace) -> int:
    """Analyze, plan, then write or show."""
    from hybridize.cli.changes import Outcome, plan_fixes, write_fixes
    from hybridize.cli.output import deliver
    from hybridize.cli.session import analyze, configure, paths_of

    paths = paths_of(args)
    config = configure(args, paths)
    report = analyze(args, paths, config)
    files = plan_fixes(report, _only(report, args.only))
    if not args.diff:
        files = write_fixes(files, report.project.root)
    deliver(_render(report, files, args), args.output_file)
    outcomes = [change.outcome for file in files for change in file.changes]
    if report.missing:
        return ERROR
    left = Outcome.REFUSED in outcomes or bool(report.errors)
    return SOMETHING if left or (args.diff and Outcome.DONE in outcomes) else NOTHING


def _only(report: Report, names: Sequence[str] | None) -> list[FunctionReport] | None:
    """The functions that `--only` names, in the report's order; raises UsageError for a name that is not clear."""
    if names is None:
        return None
    from hybridize.cli.explain import require
    from hybridize.report.lookup import find, parse_target

    chosen: set[str] = set()
    for name in names:
        target = parse_target(name)
        found = find(report, target)
        require(found, target, report)
        chosen.update(function.facts.id for function in found.functions)
    return [function for function in report.functions if function.facts.id in chosen]


def _render(report: Report, files: Sequence[FileChanges], args: argparse.Namespace) -> str:
    from hybridize.cli.output import style_for, write
    from hybridize.report.paths import displayer

    if args.output_format == "json":
        return _json(report, files, args.diff)
    style, display = style_for(args.output_file), displayer(report.project.root)
    text = _text(report, files, args, style, display)
    if not args.diff:
        return text
    # The diff alone on stdout, so that `| git apply` works; the rest is for the person.
    write(text, sys.stderr)
    return _diff(files, style)


def _diff(files: Sequence[FileChanges], style: Style) -> str:
    from hybridize.rewrite import unified_diff

    diffs = [unified_diff(file.result) for file in files if file.result]
    if not style.enabled:
        return "".join(diffs)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = [line for diff in diffs for line in diff.split("\n")[:-1]]
    return "".join((style.paint(line, colours[line[0]]) if line[:1] in colours else line) + "\n" for line in lines)


def _text(
    report: Report,
    files: Sequence[FileChanges],
    args: argparse.Namespace,
    style: Style,
    display: Callable[[str], str],
) -> str:
    """What was done, what was not and why, then a line of counts."""
    from hybridize.cli.changes import Outcome
    from hybridize.report.paths import read_errors
    from hybridize.report.style import one_line
    from hybridize.report.words import counted

    lines = []
    for file in files:
        place = one_line(display(file.path))
        if file.error:
            lines.append(f"{style.paint('error', 'red')}: {place}: {file.error}")
            continue
        shown = [change for change in file.changes if not args.quiet or change.outcome is Outcome.REFUSED]
        if args.output_format == "concise":
            lines += [f"{place}:{c.function.facts.line}: {_sentence(c, args.diff, style)}" for c in shown]
        elif shown:
            lines.append(style.paint(place, "bold"))
            lines += [f"{c.function.facts.line:>6}  {_sentence(c, args.diff, style)}" for c in shown]
    for error in read_errors(report):
        line = f":{error.line}" if error.line else ""
        lines.append(f"{style.paint('error', 'red')}: {one_line(display(error.path))}{line}: {one_line(error.message)}")
    if not args.quiet:
        done = [change for file in files for change in file.changes if change.outcome is Outcome.DONE]
        refused = sum(change.outcome is Outcome.REFUSED for file in files for change in file.changes)
        written = len({change.function.facts.path for change in done})
        verb = "would change" if args.diff else "changed"
        where = f" in {counted(written, 'file')}" if done else ""
        counts = [f"{counted(len(done), 'function')} {verb}{where}"]
        counts += [f"{refused:,} not changed"] if refused else []
        counts += [counted(len(read_errors(report)), "error")] if read_errors(report) else []
        lines.append(", ".join(counts) if files or read_errors(report) else "nothing to change")
    return "".join(f"{line}\n" for line in lines)


def _sentence(change: Change, diff: bool, style: Style) -> str:
    from hybridize.cli.changes import Outcome
    from hybridize.report.style import one_line
    from hybridize.report.words import verdict

    function = change.function
    if change.outcome is Outcome.DONE:
        verb = style.action(function.decision.action, verdict(function).ljust(11))
        return f"{verb}  {one_line(function.facts.qualname)}"
    what = "already so  " if change.outcome is Outcome.UNCHANGED else "not changed "
    reason = f": {one_line(change.reason)}" if change.reason else ""
    return f"{style.paint(what, 'yellow')} {one_line(function.facts.qualname)}{reason}"


def _json(report: Report, files: Sequence[FileChanges], diff: bool) -> str:
    from hybridize.report.json_report import to_dict
    from hybridize.report.paths import relative_to_root

    root = report.project.root
    data = {
        "version": 1,
        "root": root,
        "written": not diff,
        "files": [
            {
                "path": relative_to_root(file.path, root),
                "changed": bool(file.result and file.result.changed and not file.error),
                "error": file.error,
                "changes": [
                    {
                        "function": change.function.facts.id,
                        "line": change.function.facts.line,
                        "action": change.function.decision.action.value,
                        "precondition": change.function.decision.precondition,
                        "outcome": change.outcome.value,
                        "reason": change.reason,
                    }
                    for change in file.changes
                ],
            }
            for file in files
        ],
        "errors": to_dict(report)["errors"],
    }
    return json.dumps(data, indent=1) + "\n"
