"""What the files of a project say of the releases that it is installed with, most binding first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hybridize.records import replace
from hybridize.source.requirements import OLDEST, Release, Said, read

#: Where versions are looked for, most binding first.
FILES: Final = (
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "requirements*.txt",
    "requirements/*.txt",
    "requirements/*/*.txt",
    "constraints*.txt",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "environment*.y*ml",
    "conda*.y*ml",
    "Pipfile",
    "Dockerfile*",
    "*/requirements*.txt",
)
#: Folders of environments, one for each kind of machine or user: a project that has nothing else runs in any of them.
_ENVIRONMENTS: Final = (
    "*env*/*.y*ml",
    "*env*/*requirements*.txt",
    "*/*env*/*.y*ml",
    "*/*env*/*requirements*.txt",
    "*/environment*.y*ml",
    "conda*/*.y*ml",
)
#: Where the set-up script of a package stands that is built by something else: one alone speaks for the project.
_PACKAGED: Final = ("*/setup.py", "*/*/setup.py", "*/*/*/setup.py")
#: Folders whose requirements are those of something else: the documentation, the tests.
_BESIDE: Final = frozenset({"doc", "docs", "test", "tests"})


def declared(folder: Path, places: list[Path]) -> Iterator[Said]:
    """What the files say that declare it, most binding first."""
    for place in places:
        # Beside the project's folder there are other projects: of a parent only its own files count.
        for pattern in FILES if place == folder else FILES[:-1]:
            for file in matching(place, pattern):
                said = None if file.parent.name in _BESIDE and file.parent != folder else read(file)
                if said is not None:
                    yield replace(said, origin=origin_of(folder, file))
    every = {file: None for pattern in _ENVIRONMENTS for file in matching(folder, pattern)}
    files = [file for file in every if not file.relative_to(folder).parts[0].startswith(".")]
    found = [
        replace(said, origin=origin_of(folder, file)) for file in files for said in (read(file),) if said is not None
    ]
    if found:
        oldest = None if any(said.oldest is None for said in found) else min(said.oldest or OLDEST for said in found)
        yield replace(max(found, key=lambda said: said.newest), oldest=oldest)
    scripts = [
        file for p in _PACKAGED for file in matching(folder, p) if not _BESIDE & set(file.relative_to(folder).parts)
    ]
    said = read(scripts[0]) if len(scripts) == 1 else None
    if said is not None and said.newest >= OLDEST:
        yield replace(said, origin=origin_of(folder, scripts[0]))


def oldest_beside(folder: Path, places: list[Path], first: Said) -> Release | None:
    """The oldest release that the files of a folder ask for: each of them installs the project on another machine."""
    if first.oldest is None or "/" in first.origin:
        return first.oldest
    beside = [said.oldest or said.newest for said in declared(folder, places[:1]) if "/" not in said.origin]
    return min([first.oldest, *(release for release in beside if release >= OLDEST)])


def origin_of(folder: Path, file: Path) -> str:
    """How a file is told: its path from the project's folder."""
    return os.path.relpath(file, folder).replace(os.sep, "/")


def up_to_repository(folder: Path) -> list[Path]:
    """A folder and those above it up to the root of its repository; the folder alone where it is in none."""
    places = [folder, *folder.parents]
    for i, place in enumerate(places):
        if (place / ".git").exists():
            return places[: i + 1]
    return [folder]


def matching(place: Path, pattern: str) -> list[Path]:
    """The files of a folder that match; none where it cannot be listed (folders beside it may come and go)."""
    try:
        return sorted(place.glob(pattern))
    except OSError:
        return []
