"""What `fix` says: what was done, what was not and why, as text or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.cli.safeguard import Trial
    from hybridize.decide.model import FunctionReport, Status
    from hybridize.fixing.changes import Change
    from hybridize.fixing.fixes import Fixes
    from hybridize.repairing import Repaired
    from hybridize.repairs.model import Bundle
    from hybridize.report.style import Style
    from hybridize.rewrite.model import FileResult

#: So many kinds of reasons are counted by name.
_REASONS = 6
#: So many functions that could be repaired only in part are told with what stays in the way where nothing else is.
_FEW = 3


def render(
    fixes: Fixes, args: argparse.Namespace, chosen: frozenset[str] | None = None, trial: Trial | None = None
) -> tuple[str, str]:
    """The output, and what is said beside it: with --diff the diff alone is output, so that `| git apply` works.

    `chosen` are the ids of the functions that were asked for by name: each that stays as it is is told with its reason.
    `trial` is what the project's tests said of the changes.
    """
    from hybridize.cli.output import page_for
    from hybridize.report.paths import Places

    if args.output_format == "json":
        return _json(fixes, chosen, trial), ""
    page, display = page_for(args.output_file), Places.of(fixes.before)
    style = page.style
    text = _text(fixes, args, style, display, chosen)
    if trial is not None and not args.quiet:
        from hybridize.cli.safeguard import told

        text += "".join(f"{line}\n" for line in told(trial))
    if args.output_format == "full":
        text = page.fold(text)
    if not args.diff:
        return text, ""
    return diff_of([file.result for file in fixes.files if file.result], style, display), text


def diff_of(results: Sequence[FileResult], style: Style, display: Callable[[str], str]) -> str:
    """The unified diff of files by what becomes of them, under the names that are shown."""
    from hybridize.rewrite import unified_diff

    diffs = [unified_diff(result, display(result.path.as_posix())) for result in results]
    if not style.enabled:
        return "".join(diffs)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = [line for diff in diffs for line in diff.split("\n")[:-1]]
    return "".join((style.paint(line, colours[line[0]]) if line[:1] in colours else line) + "\n" for line in lines)


def _text(
    fixes: Fixes,
    args: argparse.Namespace,
    style: Style,
    display: Callable[[str], str],
    chosen: frozenset[str] | None,
) -> str:
    """What was done, what was not and why, then a line of counts."""
    from hybridize.fixing.changes import Outcome
    from hybridize.report.paths import line_of, read_errors
    from hybridize.report.paths import place as spelled
    from hybridize.report.style import one_line

    lines = []
    for file in fixes.files:
        place = one_line(display(file.path))
        if file.error:
            lines.append(f"{style.paint('error', 'red')}: {place}: {file.error}")
            continue
        shown = [change for change in file.changes if not args.quiet or change.outcome is Outcome.REFUSED]
        mended = [] if args.quiet else [item for item in fixes.repaired.done if item[0].path == file.path]
        entries = [
            (each.line, f"{style.paint('repair     ', 'magenta')}  {_repair(each, names)}") for each, names in mended
        ]
        entries += [(c.line, _sentence(c, args.diff, style)) for c in shown]
        entries.sort(key=lambda entry: entry[0])  # a repair stands before what it makes of the same line
        if args.output_format == "concise":
            lines += [f"{one_line(spelled(display, file.path, line))}: {said}" for line, said in entries]
        elif entries:
            lines.append(style.paint(place, "bold"))
            lines += [f"{line_of(display, file.path, line):>6}  {said}" for line, said in entries]
    for error in read_errors(fixes.report):
        where = spelled(display, error.path, error.line) if error.line else display(error.path)
        lines.append(f"{style.paint('error', 'red')}: {one_line(where)}: {one_line(error.message)}")
    if not args.quiet:
        lines += _left(fixes.repaired, args, display)
        kept = fixes.kept(chosen)
        lines += _kept_lines(kept, display) if chosen is not None else []
        lines.append(_counts(fixes, args.diff))
        lines += _kept_counts(kept) if chosen is None else []
    return "".join(f"{line}\n" for line in lines)


def _counts(fixes: Fixes, diff: bool) -> str:
    from hybridize.fixing.changes import Outcome
    from hybridize.report.paths import read_errors
    from hybridize.report.words import counted

    files, repairs, errors = fixes.files, fixes.repaired.done, read_errors(fixes.report)
    done = [change for change in fixes.changes if change.outcome is Outcome.DONE]
    refused = sum(change.outcome is Outcome.REFUSED for change in fixes.changes)
    written = len({file.path for file in files if file.result and file.result.changed and not file.error})
    verb = "would change" if diff else "changed"
    where = f" in {counted(written, 'file')}" if done or repairs else ""
    counts = [f"{counted(len(done), 'function')} {verb}"]
    counts += [counted(len(repairs), "repair")] if repairs else []
    counts[-1] += where
    counts += [f"{refused:,} not changed"] if refused else []
    counts += [counted(len(errors), "error")] if errors else []
    if not fixes.settled:
        counts.append("a second run may change more")
    return ", ".join(counts) if files or errors else "nothing to change"


def _repair(each: object, names: Sequence[str]) -> str:
    from hybridize.repairs.model import Proposed

    assert isinstance(each, Proposed)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{each.code} {each.name}: {each.says} (for {shown})"


def _left(repaired: Repaired, args: argparse.Namespace, display: Callable[[str], str]) -> list[str]:
    """What was not repaired, by reason: all that is near its goal, the others only counted unless they are few."""
    from hybridize.report.paths import place as spelled
    from hybridize.report.style import one_line
    from hybridize.report.words import counted

    near = [item for item in repaired.left if item[0].complete or item[0].hybrid or args.verbose]
    if not near and len(repaired.left) <= _FEW:
        near = list(repaired.left)
    far = len(repaired.left) - len(near)
    lines = ["not repaired:"] if near else []
    groups: dict[tuple[int, str], list[Bundle]] = {}
    for number, (bundle, reason) in enumerate(near):
        alone = args.verbose or args.output_format == "concise"
        groups.setdefault((number if alone else -1, reason), []).append(bundle)
    for (_, reason), bundles in groups.items():
        place = one_line(spelled(display, bundles[0].path, bundles[0].line))
        more = f" and {len(bundles) - 1:,} more (-v names them)" if len(bundles) > 1 else ""
        lines.append(f"{'':6}  {bundles[0].qualname} ({place}){more}: {one_line(reason)}")
    if far:
        functions = counted(far, "function")
        lines.append(f"{functions} could be repaired only in part (-v says what stays in the way)")
    return lines


def _kept_lines(kept: Sequence[tuple[FunctionReport, Status]], display: Callable[[str], str]) -> list[str]:
    from hybridize.report.paths import place as spelled
    from hybridize.report.style import one_line

    lines = ["left as they are:"] if kept else []
    for function, why in kept:
        place = one_line(spelled(display, function.facts.path, function.facts.line))
        lines.append(f"{'':6}  {function.facts.qualname} ({place}): {why.code} {why.name}: {one_line(why.message)}")
    return lines


def _kept_counts(kept: Sequence[tuple[FunctionReport, Status]]) -> list[str]:
    from collections import Counter

    from hybridize.report.words import counted

    if not kept:
        return []
    reasons = Counter(f"{why.code} {why.name}" for _, why in kept).most_common()
    shown = ", ".join(f"{count} {reason}" for reason, count in reasons[:_REASONS])
    more = sum(count for _, count in reasons[_REASONS:])
    rest = f", {more} for other reasons" if more else ""
    return [
        f"{counted(len(kept), 'candidate')} left as they are: {shown}{rest} (`hybridize check --all` says why of each)"
    ]


def _sentence(change: Change, diff: bool, style: Style) -> str:
    from hybridize.fixing.changes import Outcome
    from hybridize.report.style import one_line
    from hybridize.report.words import gain, verdict

    function = change.function
    if change.outcome is Outcome.DONE:
        verb, gained = style.action(function.decision.action, verdict(function).ljust(11)), gain(function)
        return f"{verb}  {one_line(function.facts.qualname)}{f': {gained}' if gained else ''}"
    what = "already so  " if change.outcome is Outcome.UNCHANGED else "not changed "
    reason = f": {one_line(change.reason)}" if change.reason else ""
    return f"{style.paint(what, 'yellow')} {one_line(function.facts.qualname)}{reason}"


def _json(fixes: Fixes, chosen: frozenset[str] | None, trial: Trial | None) -> str:
    from hybridize.fixing.plain_data import to_dict

    data = to_dict(fixes, chosen)
    if trial is not None:
        from hybridize.cli.safeguard import as_data

        data["tests"] = as_data(trial)
    return json.dumps(data, indent=1) + "\n"
