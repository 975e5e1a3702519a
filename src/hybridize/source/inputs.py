"""All that an analysis reads of a project, read once: whoever has the same inputs gets the same answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from hybridize.records import dataclass, replace
from hybridize.source.discovery import discover, relative_to
from hybridize.source.layout import find_src_roots, name_of_root, package_name
from hybridize.source.model import Discovery, FileRef, SourceError, SourceText
from hybridize.source.names import ImportTable
from hybridize.source.project import project_folders
from hybridize.source.reading import decode_source, read_source
from hybridize.source.roles import Roles, find_roles
from hybridize.source.versions import Versions, old_folders, project_versions


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user says about where and what a project is: the options of these names."""

    exclude: Sequence[str] = ()
    exclude_base: Path | None = None
    src: Sequence[str] = ()
    tensorflow_version: str | None = None
    world: str | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The sources of a project and what the files beside them say.

    Attributes:
        root: the project's folder.
        files: what there is to analyze.
        read: by path from the root, the text of a file, or why there is none.
        imports: what each import means.
        versions: what the project may run on; `old` what folders below it ask for, where that is TensorFlow 1.
        roles: what each file is there for.
        errors, missing: folders that could not be read, paths that do not exist.
        asked: the files that were asked for, by path from the root; None for all. The others are there because what is
            said of these rests on them.
    """

    root: Path
    files: tuple[FileRef, ...]
    read: Mapping[str, SourceText | SourceError]
    imports: ImportTable
    versions: Versions
    old: Mapping[str, Versions]
    roles: Roles
    errors: tuple[SourceError, ...] = ()
    missing: tuple[Path, ...] = ()
    asked: frozenset[str] | None = None

    @property
    def texts(self) -> dict[str, str]:
        """The sources that could be read, by path from the root."""
        return {path: found.text for path, found in self.read.items() if isinstance(found, SourceText)}


def read_inputs(
    paths: Sequence[str | PathLike[str]],
    asked: Asked,
    external: frozenset[str],
    contents: Mapping[str, bytes] | None = None,
) -> Inputs:
    """Reads the projects that some paths belong to.

    Args:
        paths: files and folders.
        asked: the user's options.
        external: top-level names that are libraries even where a folder of the project is called the same.
        contents: the bytes of files that are not to be read from disk, by their path, absolute or from the root; a
            file need not exist. Of several for one file the last counts.
    """
    given = [os.path.abspath(os.fspath(path)) for path in paths]
    there = [full for full in given if os.path.exists(full) or full in (contents or {})]
    tops = project_folders(there)
    # A file that is not there has no folder to be walked, but for its project's.
    places = [path for path, full in zip(paths, given, strict=True) if full not in (contents or {})]
    found = discover([*tops, *places], exclude=asked.exclude, exclude_base=asked.exclude_base)
    root = found.root
    contents = {relative_to(os.path.join(root, path), str(root)): data for path, data in (contents or {}).items()}
    found = _with_more(found, contents)
    read = {
        ref.relative: decode_source(ref, contents[ref.relative]) if ref.relative in contents else read_source(ref)
        for ref in found.files
    }
    texts = {path: text.text for path, text in read.items() if isinstance(text, SourceText)}
    starts = find_src_roots(root, asked.src)
    name = name_of_root(root, texts, external) or package_name(root)
    table = ImportTable(found.files, starts, root_name=name, external=external, texts=texts)
    return Inputs(
        root,
        found.files,
        read,
        table,
        project_versions(root, asked.tensorflow_version, texts.values()),
        old_folders(root, texts),
        find_roles(root, texts, asked.world),
        found.errors,
        found.missing,
        None if set(tops) <= set(given) else _asked_for(found.files, there),
    )


def _with_more(found: Discovery, contents: Mapping[str, bytes]) -> Discovery:
    """What was found, with the files that are given and not on disk, or left out there."""
    known = {ref.relative for ref in found.files}
    more = [FileRef(os.path.join(found.root, path), path, True) for path in contents if path not in known]
    return replace(found, files=tuple(sorted((*found.files, *more), key=lambda ref: ref.relative))) if more else found


def _asked_for(files: Sequence[FileRef], given: Sequence[str]) -> frozenset[str]:
    """The files that are among some paths (absolute), or below one, whatever links lead there."""
    found: set[str] = set()
    for path in given:
        below = os.path.join(path, "")
        mine = {ref.relative for ref in files if ref.path == path or ref.path.startswith(below)}
        if not mine:
            real = os.path.realpath(path)
            names = ((ref.relative, os.path.realpath(ref.path)) for ref in files)
            mine = {name for name, full in names if full == real or full.startswith(os.path.join(real, ""))}
        found |= mine
    return frozenset(found)
