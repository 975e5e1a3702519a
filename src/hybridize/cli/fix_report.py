"""What `fix` says: what was done, what was not and why, as text or JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.cli.changes import Change, FileChanges
    from hybridize.decide.model import Report
    from hybridize.repairing import Repaired
    from hybridize.repairs.model import Bundle
    from hybridize.report.style import Style


def render(report: Report, files: Sequence[FileChanges], repaired: Repaired, args: argparse.Namespace) -> str:
    """The whole output; with --diff the text goes to stderr and the diff alone is returned."""
    from hybridize.cli.output import style_for, write
    from hybridize.report.paths import displayer

    if args.output_format == "json":
        return _json(report, files, repaired, args.diff)
    style, display = style_for(args.output_file), displayer(report.project.root)
    text = _text(report, files, repaired, args, style, display)
    if not args.diff:
        return text
    # The diff alone on stdout, so that `| git apply` works; the rest is for the person.
    write(text, sys.stderr)
    return diff(files, style)


def diff(files: Sequence[FileChanges], style: Style) -> str:
    """The unified diff of all files."""
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
    repaired: Repaired,
    args: argparse.Namespace,
    style: Style,
    display: Callable[[str], str],
) -> str:
    """What was done, what was not and why, then a line of counts."""
    from hybridize.cli.changes import Outcome
    from hybridize.report.paths import read_errors
    from hybridize.report.style import one_line

    lines = []
    for file in files:
        place = one_line(display(file.path))
        if file.error:
            lines.append(f"{style.paint('error', 'red')}: {place}: {file.error}")
            continue
        shown = [change for change in file.changes if not args.quiet or change.outcome is Outcome.REFUSED]
        mended = [] if args.quiet else [item for item in repaired.done if item[0].path == file.path]
        entries = [
            (each.line, f"{style.paint('repair     ', 'magenta')}  {_repair(each, names)}") for each, names in mended
        ]
        entries += [(c.line, _sentence(c, args.diff, style)) for c in shown]
        entries.sort(key=lambda entry: entry[0])
        if args.output_format == "concise":
            lines += [f"{place}:{line}: {said}" for line, said in entries]
        elif entries:
            lines.append(style.paint(place, "bold"))
            lines += [f"{line:>6}  {said}" for line, said in entries]
    for error in read_errors(report):
        line = f":{error.line}" if error.line else ""
        lines.append(f"{style.paint('error', 'red')}: {one_line(display(error.path))}{line}: {one_line(error.message)}")
    if not args.quiet:
        lines += _left(repaired, args, display)
        lines.append(_counts(report, files, repaired, args.diff))
    return "".join(f"{line}\n" for line in lines)


def _counts(report: Report, files: Sequence[FileChanges], repaired: Repaired, diff: bool) -> str:
    from hybridize.cli.changes import Outcome
    from hybridize.report.paths import read_errors
    from hybridize.report.words import counted

    done = [change for file in files for change in file.changes if change.outcome is Outcome.DONE]
    refused = sum(change.outcome is Outcome.REFUSED for file in files for change in file.changes)
    written = len({file.path for file in files if file.result and file.result.changed and not file.error})
    verb = "would change" if diff else "changed"
    where = f" in {counted(written, 'file')}" if done or repaired.done else ""
    counts = [f"{counted(len(done), 'function')} {verb}"]
    counts += [counted(len(repaired.done), "repair")] if repaired.done else []
    counts[-1] += where
    counts += [f"{refused:,} not changed"] if refused else []
    counts += [counted(len(read_errors(report)), "error")] if read_errors(report) else []
    return ", ".join(counts) if files or read_errors(report) else "nothing to change"


def _repair(each: object, names: Sequence[str]) -> str:
    from hybridize.repairs.model import Proposed

    assert isinstance(each, Proposed)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{each.code} {each.name}: {each.says} (for {shown})"


def _left(repaired: Repaired, args: argparse.Namespace, display: Callable[[str], str]) -> list[str]:
    """What was not repaired: all that is near its goal, the others only counted unless asked for."""
    from hybridize.report.style import one_line
    from hybridize.report.words import counted

    near = [item for item in repaired.left if item[0].complete or item[0].hybrid or args.verbose]
    far = len(repaired.left) - len(near)
    lines = ["not repaired:"] if near else []
    for bundle, reason in near:
        place = f"{one_line(display(bundle.path))}:{bundle.line}"
        lines.append(f"{'':6}  {bundle.qualname} ({place}): {one_line(reason)}")
    if far:
        functions = counted(far, "function")
        lines.append(f"{functions} could be repaired only in part (-v says what stays in the way)")
    return lines


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


def _json(report: Report, files: Sequence[FileChanges], repaired: Repaired, diff: bool) -> str:
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
                        "line": change.line,
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
        "repairs": [
            {
                "code": each.code,
                "name": each.name,
                "path": relative_to_root(each.path, root),
                "line": each.line,
                "message": each.says,
                "safe": each.safe,
                "doubt": each.doubt,
                "functions": list(names),
            }
            for each, names in repaired.done
        ],
        "not_repaired": [_left_entry(bundle, reason) for bundle, reason in repaired.left],
        "errors": to_dict(report)["errors"],
    }
    return json.dumps(data, indent=1) + "\n"


def _left_entry(bundle: Bundle, reason: str) -> dict[str, object]:
    codes = [each.code for each in bundle.repairs]
    return {"function": bundle.function, "line": bundle.line, "repairs": codes, "reason": reason}
