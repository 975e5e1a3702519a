"""`--baseline`: what was there when an old project started to use the tool is not reported again.

An entry is a fingerprint of code, path, function and the text of the line, not of its number: it survives lines that
are added or removed elsewhere. The same text twice in a function makes two entries.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

from hybridize.decide.model import Action, Finding, FunctionReport, Report
from hybridize.facts.model import Mode
from hybridize.guard import write_whole
from hybridize.records import replace
from hybridize.report.summary import SERIOUS

_VERSION: Final = 1


class BaselineError(Exception):
    """A baseline file that cannot be used; its text is one line that names the file."""


def write_baseline(report: Report, file: Path) -> int:
    """Writes down everything that a report has to say; returns how many entries there are."""
    entries = sorted(_fingerprints(report).items())
    data = {"version": _VERSION, "entries": [{"fingerprint": key, "count": n} for key, n in entries]}
    try:
        write_whole(file, f"{json.dumps(data, indent=1)}\n".encode())
    except OSError as error:
        raise BaselineError(f"{file}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    return sum(n for _, n in entries)


def read_baseline(file: Path) -> Counter[str]:
    """The entries of a baseline; raises `BaselineError`."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["version"] != _VERSION:
            raise BaselineError(f"{file}: written by another version of hybridize; write it anew")
        return Counter({str(entry["fingerprint"]): int(entry["count"]) for entry in data["entries"]})
    except OSError as error:
        raise BaselineError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError):
        raise BaselineError(f"{file}: is no baseline") from None


def without_baseline(report: Report, known: Counter[str]) -> Report:
    """The report without what a baseline knows: as many of each fingerprint as it counts."""
    left = Counter(known)
    lines = _Lines(report)

    def is_new(fingerprint: str) -> bool:
        left[fingerprint] -= 1
        return left[fingerprint] < 0

    functions = []
    for function in report.functions:
        if _acts(function) and not is_new(_of_decision(function)):
            function = replace(function, decision=replace(function.decision, action=Action.KEEP))
        if function.facts.mode is Mode.HYBRID:
            kept = tuple(
                s
                for s in function.statuses
                if s.severity not in SERIOUS or is_new(lines.of(s.code, s.path, s.line, function.facts.id))
            )
            function = replace(function, statuses=kept)
        functions.append(function)
    findings = tuple(f for f in report.findings if is_new(_of_finding(f, lines)))
    return replace(report, functions=tuple(functions), findings=findings)


def _fingerprints(report: Report) -> Counter[str]:
    found: Counter[str] = Counter()
    lines = _Lines(report)
    for function in report.functions:
        if _acts(function):
            found[_of_decision(function)] += 1
        if function.facts.mode is Mode.HYBRID:
            for s in function.statuses:
                if s.severity in SERIOUS:
                    found[lines.of(s.code, s.path, s.line, function.facts.id)] += 1
    for finding in report.findings:
        found[_of_finding(finding, lines)] += 1
    return found


def _acts(function: FunctionReport) -> bool:
    return function.decision.action is not Action.KEEP


def _of_decision(function: FunctionReport) -> str:
    return _hash(function.decision.precondition or "", function.facts.path, function.facts.id, "")


def _of_finding(finding: Finding, lines: _Lines) -> str:
    return lines.of(finding.code, finding.path, finding.line, finding.function or "")


class _Lines:
    """The texts of lines, each file read once."""

    def __init__(self, report: Report) -> None:
        root = Path(report.project.root)

        @cache
        def lines_of(path: str) -> list[str]:
            try:
                return (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                return []

        self._lines_of = lines_of

    def of(self, code: str, path: str, line: int, function: str) -> str:
        """The fingerprint of something on a line."""
        lines = self._lines_of(path)
        text = " ".join(lines[line - 1].split()) if 0 < line <= len(lines) else ""
        return _hash(code, path, function, text)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
