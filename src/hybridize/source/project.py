"""Which project a path belongs to: what is asked of a file or a folder is answered from all of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Final

from hybridize.source.discovery import DEFAULT_EXCLUDES, is_environment

#: What marks the top of a project, and what does where nothing of the first is anywhere above.
MARKS: Final = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_HINTS: Final = ("requirements.txt", "environment.yml", "environment.yaml", "Pipfile", "tox.ini", ".hg")


def project_folders(paths: Sequence[str | PathLike[str]]) -> list[str]:
    """The top folders of the projects that some paths belong to, absolute, each once; paths need not exist."""
    return list(dict.fromkeys(project_folder(path) for path in paths))


def project_folder(path: str | PathLike[str]) -> str:
    """The nearest folder at or above a path that has a `pyproject.toml`, `setup.py`, `setup.cfg` or `.git`.

    Where there is none: the working folder, for a file in it; else the nearest with a file that asks for packages;
    else a folder itself, and for a file its own. A folder that tools fill (`site-packages`, `build`) is not part of the
    project around it, and the home folder and that of temporary files are nobody's project.
    """
    given = os.path.abspath(os.fspath(path))
    start = given if os.path.isdir(given) else os.path.dirname(given)
    above = list(_above(start))
    here = os.getcwd()
    marked = marked_folder(given)
    if marked is None and start != given and here in above:
        return here
    return marked or _nearest(above, _HINTS) or start


def marked_folder(path: str | PathLike[str]) -> str | None:
    """The nearest folder at or above a path that says that it is a project's; None where there is none."""
    given = os.path.abspath(os.fspath(path))
    return _nearest(list(_above(given if os.path.isdir(given) else os.path.dirname(given))), MARKS)


def _nearest(folders: Sequence[str], marks: Sequence[str]) -> str | None:
    return next((each for each in folders if any(os.path.exists(os.path.join(each, mark)) for mark in marks)), None)


def _names(folder: str) -> list[str]:
    """What a folder holds; nothing where that cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _above(start: str) -> Iterator[str]:
    """A folder and those above it that may be the top of its project."""
    nobodys = {os.path.realpath(folder) for folder in (os.path.expanduser("~"), tempfile.gettempdir(), os.sep)}
    folder = start
    while folder == start or os.path.realpath(folder) not in nobodys:
        yield folder
        if os.path.basename(folder) in DEFAULT_EXCLUDES or is_environment(_names(folder)):
            return
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
