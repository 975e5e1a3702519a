"""All that an analysis reads of a project, read once: whoever has the same inputs gets the same answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from hybridize.records import dataclass
from hybridize.source.discovery import discover
from hybridize.source.layout import find_src_roots, package_name
from hybridize.source.model import Discovery, FileRef, SourceError, SourceText
from hybridize.source.names import ImportTable
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
    """Reads what there is below some paths.

    Args:
        paths: files and folders.
        asked: the user's options.
        external: top-level names that are libraries even where a folder of the project is called the same.
        contents: the bytes of files, by their path from the root, in place of those on disk; a file that is not on
            disk is one of the project.
    """
    found = discover(paths, exclude=asked.exclude, exclude_base=asked.exclude_base)
    root, contents = found.root, contents or {}
    files = _with_unsaved(found, contents)
    read = {
        ref.relative: decode_source(ref, contents[ref.relative]) if ref.relative in contents else read_source(ref)
        for ref in files
    }
    texts = {path: text.text for path, text in read.items() if isinstance(text, SourceText)}
    table = ImportTable(files, find_src_roots(root, asked.src), root_name=package_name(root), external=external)
    return Inputs(
        root,
        files,
        read,
        table,
        project_versions(root, asked.tensorflow_version, texts.values()),
        old_folders(root, texts),
        find_roles(root, texts, asked.world),
        found.errors,
        found.missing,
    )


def _with_unsaved(found: Discovery, contents: Mapping[str, bytes]) -> tuple[FileRef, ...]:
    """The files of a project with those that are only in an editor yet."""
    known = {ref.relative for ref in found.files}
    new = [
        FileRef(str(found.root / path), path)
        for path in contents
        if path not in known and path.endswith((".py", ".ipynb")) and not (found.root / path).exists()
    ]
    return tuple(sorted((*found.files, *new), key=lambda ref: ref.relative)) if new else found.files
