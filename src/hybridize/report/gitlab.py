"""GitLab's Code Quality report: what a merge request shows beside the lines that it changes."""

from __future__ import annotations

import json
from collections.abc import Callable

from hybridize.decide.model import Report, Severity
from hybridize.report.identity import fingerprints
from hybridize.report.items import items
from hybridize.report.style import one_line

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def gitlab(report: Report, display: Callable[[str], str]) -> str:
    """A JSON array, an entry per place and line of the text; ASCII. `display` as for the other formats.

    GitLab takes entries with the fingerprint of one in the target branch for old ones: it does not follow line numbers.
    """
    entries = [
        {
            "description": one_line(f"{item.code} {item.name}: {item.message}"),
            "check_name": item.code,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[item.severity],
            "location": {
                "path": display(item.path),
                "lines": {"begin": item.line, "end": max(item.end_line, item.line)},
            },
        }
        for item, fingerprint, _ in fingerprints(report, items(report, display=display))
    ]
    return "[" + ",".join(f"\n {json.dumps(entry)}" for entry in entries) + ("\n]\n" if entries else "]\n")
