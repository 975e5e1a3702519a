"""Workflow commands of GitHub Actions: annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.decide.model import Report, Severity
from hybridize.report.items import items
from hybridize.report.positions import Display, Positions
from hybridize.report.style import one_line

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def github(report: Report, display: Display) -> str:
    """A command per place; changes to make are notices. `display` gives a path relative to the working folder."""
    return "".join(f"{line}\n" for line in _commands(report, display))


def _commands(report: Report, display: Display) -> Iterator[str]:
    places = Positions(report, display)
    for item in items(report, display=display):
        path, (line, column) = places(item.path), places.start(item)
        properties = {
            "file": path,
            "line": str(line),
            "endLine": str(places.end(item)[0]),
            "col": str(column),
            "title": f"hybridize ({item.code} {item.name})",
        }
        shown = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
        # Without the place in the text nobody finds it in the log.
        message = one_line(f"{path}:{line}:{column}: {item.code} {item.message}")
        yield f"::{_LEVELS[item.severity]} {shown}::{_escape(message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
