"""The library interface: from paths to a report.

from pathlib import Path
from hybridize.api import analyze
from hybridize.config import Config

report = analyze([Path("my_project")], Config())
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybridize.config import Config
from hybridize.decide.model import (
    Assumption,
    FileError,
    ProjectInfo,
    Report,
)
from hybridize.source import (
    ImportTable,
    SourceText,
    Versions,
    discover,
    find_src_roots,
    package_name,
    project_versions,
    read_source,
)

if TYPE_CHECKING:
    from hybridize.deciding import Deciding, Progress
    from hybridize.program.build import Program


def analyze(
    paths: Sequence[Path],
    config: Config,
    *,
    progress: Progress | None = None,
    contents: Mapping[str, bytes] | None = None,
    repairs: bool = True,
) -> Report:
    """Decides about every function below some paths; never imports or runs what it reads.

    Args:
        paths: files and folders; names that are not Python files or notebooks are taken as given.
        config: the options in force.
        progress: told about phases, for a progress line.
        contents: the bytes of files, by their path from the root, that are not to be read from disk.
        repairs: whether to look for `Report.repairs`; a twentieth of the time, for those who do not show them.

    Returns:
        Facts, decisions and statuses by function; what could not be read is in `errors`, paths that do not exist in
        `missing`.
    """
    started = time.perf_counter()
    program, missing, errors, root = _load(paths, config, progress, contents)
    versions = project_versions(root, config.tensorflow_version, program.texts.values())
    enabled = gc.isenabled()
    gc.disable()  # the heap of an analysis lives until its end: collections would only walk it
    try:
        deciding = _decided(program, config, root, versions, progress, repairs=repairs) if program.modules else None
    finally:
        if enabled:
            gc.enable()
    info = ProjectInfo(str(root), program.files, program.lines, time.perf_counter() - started, versions)
    if deciding is None:
        return Report(info, (), (), (), tuple(errors), missing)
    functions = tuple(deciding.functions)
    assumptions = tuple(
        Assumption(f.facts.id, said.message, said.path, said.line) for f in functions for said in f.facts.assumptions
    )
    errors += deciding.mistakes.errors
    return Report(
        info, functions, tuple(deciding.findings), assumptions, tuple(errors), missing, tuple(deciding.bundles)
    )


def _decided(
    program: Program, config: Config, root: Path, versions: Versions, progress: Progress | None, *, repairs: bool
) -> Deciding:
    from hybridize.deciding import Deciding

    deciding = Deciding(program, config, root, versions)
    deciding.run(progress, repairs=repairs)
    return deciding


def versions_of(paths: Sequence[Path], config: Config) -> Versions:
    """What the project of some paths may run on, and who says so."""
    found = discover(paths, exclude=config.exclude, exclude_base=config.directory)
    read = [read_source(file) for file in found.files]
    texts = [each.text for each in read if isinstance(each, SourceText)]
    return project_versions(found.root, config.tensorflow_version, texts)


def debug(paths: Sequence[Path], config: Config, what: str) -> str:
    """A listing for people who work on hybridize: `ir`, `flow` or `facts`."""
    from hybridize.debugging import listing

    program, _, _, _ = _load(paths, config, None)
    return listing(program, config, what)


def _load(
    paths: Sequence[Path],
    config: Config,
    progress: Progress | None,
    contents: Mapping[str, bytes] | None = None,
) -> tuple[Program, tuple[str, ...], list[FileError], Path]:
    from hybridize.program.build import build_program

    found = discover(paths, exclude=config.exclude, exclude_base=config.directory)
    sources = find_src_roots(found.root, config.src)
    table = ImportTable(found.files, sources, root_name=package_name(found.root), external=_external())
    total = len(found.files)
    program = build_program(
        found.files, table, None if progress is None else lambda done: progress("reading", done, total), contents
    )
    errors = [FileError(e.path, e.line, e.message) for e in (*found.errors, *program.errors)]
    errors.sort(key=lambda e: (e.path, e.line))
    return program, tuple(str(p) for p in found.missing), errors, found.root


def _external() -> frozenset[str]:
    """Top-level names that are libraries even where a folder of the project is called the same."""
    import sys

    return frozenset(sys.stdlib_module_names) | {"tensorflow", "keras", "tf_keras", "numpy"}
