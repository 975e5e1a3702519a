"""The library: from paths to what is decided about their functions, and to the changes that follow (docs/api.md).

import hybridize

report = hybridize.check("my_project")
fixes = hybridize.fix("my_project", write=False)
print(fixes.diff())
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hybridize.config import FROM_COMMAND_LINE, FROM_DEFAULT, Config, ConfigError, load_config
from hybridize.decide.model import FileError, ProjectInfo, Report, assumptions_of
from hybridize.records import replace
from hybridize.source import Asked, Inputs, SourceText, Versions, count_lines, read_inputs

if TYPE_CHECKING:
    from hybridize.caching.store import Store
    from hybridize.deciding import After, Progress
    from hybridize.fixing.fixes import Fixes
    from hybridize.report.codes import CodeDoc
    from hybridize.report.explain import Explanation

#: A file, a folder, or several.
Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


class FixError(Exception):
    """Nothing can be changed here now; the text says why."""


def check(
    paths: Paths = ".",
    config: Config | None = None,
    *,
    contents: Mapping[str, bytes] | None = None,
    repairs: bool = True,
    progress: Progress | None = None,
) -> Report:
    """What `hybridize check` finds: decisions, findings and what they rest on; nothing is written, imported or run.

    Args:
        paths: files and folders.
        config: the options in force; None: those of `[tool.hybridize]` in the project's `pyproject.toml`, if any.
        contents: bytes of files, by their path, absolute or from the project's root, in place of those on disk; a file
            need not exist there.
        repairs: whether to look for repairs, which takes a twentieth of the time.
        progress: called with a phase, how much of it is done, and how much there is (0: not known).

    Returns:
        The report, without what the configuration does not select. Files that cannot be read or parsed are in its
        `errors`, paths that do not exist in `missing`.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    from hybridize.caching.store import open_store
    from hybridize.report.select import selected

    places, config = _given(paths, config)
    store = open_store(config)
    report = analyze(places, config, progress=progress, contents=contents, repairs=repairs, store=store)
    return selected(report, config)


def fix(
    paths: Paths = ".",
    config: Config | None = None,
    *,
    only: Sequence[str] | None = None,
    unsafe: bool = False,
    write: bool = True,
    progress: Progress | None = None,
) -> Fixes:
    """Makes the changes that `check` proposes, with the repairs that unlock them, as `hybridize fix` does.

    Args:
        paths: files and folders.
        config: as for `check`.
        only: the functions to change, each by name, FILE or FILE:LINE; None for all.
        unsafe: also with repairs that are not provably the same.
        write: whether to write the files; `Fixes.write` can do it later.
        progress: as for `check`, told of the first analysis.

    Returns:
        What was done and what was not, each with the reason. A file that could not be written is as it was.

    Raises:
        ConfigError: the configuration cannot be used.
        TargetError: an entry of `only` means no function, or several.
        FixError: a run with `--verify-with` is at work here, or was cut off and has left files changed.
    """
    from hybridize.caching.store import open_store
    from hybridize.fixing.planner import Planner
    from hybridize.report.lookup import named
    from hybridize.report.select import selected

    places, config = _given(paths, config)
    _refuse_unfinished(places)
    store = open_store(config)
    report = analyze(places, config, progress=progress, store=store)
    chosen = named(selected(report, config), only)
    planner = Planner(report, config, lambda contents: analyze(places, config, contents=contents, store=store), unsafe)
    fixes = planner.plan(chosen)
    return fixes.write() if write else fixes


def explain(report: Report, target: str) -> tuple[Explanation, ...]:
    """Everything that a report knows of a function (by name or FILE:LINE), or of all functions of a FILE.

    Raises:
        TargetError: it means no function, or it is a name that means several.
    """
    from hybridize.report.explain import Explanation
    from hybridize.report.explain import explain as in_words
    from hybridize.report.lookup import functions_of, parse_target

    found = functions_of(report, parse_target(target))
    return tuple(Explanation(function, in_words(report, function, str)) for function in found)


def describe(code: str) -> CodeDoc:
    """What a precondition, status, rule or repair means, by its code or name.

    Raises:
        LookupError: there is none.
    """
    from hybridize.report.codes import find_code
    from hybridize.report.documentation import load_docs

    found = find_code(load_docs(), code)
    if found is None:
        raise LookupError(f"no code or name `{code}`")
    return found


def to_dict(result: Report | Fixes) -> dict[str, Any]:
    """A result as the data that `--output-format json` prints (docs/json.md); `schema` describes it."""
    if isinstance(result, Report):
        from hybridize.report.json_report import to_dict as of_report

        return of_report(result)
    from hybridize.fixing.plain_data import to_dict as of_fixes

    return of_fixes(result, result.functions)


def schema(command: Literal["check", "fix"] = "check") -> dict[str, Any]:
    """The JSON schema of what a command prints with `--output-format json`."""
    import json

    from hybridize.report.json_report import FIX_SCHEMA, schema_text

    data: dict[str, Any] = json.loads(schema_text(FIX_SCHEMA) if command == "fix" else schema_text())
    return data


