"""What a client sets: options of the server, and in `options` those of `[tool.hybridize]`, as on a command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from hybridize.config import OPTIONS, Config, load_config
from hybridize.records import dataclass

#: The section of the client's configuration.
SECTION: Final = "hybridize"
_PATHS: Final = {option.name: option.kind for option in OPTIONS if option.kind in ("path", "paths")}


@dataclass(frozen=True, slots=True)
class Settings:
    """The server's own options, by the names that clients give them.

    Attributes:
        options: options of `[tool.hybridize]`, which win over those of the file.
        config: the `pyproject.toml` to read in place of the nearest one.
        diagnostics: `workspace` for all files of a project, `open` for those that are open.
        codeLens: whether there is a line above functions that are to be changed.
        inlayHints: whether verdicts stand behind all definitions.
        delay: milliseconds without an edit before an analysis begins.
    """

    options: Mapping[str, Any]
    config: str | None = None
    diagnostics: str = "workspace"
    codeLens: bool = True
    inlayHints: bool = False
    delay: int = 300

    def load(self, root: Path) -> Config:
        """The options in force for a project.

        Raises:
            ConfigError: they cannot be used.
        """
        overrides = {name: _below(root, name, value) for name, value in self.options.items()}
        file = Path(os.path.join(root, self.config)) if self.config else None
        return load_config([root], overrides, config_file=file)


_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "options": (dict, "a table of options"),
    "config": (str, "the path of a pyproject.toml"),
    "diagnostics": (str, '"workspace" or "open"'),
    "codeLens": (bool, "true or false"),
    "inlayHints": (bool, "true or false"),
    "delay": (int, "a number of milliseconds"),
}
_ALLOWED: Final[Mapping[str, Callable[[Any], bool]]] = {
    "diagnostics": lambda value: value in ("workspace", "open"),
    "delay": lambda value: value >= 0,
}
DEFAULT: Final = Settings({})


def read_settings(*given: object) -> tuple[Settings, tuple[str, ...]]:
    """The settings in what a client sent, the later over the earlier, and a sentence on each that means nothing.

    A client that sends everything that it knows has ours in a table `hybridize` (or `settings`) of it.
    """
    values: dict[str, Any] = {}
    wrong = []
    for name, value in (pair for each in given for pair in _table(each).items()):
        if value is None or value == "" or name not in _KINDS:
            continue  # an extension has settings of its own in the same section
        kind, wanted = _KINDS[name]
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits or (name in _ALLOWED and not _ALLOWED[name](value)):
            wrong.append(f"{SECTION}.{name} must be {wanted}")
        else:
            values[name] = value
    return Settings(**{"options": {}, **values}), tuple(wrong)


def _table(given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        return {}
    inner = next((given[name] for name in (SECTION, "settings") if isinstance(given.get(name), dict)), None)
    return given if inner is None else _table(inner)


def _below(root: Path, name: str, value: Any) -> Any:
    """The value of an option, paths from the project's root (on a command line they are from the working folder)."""
    kind = _PATHS.get(name.replace("_", "-"))
    if kind == "path" and isinstance(value, str) and value:
        return os.path.join(root, value)
    if kind == "paths" and isinstance(value, list):
        return [os.path.join(root, each) if isinstance(each, str) else each for each in value]
    return value
