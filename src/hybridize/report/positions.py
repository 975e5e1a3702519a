"""Where a report's places are for services: paths with `/`, lines and columns (in characters) of the file itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from hybridize.decide.model import Report
from hybridize.report.identity import Lines
from hybridize.report.items import Item

#: From a path in a report to the one that the working folder sees. It may also have `contents`, bytes by path that
#: stand for those on disk, and a method `position`, from a path, line and column to those in the file itself, which for
#: a notebook is JSON.
Display: TypeAlias = Callable[[str], str]


class Positions:
    """The places of one report; called with a path, how that is shown."""

    def __init__(self, report: Report, display: Display) -> None:
        self._display = display
        self.contents: Mapping[str, bytes] = getattr(display, "contents", {})
        self._lines = Lines(report.project.root, self.contents)
        self._in_file: Callable[[str, int, int], tuple[int, int]] | None = getattr(display, "position", None)

    def __call__(self, path: str) -> str:
        """A path as services resolve it."""
        shown = self._display(path)
        return shown if os.sep == "/" else shown.replace(os.sep, "/")

    def start(self, item: Item) -> tuple[int, int]:
        """Line and column where an item begins."""
        return self.at(item.path, item.line, item.column)

    def end(self, item: Item) -> tuple[int, int]:
        """Line and column behind an item; where it begins if nobody knows where it ends."""
        known = (item.end_line, item.end_column) > (item.line, item.column)
        return self.at(item.path, item.end_line, item.end_column) if known else self.start(item)

    def at(self, path: str, line: int, column: int = 1) -> tuple[int, int]:
        """Line and column (from 1, in characters) for those of a report, which counts columns in bytes of UTF-8."""
        column = self._lines.column(path, line, column)
        return (line, column) if self._in_file is None else self._in_file(path, line, column)
