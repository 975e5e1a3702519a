"""What the project does to `logging`: where messages go, from which level on, and in which form."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.records import dataclass
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import SourceFile

#: The levels of the standard library, by the method that logs at it.
LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "critical": 50, "fatal": 50}
NAMES: Final = {10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}
#: What `basicConfig` writes when it is not told, and what a handler without formatter writes.
_BASIC: Final = "%(levelname)s:%(name)s:%(message)s"
_BARE: Final = "%(message)s"
_STREAMS: Final = ("sys.stdout", "sys.stderr")
#: From which level on messages come out of loggers that nobody has set up.
WARNING: Final = LEVELS["warning"]


@dataclass(frozen=True, slots=True)
class LogSetup:
    """`level`: from which on messages surely come out. `stream`: where they go, as source. `form`: a format of `%`.

    `root_form` is that of `logging.info(...)` and the like, which set up what nobody has set up.
    """

    level: int
    stream: str = "sys.stderr"
    form: str = _BARE
    root_form: str = _BARE


def log_setup(bench: Bench) -> LogSetup:
    """How the project configures `logging`, as far as its calls show constants."""
    return bench.project.shared("log setup", lambda: _setup(bench))


def _setup(bench: Bench) -> LogSetup:
    levels: set[int | None] = set()
    streams: set[str | None] = set()
    forms: set[str | None] = set()
    for file, call, name in _calls(bench):
        words = {k.arg: k.value for k in call.keywords}
        if name == "basicConfig":
            levels |= {_level(words["level"])} if "level" in words else set()
            if "filename" in words or "handlers" not in words:
                streams.add(None if "filename" in words else _stream(file, words.get("stream")))
                forms.add(_text(words["format"]) if "format" in words else _BASIC)
        elif name == "StreamHandler":
            streams.add(_stream(file, words.get("stream", call.args[0] if call.args else None)))
            forms.add(_BARE)
        elif name == "Formatter":
            forms.discard(_BARE)
            forms.add(_text(words.get("fmt", call.args[0] if call.args else None)))
        elif name == "setLevel":
            levels.add(_level(call.args[0] if call.args else words.get("level")))
        elif name in ("dictConfig", "fileConfig"):
            levels.add(None)
    known = [level for level in levels if level is not None]
    # The strictest of all: what passes that comes out whichever logger it is.
    level = max(known, default=WARNING) if len(known) == len(levels) else max([*known, WARNING])
    stream = next(iter(streams)) if len(streams) == 1 else None
    form = (next(iter(forms)) if len(forms) == 1 else _BARE) or _BARE
    return LogSetup(level, stream or "sys.stderr", form, form if forms or None in levels else _BASIC)


def _calls(bench: Bench) -> Iterator[tuple[SourceFile, ast.Call, str]]:
    """The calls of the project that may configure `logging`, the formatters last."""
    found: list[tuple[SourceFile, ast.Call, str]] = []
    for module in bench.project.solution.program.modules.values():
        text = module.text.text if module.text is not None else ""
        file = bench.file(module.code.path) if "logging" in text else None
        for node in file.nodes if file is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name)):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                assert file is not None
                found.append((file, node, name))
    return iter(sorted(found, key=lambda item: item[2] == "Formatter"))


def _level(node: ast.expr | None) -> int | None:
    if isinstance(node, ast.Attribute):
        return LEVELS.get(node.attr.lower()) if node.attr.isupper() else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return LEVELS.get(node.value.lower())
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _stream(file: SourceFile, node: ast.expr | None) -> str | None:
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return "sys.stderr"
    text = file.source(node)
    return text if text in _STREAMS else None


def _text(node: ast.expr | None) -> str | None:
    if node is None:
        return _BARE
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def around(form: str, level: str, name: str) -> tuple[str, str] | None:
    """What stands before and behind the message (with `name` for the logger's); None where more than these is shown."""
    mark = "\0"
    try:
        shown = form % {"levelname": level, "name": name, "message": mark}
    except (KeyError, ValueError, TypeError):
        return None
    before, found, behind = shown.partition(mark)
    return (before, behind) if found and mark not in behind else None
