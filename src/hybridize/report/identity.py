"""What a thing that is reported is, whatever line it stands on: what baselines list and services recognize it by.

That is its path, its code, the function around it and the text of its line. The same text twice in a function makes two
of the same identity, which are told apart by their order.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from hybridize.decide.model import Report
from hybridize.records import dataclass
from hybridize.report.items import Item, Kind
from hybridize.report.paths import relative_to_root
from hybridize.source.model import FileRef, SourceText
from hybridize.source.reading import decode_source, read_source, split_lines


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """`path` is relative to the project's root; `function` and `text` are empty where there is none.

    A decision is about a whole function, and has no text: it stays the same when the signature changes.
    """

    path: str
    code: str
    function: str
    text: str

    def fingerprint(self, occurrence: int = 1) -> str:
        """A short text that is different for each identity and each of its occurrences (counted from 1)."""
        parts = [self.code, self.path, self.function, self.text, *([str(occurrence)] if occurrence > 1 else [])]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Lines:
    """The lines of a project's files as the analysis counts them, each file read once."""

    def __init__(self, root: str, contents: Mapping[str, bytes] | None = None) -> None:
        """`contents` are bytes by path from the root that stand for those on disk."""
        self._root = root
        self._contents = contents or {}
        self._files: dict[str, list[str]] = {}

    def text(self, path: str, line: int) -> str:
        """A line (from 1) without its end; empty where there is none."""
        if path not in self._files:
            self._files[path] = self._read(path)
        lines = self._files[path]
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def column(self, path: str, line: int, column: int) -> int:
        """A column in characters (from 1) for one in bytes of UTF-8 (from 1), as syntax trees count."""
        text = self.text(path, line)
        if text.isascii():
            return column
        return len(text.encode("utf-8", "surrogatepass")[: column - 1].decode("utf-8", "replace")) + 1

    def _read(self, path: str) -> list[str]:
        ref = FileRef(os.path.join(self._root, path), path)
        try:
            found = decode_source(ref, self._contents[path]) if path in self._contents else read_source(ref)
        except ValueError:  # no file system has such a name
            return []
        return split_lines(found.text) if isinstance(found, SourceText) else []


def identity_of(item: Item, lines: Lines, root: str) -> Identity:
    """What an item is, in the project below `root`."""
    path = relative_to_root(item.path, root)
    text = "" if item.kind is Kind.DECISION else " ".join(lines.text(item.path, item.line).split())
    return Identity(path, item.code, (item.function or "").partition(":")[2], text)


def fingerprints(
    report: Report, found: Iterable[Item], contents: Mapping[str, bytes] | None = None
) -> Iterator[tuple[Item, str, int]]:
    """Each item with a fingerprint that no other has, and which occurrence of its identity (from 1) it is.

    `contents` are bytes by path from the root that stand for those on disk.
    """
    lines, seen = Lines(report.project.root, contents), Counter[Identity]()
    for item in found:
        identity = identity_of(item, lines, report.project.root)
        seen[identity] += 1
        yield item, identity.fingerprint(seen[identity]), seen[identity]
