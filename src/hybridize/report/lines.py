"""Line-oriented formats: `concise` for people and editors, `github` for annotations on a pull request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from hybridize.decide.model import Action, Report, Severity
from hybridize.report.items import items
from hybridize.report.paths import Places, place
from hybridize.report.style import PLAIN, Style
from hybridize.report.summary import summarize
from hybridize.report.words import counted

_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def concise(report: Report, display: Callable[[str], str], *, style: Style = PLAIN, quiet: bool = False) -> str:
    """`path:line:column: CODE message`, a line each, and a line of counts; `quiet`: only what sets exit code 1."""
    lines = []
    for item in items(report, every=not quiet):
        shown = style.paint(f"{place(display, item.path, item.line, item.column)}:", "bold")
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
    if report.findings:
        others.append(counted(len(report.findings), "finding"))
    if summary.errors:
        others.append(counted(summary.errors, "error"))
    return "; ".join(part for part in (", ".join(actions), ", ".join(others)) if part) or "nothing to report"


def github(report: Report, places: Places | None = None) -> str:
    """Workflow commands of GitHub Actions, one per place, as `places` shows them (None: from the project's root).

    Changes to make are notices.
    """
    return "".join(f"{line}\n" for line in _github_lines(report, places or Places.of(report, report.project.root)))


def _github_lines(report: Report, places: Places) -> Iterator[str]:
    for item in items(report):
        line, column = places.position(item.path, item.line, item.column)
        end, _ = places.position(item.path, item.end_line, item.end_column)
        properties = {
            "file": places(item.path).replace(os.sep, "/"),
            "line": str(line),
            "col": str(column),
            "endLine": str(end),
            "title": f"hybridize ({item.code} {item.name})",
        }
        shown = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
        message = f"{places.at(item.path, item.line, item.column)}: {item.code} {item.message}"
        yield f"::{_GITHUB_LEVELS[item.severity]} {shown}::{_escape(message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
