"""`fix -i`: one change at a time, with its diff and its reason, and a question."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hybridize.cli.output import write
from hybridize.config import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.decide.model import FunctionReport, Report
    from hybridize.repairs.model import Bundle

_HELP = "y: make it, n: leave it, a: make it and all that follow, q: leave it and all that follow\n"


def choose(
    args: argparse.Namespace, paths: Sequence[str], config: Config, report: Report, chosen: frozenset[str] | None
) -> set[str] | None:
    """The ids of the functions whose changes were accepted; None where all that there are were."""
    from hybridize.cli.fix import planned
    from hybridize.cli.session import selected

    accepted: set[str] = set()
    everything = False
    plain = planned(selected(report, config), chosen)
    asked = {function.facts.id for function in plain}
    items: list[FunctionReport | Bundle] = [*plain]
    items += [b for b in report.repairs if b.function not in asked and (chosen is None or b.function in chosen)]
    for item in items:
        name, text = _shown(args, paths, config, report, item)
        if not text:
            continue
        if not everything:
            write(text)
            answer = _ask()
            if answer == "q":
                break
            everything = answer == "a"
            if answer == "n":
                continue
        accepted.add(name)
    return accepted


def _shown(
    args: argparse.Namespace, paths: Sequence[str], config: Config, report: Report, item: FunctionReport | Bundle
) -> tuple[str, str]:
    """The id of an item's function, and its diff with the reason; an empty text where there is nothing to do."""
    from hybridize.cli.changes import plan_fixes
    from hybridize.cli.fix_report import diff
    from hybridize.cli.mending import mend
    from hybridize.cli.output import style_for
    from hybridize.cli.session import selected
    from hybridize.repairs.model import Bundle
    from hybridize.report.words import rests_on, verdict

    style = style_for()
    if not isinstance(item, Bundle):
        name = item.facts.id
        head = f"{item.facts.path}:{item.facts.line} {verdict(item)} {item.facts.qualname}: {rests_on(item)}"
        files = plan_fixes(selected(report, config), [item])
        text = diff(files, style)
        return name, f"\n{style.paint(head, 'bold')}\n{text}" if text else ""
    name = item.function
    repaired = mend(args, paths, config, report, frozenset((name,)))
    if not repaired.done:
        return name, ""
    final = selected(repaired.report, config)
    parts = {part for part, whole in repaired.made.items() if whole == name}
    files = plan_fixes(final, [f for f in final.functions if f.facts.id in {name, *parts}], repaired.contents)
    lines = [style.paint(f"{item.path}:{item.line} repair {item.qualname}", "bold")]
    for each, _ in repaired.done:
        doubt = f" [unsafe: {each.doubt}]" if each.doubt else ""
        lines.append(f"  line {each.line}: {each.code} {each.name}: {each.says}{doubt}")
    return name, "\n" + "\n".join(lines) + "\n" + diff(files, style)


def _ask() -> str:
    """The answer to a question; the end of the input means to stop."""
    while True:
        write("make this change? [y/n/a/q] ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            write("\n")
            return "q"
        answer = line.strip().lower()[:1]
        if answer in ("y", "n", "a", "q"):
            return answer
        write(_HELP)
