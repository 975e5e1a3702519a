"""The options in force, each with its origin: a default, `[tool.hybridize]` of a `pyproject.toml`, the command line."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hybridize.records import dataclass, field
from hybridize.regex import regex

SECTION = "tool.hybridize"
FROM_DEFAULT = "default"
FROM_COMMAND_LINE = "command line"

_VERSION = regex(r"(?:<=)?\d+\.\d+(?:\.\d+)?")
_SELECTOR = regex(r"[A-Za-z][\w-]*")


class ConfigError(Exception):
    """A configuration that cannot be used; its text is one line that names the place and the option."""


@dataclass(frozen=True, slots=True)
class Config:
    """All options, by the names of `[tool.hybridize]` with `_` for `-`.

    `origins` tells for each option where its value came from: `"default"`, `"command line"` or the path of a file.
    `directory` is the folder of that file, to which its `exclude` patterns are relative; None where there is no such
    file. `src` is absolute. `notes` are lines for the user on what the file says in vain. `without` is no option of
    users: the parts of the engine that an evaluation takes away (`flow.world.PARTS`), to see what each is worth.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    src: tuple[str, ...] = ()
    tensorflow_version: str | None = None
    follow_type_hints: bool = True
    speculate: bool = True
    boolean_literals: bool = False
    strict_literals: bool = False
    test_entry_points: bool = True
    infer_input_signatures: bool = False
    jit_compile: bool = False
    all_safe: bool = False
    confidence: str = "seen"
    all_information: bool = False
    world: str | None = None
    jobs: int = 0
    cache: bool = True
    cache_dir: str | None = None
    without: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=lambda: _DEFAULT_ORIGINS, compare=False, repr=False)
    directory: Path | None = field(default=None, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def values(self) -> dict[str, Any]:
        """The options by their names in `pyproject.toml`, in the order of `OPTIONS`."""
        return {option.name: getattr(self, option.field) for option in OPTIONS}


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its name in files and on the command line, what it accepts, one sentence for `--help`.

    `example` is a value as it may stand in a file; `unset` says in words what holds where none is given, for an option
    whose default is no value.
    """

    name: str
    kind: str
    help: str
    example: str
    unset: str = ""

    @property
    def field(self) -> str:
        """The name of the attribute of `Config`."""
        return self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option(
        "select",
        "codes",
        "Rules to report, by code, the start of one, or name; all if none is given.",
        '["HY1", "P1"]',
        unset="all",
    ),
    Option(
        "ignore", "codes", "Rules not to report, by code, the start of one, or name.", '["python-side-effects"]', "none"
    ),
    Option(
        "per-file-ignores",
        "table",
        "Rules not to report for files that match a pattern: PATTERN:CODE,CODE.",
        '{ "scripts/" = ["HY101"] }',
        unset="none",
    ),
    Option(
        "exclude",
        "strings",
        "Files and folders to leave out, as patterns of a .gitignore.",
        '["generated/", "*_pb2.py"]',
        unset="none; files that git ignores are left out anyway",
    ),
    Option(
        "src",
        "paths",
        "Folders that imports start from, besides the project's root.",
        '["lib"]',
        unset="found",
    ),
    Option(
        "tensorflow-version",
        "version",
        "The TensorFlow version the project runs on; `<=2.4`: what its files say, and no later one.",
        '"2.16"',
        unset="read from requirements, else from the sources, else any",
    ),
    Option("follow-type-hints", "boolean", "Trust type hints of parameters and variables.", "false"),
    Option("speculate", "boolean", "Guess, and say so, where the analysis finds no answer.", "false"),
    Option("boolean-literals", "boolean", "Count True and False as literals that retrace.", "true"),
    Option(
        "strict-literals", "boolean", "Block conversion on any literal argument, even one that never changes.", "true"
    ),
    Option("test-entry-points", "boolean", "Treat tests as calls of the project's functions.", "false"),
    Option("infer-input-signatures", "boolean", "Propose an input_signature where all calls agree.", "true"),
    Option(
        "jit-compile",
        "boolean",
        "Propose jit_compile=True where it is likely faster (unsafe: last digits differ).",
        "true",
    ),
    Option(
        "all-safe",
        "boolean",
        "Convert every function that is safe to convert, not only those that are worth it.",
        "true",
    ),
    Option(
        "confidence",
        "confidence",
        "What conversions may rest on: calls that are seen, declared, or assumed.",
        '"declared"',
    ),
    Option(
        "all-information",
        "boolean",
        "Tell all information: on graphs of large projects also what no run traces, or what runs show not to happen; "
        "beside a certain reason why a function stays eager also those in doubt.",
        "true",
    ),
    Option(
        "world",
        "world",
        "Whether others import the project (open) or all its callers are in it (closed).",
        '"closed"',
        unset="found in the package's metadata",
    ),
    Option(
        "jobs", "number", "Processes that analyze parts of a project side by side; 0 for one on each processor.", "1"
    ),
    Option("cache", "boolean", "Keep what was found, and answer from it while nothing has changed.", "false"),
    Option(
        "cache-dir",
        "path",
        "Where to keep it (default: the user's cache folder).",
        '".cache"',
        "the user's cache folder",
    ),
)

_BY_NAME: Mapping[str, Option] = MappingProxyType({option.name: option for option in OPTIONS})
_DEFAULT_ORIGINS: Mapping[str, str] = MappingProxyType({option.name: FROM_DEFAULT for option in OPTIONS})


def load_config(
    paths: Sequence[str | os.PathLike[str]] = (),
    overrides: Mapping[str, Any] = MappingProxyType({}),
    *,
    config_file: Path | None = None,
) -> Config:
    """The options for a run over `paths`.

    The file is `config_file`, or else the nearest `pyproject.toml` at or above the first path that has a section
    `[tool.hybridize]`. `overrides` come from the command line, by either spelling of an option's name, None for one
    that was not given. Raises `ConfigError`.
    """
    values: dict[str, Any] = {}
    origins = dict(_DEFAULT_ORIGINS)
    directory: Path | None = None
    notes: list[str] = []
    found = _given_section(config_file) if config_file else find_section(paths[0] if paths else os.curdir)
    if found is not None:
        file, section = found
        directory = file.parent
        for name, value in section.items():
            option = _known(name, f"{file}: {SECTION}.{name}")
            values[option.field] = _convert(option, value, f"{file}: {SECTION}.{name}", directory)
            origins[option.name] = str(file)
    for name, value in overrides.items():
        if value is not None:
            option = _known(name.replace("_", "-"), f"--{name}")
            values[option.field] = _convert(option, value, f"--{option.name}", Path(os.getcwd()))
            origins[option.name] = FROM_COMMAND_LINE
    return Config(**values, origins=MappingProxyType(origins), directory=directory, notes=tuple(notes))


def find_section(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]] | None:
    """The nearest `pyproject.toml` at or above `path` that has a section of ours, and that section."""
    folder = Path(os.path.abspath(path))
    for candidate in (folder, *folder.parents):
        file = candidate / "pyproject.toml"
        if file.is_file():
            section = _read_section(file)
            if section is not None:
                return file, section
    return None


def _given_section(config_file: Path) -> tuple[Path, dict[str, Any]]:
    file = Path(os.path.abspath(config_file))
    section = _read_section(file)
    if section is None:
        raise ConfigError(f"{file}: has no section [{SECTION}]")
    return file, section


def _read_section(file: Path) -> dict[str, Any] | None:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    if b"hybridize" not in data:  # whatever else is wrong with this file is not ours to judge
        return None
    import tomllib

    try:
        tool = tomllib.loads(data.decode()).get("tool")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{file}: is not valid TOML: {' '.join(str(error).split())}") from None
    section = tool.get("hybridize") if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{file}: {SECTION} must be a table, not {_describe(section)}")
    return section


def _known(name: str, place: str) -> Option:
    option = _BY_NAME.get(name)
    if option is None:
        import difflib

        close = difflib.get_close_matches(name.replace("_", "-").lower(), _BY_NAME, n=1)
        hint = f'did you mean "{close[0]}"?' if close else "`hybridize config` lists all options"
        raise ConfigError(f"{place}: unknown option; {hint}")
    return option


def _convert(option: Option, value: Any, place: str, base: Path) -> Any:
    wanted, convert = _KINDS[option.kind]
    try:
        return convert(value, base)
    except (TypeError, ValueError):
        raise ConfigError(f"{place} must be {wanted}, not {_describe(value)}") from None


def _describe(value: Any) -> str:
    """A value as one would write it in TOML, on one line and not too long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = '"' + value.replace("\n", "\\n").replace('"', '\\"') + '"'
    elif isinstance(value, dict):
        return "a table"
    elif isinstance(value, (list, tuple)):
        text = "[" + ", ".join(map(_describe, value)) + "]"
    else:
        text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _boolean(value: Any, _: Path) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    if not value.strip():
        raise ValueError
    return value


def _strings(value: Any, _: Path) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError
    return tuple(_text(item) for item in value)


def _codes(value: Any, base: Path) -> tuple[str, ...]:
    codes = tuple(code.strip() for code in _strings(value, base))
    if not all(_SELECTOR.fullmatch(code) for code in codes):
        raise ValueError
    return codes


def _table(value: Any, base: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Codes by pattern: a table of lists, or `PATTERN:CODE,CODE` texts."""
    if isinstance(value, dict):
        return tuple((_text(pattern), _codes(codes, base)) for pattern, codes in value.items())
    pairs = [item.rpartition(":") for item in _strings(value, base)]
    return tuple((_text(pattern), _codes(codes.split(","), base)) for pattern, _, codes in pairs)


def _paths(value: Any, base: Path) -> tuple[str, ...]:
    return tuple(os.path.normpath(base / item) for item in _strings(value, base))


def _path(value: Any, base: Path) -> str:
    return os.path.normpath(base / _text(value))


def _number(value: Any, _: Path) -> int:
    number = int(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError
    if number < 0:
        raise ValueError
    return number


def _version(value: Any, _: Path) -> str:
    if not _VERSION.fullmatch(_text(value)):
        raise ValueError
    return str(value)


def _one_of(*words: str) -> Callable[[Any, Path], str]:
    def convert(value: Any, _: Path) -> str:
        if _text(value) not in words:
            raise ValueError
        return str(value)

    return convert


def wanted(option: Option) -> str:
    """What an option must be, in words."""
    return _KINDS[option.kind][0]


_KINDS: Mapping[str, tuple[str, Callable[[Any, Path], Any]]] = {
    "boolean": ("true or false", _boolean),
    "codes": ("a list of rule codes or names", _codes),
    "confidence": ('"seen", "declared" or "assumed"', _one_of("seen", "declared", "assumed")),
    "number": ("a whole number", _number),
    "path": ("a path", _path),
    "paths": ("a list of paths", _paths),
    "strings": ("a list of strings", _strings),
    "table": ("a table of patterns with lists of rule codes or names", _table),
    "world": ('"open" or "closed"', _one_of("open", "closed")),
    "version": ('a version such as "2.16"', _version),
}
