"""A first corpus file: of folders, or of lists of repositories."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hybridize.evaluate.corpus import CorpusError
from hybridize.evaluate.project_sources import SourcesError, run_git
from hybridize.source.project import MARKS

_PUBLIC: Final = re.compile(r"(?:https://|git@|ssh://git@)github\.com[/:](?P<name>[\w.-]+/[\w.-]+?)(?:\.git)?/?")
#: A line of a list: a repository, its commit, and maybe the folder in it.
_LISTED: Final = re.compile(r"(?P<repository>\S+)\s+(?P<commit>[0-9a-f]{7,40})(?:\s+(?P<folder>\S+))?")


def corpus_text(given: Sequence[Path], file: Path) -> tuple[str, int]:
    """The text of a corpus file, and how many projects it has.

    Args:
        given: folders with projects, a folder of such (which has neither sources nor a repository of its own), or
            text files whose lines are `REPOSITORY COMMIT [FOLDER]`.
        file: where the corpus will be: paths are written from there.

    Raises:
        CorpusError: a path is not there, or a line of a list is none.
    """
    entries = [entry for place in given for entry in _entries(place, file)]
    if not entries:
        raise CorpusError("init needs a FOLDER with projects, or a file that lists repositories")
    names: dict[str, int] = {}
    blocks = [f"name = {json.dumps(file.stem)}\n"]
    for name, keys in entries:
        names[name] = names.get(name, 0) + 1
        unique = name if names[name] == 1 else f"{name}-{names[name]}"
        rows = {"name": unique, **keys}
        blocks.append("[[project]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rows.items()))
    return "\n".join(blocks), len(entries)


def _entries(place: Path, file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    if place.is_file():
        yield from _listed(place)
    elif not place.is_dir():
        raise CorpusError(f"{place}: not there")
    elif any((place / name).exists() for name in MARKS) or any(place.glob("*.py")):
        yield place.resolve().name, _project(place, file)
    else:
        for inner in sorted(place.iterdir()):
            if inner.is_dir() and not inner.name.startswith(".") and next(inner.rglob("*.py"), None):
                yield inner.name, _project(inner, file)


def _listed(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = _LISTED.fullmatch(text)
        if match is None:
            raise CorpusError(f"{file}:{number}: must be REPOSITORY COMMIT [FOLDER]")
        name = match["repository"].removesuffix(".git").rstrip("/").rpartition("/")[2]
        yield name, {key: value for key, value in match.groupdict().items() if value}


def _project(folder: Path, file: Path) -> dict[str, str]:
    """By commit, where the folder is a clean work tree of a public repository; else by path."""
    address = _PUBLIC.fullmatch(_git(folder, "remote", "get-url", "origin"))
    commit = _git(folder, "rev-parse", "HEAD")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if address and commit and not _git(folder, "status", "--porcelain"):
        below = os.path.relpath(folder.resolve(), Path(top).resolve())
        return {"repository": address["name"], "commit": commit, **({} if below == "." else {"folder": below})}
    return {"path": os.path.relpath(folder.resolve(), file.resolve().parent)}


def _git(folder: Path, *arguments: str) -> str:
    """What git prints; nothing where it fails."""
    try:
        return run_git(folder, *arguments).decode("utf-8", "replace").strip()
    except SourcesError:
        return ""
