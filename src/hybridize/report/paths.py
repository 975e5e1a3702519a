"""Places as reports show them: relative to the project's root in data, to the working folder for people and tools.

What is shown is what `patch`, editors and annotations find from the working folder: relative to it, absolute outside of
it. A place in a notebook is one of a cell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from hybridize.decide.model import FileError, Report
from hybridize.source.model import CellMap


@lru_cache(maxsize=4096)
def relative_to_root(path: str, root: str) -> str:
    """`path` relative to `root` with forward slashes; unchanged where it is on another drive."""
    if os.path.isabs(path):
        try:
            path = os.path.relpath(path, root)
        except ValueError:
            return path.replace(os.sep, "/")
    return path if os.sep == "/" else path.replace(os.sep, "/")


class Places:
    """Says of a report's paths and lines how they are shown; called with a path, how that is.

    Args:
        root: the project's folder.
        notebooks: the cells of its notebooks, by path from there.
        here: the folder that paths are shown from; None: the working folder.
        contents: bytes by path from the root that stand for those on disk.
    """

    def __init__(
        self,
        root: str,
        notebooks: Mapping[str, CellMap] = MappingProxyType({}),
        here: str | None = None,
        contents: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        self.contents = contents
        self._root = root
        self._notebooks = notebooks
        self._here = here if here is not None else os.getcwd()
        self._shown: dict[str, str] = {}
        self._sources: dict[str, bytes | None] = {}

    @classmethod
    def of(cls, report: Report, here: str | None = None, given: Mapping[str, bytes] = MappingProxyType({})) -> Places:
        """Those of a report; `given` are bytes by absolute path that stand for those on disk."""
        root = report.project.root
        contents = {relative_to_root(path, root): data for path, data in given.items()}
        return cls(root, dict(report.notebooks), here, contents)

    def __call__(self, path: str) -> str:
        """A path as it is shown."""
        found = self._shown.get(path)
        if found is None:
            found = self._shown[path] = shown_from(self._here, os.path.join(self._root, path))
        return found

    def line(self, path: str, line: int) -> str:
        """A line as it is shown: `12`, or `cell 3:12` for one of the third cell of a notebook (all cells count)."""
        cells = self._notebooks.get(path)
        if cells is None:
            return str(line)
        try:
            cell, within = cells.locate(line)
        except LookupError:
            return str(line)
        return f"cell {cell.index + 1}:{within}"

    def at(self, path: str, line: int, column: int | None = None) -> str:
        """A place as it is shown: `a.py:12`, `a.py:12:5`, `a.ipynb:cell 3:12:5`."""
        end = "" if column is None else f":{column}"
        return f"{self(path)}:{self.line(path, line)}{end}"

    def position(self, path: str, line: int, column: int) -> tuple[int, int]:
        """Line and column (from 1) in the file itself, which for a notebook is JSON."""
        cells = self._notebooks.get(path)
        if cells is None:
            return line, column
        from hybridize.rewrite.cell_lines import json_position

        if path not in self._sources:
            try:
                given = self.contents.get(path)
                self._sources[path] = Path(self._root, path).read_bytes() if given is None else given
            except OSError:
                self._sources[path] = None
        data = self._sources[path]
        try:
            cell, within = cells.locate(line)
            found = json_position(data, cell.index, within, column) if data is not None else None
        except LookupError:
            return line, column
        return found or (line, column)


def displayer(root: str, here: str | None = None) -> Places:
    """From a report's path to the one that is shown from `here` (the working folder)."""
    return Places(root, here=here)


def shown_from(here: str, path: str) -> str:
    """An absolute path as it is shown from a folder: relative to it, with links followed if need be; else absolute."""
    full = os.path.normpath(path)
    for start, name in ((here, full), (os.path.realpath(here), os.path.realpath(full))):
        try:
            relative = os.path.relpath(name, start)
        except ValueError:  # another drive
            continue
        if relative != os.pardir and not relative.startswith(os.pardir + os.sep):
            return relative
    return full


def place(display: Callable[[str], str], path: str, line: int, column: int | None = None) -> str:
    """A place by what shows paths: the cell of a notebook too, where `display` knows cells."""
    if isinstance(display, Places):
        return display.at(path, line, column)
    return f"{display(path)}:{line}" + ("" if column is None else f":{column}")


def line_of(display: Callable[[str], str], path: str, line: int) -> str:
    """A line by what shows paths."""
    return display.line(path, line) if isinstance(display, Places) else str(line)


def prefix_of(report: Report) -> str:
    """What stands in front of a report's paths where they are seen from the working folder: `` or `sub/`, say."""
    shown = shown_from(os.getcwd(), report.project.root).replace(os.sep, "/")
    return "" if shown == "." else shown.rstrip("/") + "/"


def read_errors(report: Report) -> tuple[FileError, ...]:
    """What could not be read or parsed, without the paths that do not exist at all."""
    root = report.project.root
    missing = {relative_to_root(os.path.abspath(path), root) for path in report.missing}.union(report.missing)
    return tuple(error for error in report.errors if relative_to_root(error.path, root) not in missing)


def all_errors(report: Report) -> tuple[FileError, ...]:
    """The errors, with one entry for every missing path."""
    # A missing path is as the user wrote it, so it counts from the working folder.
    missing = (relative_to_root(os.path.abspath(path), report.project.root) for path in report.missing)
    return read_errors(report) + tuple(FileError(path, 0, "no such file or directory") for path in missing)
