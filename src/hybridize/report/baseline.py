"""`--baseline`: what was there when an old project started to use the tool is not reported again.

The file lists what each entry is (`identity`): path, code, function and text of the line, an entry per line of JSON.
It survives lines that are added or removed elsewhere. Paths count from the file's own folder, wherever it is used from.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from hybridize.decide.model import Report
from hybridize.guard import write_whole
from hybridize.records import dataclass, replace
from hybridize.report.identity import Identity, Lines, identity_of
from hybridize.report.items import Item, Kind, items, only_items
from hybridize.report.paths import all_errors

_VERSION: Final = 2

#: How often each thing is known; paths as in the file.
Known: TypeAlias = "Counter[Identity]"


class BaselineError(Exception):
    """A baseline file that cannot be used; its text is one line that names the file."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """A baseline without what no longer occurs: what stays, and how many entries are gone."""

    kept: Known
    gone: int


def write_baseline(known: Known, file: Path) -> None:
    """Replaces the file as a whole; raises `BaselineError`."""
    entries = [
        {"path": each.path, "code": each.code, "function": each.function, "text": each.text, "count": number}
        for each, number in sorted(known.items())
    ]
    body = ",".join("\n  " + json.dumps(_short(entry)) for entry in entries)
    text = f'{{"version": {_VERSION},\n "entries": [{body}\n ]}}\n'
    try:
        write_whole(file, text.encode())
    except OSError as error:
        raise BaselineError(f"{file}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _short(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry without what goes without saying."""
    return {key: value for key, value in entry.items() if value not in ("", 1)}


def read_baseline(file: Path) -> Known:
    """The entries of a baseline; raises `BaselineError`."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["version"] != _VERSION:
            raise BaselineError(f"{file}: written by another version of hybridize; write it anew")
        known: Known = Counter()
        for entry in data["entries"]:
            said = (entry["path"], entry["code"], entry.get("function", ""), entry.get("text", ""))
            if not all(isinstance(each, str) for each in said):
                raise TypeError("an entry is made of texts")
            identity = Identity(*said)
            known[identity] += int(entry.get("count", 1))
        return known
    except OSError as error:
        raise BaselineError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BaselineError(f"{file}: is no baseline") from None


def entries_of(report: Report, file: Path) -> Known:
    """All that a report has to say but errors, as entries of a baseline in this file."""
    identify = _identifier(report, file)
    return Counter(identify(item) for item in items(report) if item.kind is not Kind.ERROR)


def without_baseline(report: Report, known: Known, file: Path, contents: Mapping[str, bytes] | None = None) -> Report:
    """The report without what the baseline knows: as many of each as it counts, the first first.

    `contents` are bytes by path from the project's root that stand for those on disk.
    """
    left, identify = Counter(known), _identifier(report, file, contents)

    def is_new(item: Item) -> bool:
        identity = identify(item)
        left[identity] -= 1
        return left[identity] < 0

    return only_items(report, is_new)


def prune(known: Known, report: Report, file: Path, paths: Collection[str], said: Callable[[str], bool]) -> Pruned:
    """The baseline without what no longer occurs.

    What the report cannot tell of stays: files outside the `paths` that were analyzed (unless they are gone), files
    that cannot be read, and codes that are not `said`.
    """
    found = entries_of(report, file)
    folder = Path(os.path.realpath(file.parent))
    asked = [os.path.realpath(path) for path in paths]
    unread = {os.path.realpath(os.path.join(report.project.root, error.path)) for error in all_errors(report)}

    def is_told(entry: Identity) -> bool:
        place = os.path.realpath(folder / entry.path)
        if not os.path.exists(place):
            return True
        inside = any(place == each or place.startswith(each.rstrip(os.sep) + os.sep) for each in asked)
        return inside and place not in unread and said(entry.code)

    kept: Known = Counter()
    for entry, number in known.items():
        kept[entry] = min(number, found[entry]) if is_told(entry) else number
    kept = +kept
    return Pruned(kept, known.total() - kept.total())


def _identifier(report: Report, file: Path, contents: Mapping[str, bytes] | None = None) -> Callable[[Item], Identity]:
    """What an item is, with its path from the folder of the baseline."""
    root = report.project.root
    lines = Lines(root, contents)
    folder = os.path.realpath(file.parent)
    # Most often the same folder, and then nothing is to be done for any item.
    prefix = os.path.relpath(os.path.realpath(root), folder)

    def identify(item: Item) -> Identity:
        identity = identity_of(item, lines, root)
        if prefix == os.curdir:
            return identity
        path = os.path.normpath(os.path.join(prefix, identity.path))
        return replace(identity, path=path.replace(os.sep, "/"))

    return identify
