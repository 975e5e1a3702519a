"""The line-oriented format for people and editors: `concise`."""

from __future__ import annotations

from collections.abc import Callable

from hybridize.decide.model import Action, Report
from hybridize.report.items import items
from hybridize.report.paths import place
from hybridize.report.problems import all_findings
from hybridize.report.style import PLAIN, Style, one_line
from hybridize.report.summary import summarize
from hybridize.report.words import counted


def concise(report: Report, display: Callable[[str], str], *, style: Style = PLAIN, quiet: bool = False) -> str:
    """`path:line:column: CODE message`, a line each, and a line of counts; `quiet`: only what sets exit code 1."""
    lines = []
    for item in items(report, every=not quiet):
        shown = style.paint(f"{one_line(place(display, item.path, item.line, item.column))}:", "bold")
        lines.append(f"{shown} {style.severity(item.severity, item.code)} {item.message}")
    if not quiet:
        lines.append(count_line(report))
    return "".join(f"{line}\n" for line in lines)


def count_line(report: Report) -> str:
    """The counts in one line: `2 to hybrid, 1 to eager, 8 kept; 3 findings, 1 error`."""
    summary = summarize(report)
    names = {
        Action.CONVERT_TO_HYBRID: "to hybrid",
        Action.CONVERT_TO_EAGER: "to eager",
        Action.RECONFIGURE: "to reconfigure",
        Action.KEEP: "kept",
    }
    actions = [f"{summary.actions[action]:,} {name}" for action, name in names.items() if summary.actions[action]]
    others = []
    if found := all_findings(report):
        others.append(counted(len(found), "finding"))
    if summary.errors:
        others.append(counted(summary.errors, "error"))
    return "; ".join(part for part in (", ".join(actions), ", ".join(others)) if part) or "nothing to report"
