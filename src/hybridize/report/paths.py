"""Paths as reports show them: relative to the project's root in data, clickable from here in text."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, lru_cache

from hybridize.decide.model import FileError, Report


@lru_cache(maxsize=4096)
def relative_to_root(path: str, root: str) -> str:
    """`path` relative to `root` with forward slashes; unchanged where it is on another drive."""
    if os.path.isabs(path):
        try:
            path = os.path.relpath(path, root)
        except ValueError:
            return path.replace(os.sep, "/")
    return path if os.sep == "/" else path.replace(os.sep, "/")


def displayer(root: str, here: str | None = None) -> Callable[[str], str]:
    """A function from a report's path to the shortest one that an editor finds from `here` (the working folder)."""
    start = here if here is not None else os.getcwd()

    @cache
    def display(path: str) -> str:
        full = os.path.normpath(os.path.join(root, path))
        try:
            relative = os.path.relpath(full, start)
        except ValueError:
            return full
        return full if relative.startswith("..") and len(full) <= len(relative) else relative

    return display


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
