"""GitLab's Code Quality report: what a merge request shows beside the lines that it changes."""

from __future__ import annotations

import json

from hybridize.decide.model import Report, Severity
from hybridize.report.identity import fingerprints
from hybridize.report.items import items
from hybridize.report.positions import Display, Positions
from hybridize.report.style import one_line

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def gitlab(report: Report, display: Display) -> str:
    """A JSON array, an entry per place and line of the text; ASCII. `display` as for the other formats.

    GitLab takes entries with the fingerprint of one in the target branch for old ones: it does not follow line numbers.
    """
    places = Positions(report, display)
    entries = [
        {
            "description": one_line(f"{item.code} {item.name}: {item.message}"),
            "check_name": item.code,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[item.severity],
            "location": {
                "path": places(item.path),
                "lines": {"begin": places.start(item)[0], "end": places.end(item)[0]},
            },
        }
        for item, fingerprint, _ in fingerprints(report, items(report, display=display), places.contents)
    ]
    return "[" + ",".join(f"\n {json.dumps(entry)}" for entry in entries) + ("\n]\n" if entries else "]\n")