def analyze(
    paths: Sequence[Path],
    config: Config,
    *,
    progress: Progress | None = None,
    contents: Mapping[str, bytes] | None = None,
    repairs: bool = True,
    store: Store | None = None,
) -> Report:
    """Decides about every function below some paths; never imports or runs what it reads.

    Args:
        paths: files and folders; names that are not Python files or notebooks are taken as given.
        config: the options in force.
        progress: told about phases, for a progress line.
        contents: the bytes of files that are not to be read from disk, by their path, absolute or from the root.
        repairs: whether to look for `Report.repairs`; a twentieth of the time, for those who do not show them.
        store: where what was found before is kept; None to find everything anew.

    Returns:
        Facts, decisions and statuses by function; what could not be read is in `errors`, paths that do not exist in
        `missing`.
    """
    return analyze_inputs(inputs_of(paths, config, contents), config, progress=progress, repairs=repairs, store=store)


def analyze_inputs(
    inputs: Inputs,
    config: Config,
    *,
    progress: Progress | None = None,
    repairs: bool = True,
    store: Store | None = None,
    after: After | None = None,
) -> Report:
    """Decides about every function of sources that were read already; see `analyze`.

    `after` is told of each phase of what is found anew, in the process that finds it.
    """
    from hybridize.analysis import Analysis

    started = time.perf_counter()
    parts = Analysis(inputs, config, repairs=repairs, progress=progress, store=store, after=after).reports()
    unread = [FileError(e.path, e.line, e.message) for e in inputs.errors]
    unread += [each for part in parts for each in part.unread]
    functions = tuple(sorted((f for part in parts for f in part.functions), key=lambda f: f.facts.path))
    seconds = time.perf_counter() - started
    files, lines = sum(part.files for part in parts), sum(part.lines for part in parts)
    report = Report(
        ProjectInfo(str(inputs.root), files, lines, seconds, inputs.versions),
        functions,
        tuple(sorted((f for part in parts for f in part.findings), key=lambda f: (f.path, f.line, f.column, f.code))),
        assumptions_of(functions),
        (*sorted(unread, key=lambda e: (e.path, e.line)), *(each for part in parts for each in part.failed)),
        tuple(str(path) for path in inputs.missing),
        tuple(sorted((bundle for part in parts for bundle in part.repairs), key=lambda b: b.precedence)),
        tuple(sorted(call for part in parts for call in part.calls)),
        tuple(each for part in parts for each in part.borrowed),
        tuple((path, text.cells) for path, text in inputs.read.items() if isinstance(text, SourceText) and text.cells),
    )
    return report if inputs.asked is None else _narrowed(report, inputs, inputs.asked)


def _narrowed(report: Report, inputs: Inputs, asked: frozenset[str]) -> Report:
    """What a report says of the files that were asked for."""
    read = [text for path in asked if isinstance(text := inputs.read[path], SourceText)]
    lines = sum(count_lines(each.text) for each in read)
    functions = tuple(f for f in report.functions if f.facts.path in asked)
    mine = {f.facts.id for f in functions}
    others = {ref.relative for ref in inputs.files} - asked
    return replace(
        report,
        project=replace(report.project, files=len(read), lines=lines, asked=asked),
        functions=functions,
        findings=tuple(f for f in report.findings if f.path in asked),
        assumptions=tuple(each for each in report.assumptions if each.function in mine),
        errors=tuple(each for each in report.errors if each.path not in others),
        repairs=tuple(bundle for bundle in report.repairs if bundle.path in asked),
    )


def versions_of(paths: Sequence[Path], config: Config) -> Versions:
    """What the project of some paths may run on, and who says so."""
    return inputs_of(paths, config).versions


def debug(paths: Sequence[Path], config: Config, what: str) -> str:
    """A listing for people who work on hybridize: `ir`, `flow` or `facts`."""
    from hybridize.debugging import listing
    from hybridize.library import registry
    from hybridize.program.build import build_program

    registry.load()
    inputs = inputs_of(paths, config)
    return listing(build_program(inputs.files, inputs.imports, read=inputs.read), config, what)


def _given(paths: Paths, config: Config | None) -> tuple[list[Path], Config]:
    """The paths as a list, and the options in force; raises ConfigError."""
    places = [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(path) for path in paths]
    if config is None:
        config = load_config(places)
        for note in config.notes:
            warnings.warn(note, stacklevel=3)
    if config.select or config.ignore or config.per_file_ignores:
        from hybridize.report.documentation import unknown_codes

        origins = {config.origins[name] for name in ("select", "ignore", "per-file-ignores")}
        for message in unknown_codes(config):
            if origins <= {FROM_DEFAULT, FROM_COMMAND_LINE}:
                raise ConfigError(message)
            # As on the command line: the file may be for another version.
            warnings.warn(message, stacklevel=3)
    return places, config


def _refuse_unfinished(places: Sequence[Path]) -> None:
    """Raises FixError where files are not as their owner left them."""
    from hybridize.rewrite.journal import JournalError, find

    try:
        left = find(Path(os.path.realpath(path)) for path in (Path(), *places))
    except JournalError as error:
        raise FixError(str(error)) from None
    if left:
        raise FixError(f"{left[0]}: a run that was cut off has left files changed; `hybridize fix` puts them back")


def inputs_of(paths: Sequence[Path], config: Config, contents: Mapping[str, bytes] | None = None) -> Inputs:
    """What is read for an analysis; nothing is analyzed."""
    asked = Asked(config.exclude, config.directory, config.src, config.tensorflow_version, config.world)
    return read_inputs(paths, asked, _external(), contents)


def _external() -> frozenset[str]:
    """Top-level names that are libraries even where a folder of the project is called the same."""
    import sys

    return frozenset(sys.stdlib_module_names) | {"tensorflow", "keras", "tf_keras", "numpy"}
