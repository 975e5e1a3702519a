"""The parts of a project: files that no import connects are programs of their own, and are analyzed apart.

What ties two files together is an import that means the other (of a package, its `__init__` too), a text that names
a module which the file can import where it imports by name (`importlib.import_module`, `pytest.importorskip`), and
pytest's rule that the fixtures of a `conftest.py` are there for all tests below its folder.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.source.model import FileRef, SourceError
from hybridize.source.names import ImportTable
from hybridize.source.spacing import Spacing, spacing
from hybridize.source.syntax import walk

#: An import as it is written: dotted name, dots in front of it, and the name that is taken from there (or empty; None
#: for a name in a text).
Written: TypeAlias = tuple[str, int, str | None]
#: The imports of a file, the number of its functions, and how it is spaced (None where it is known by its bytes alone).
Outline: TypeAlias = tuple[tuple[Written, ...], int, Spacing | None]
#: A project of at most so many functions is small.
SMALL_PROJECT: Final = 120
#: What imports by a name that is computed.
_BY_NAME: Final = regex(r"\b(?:import_module|importorskip|__import__)\b")
_DOTTED: Final = regex(r"[A-Za-z_]\w*(?:\.\w+)*")


@dataclass(frozen=True, slots=True)
class Part:
    """Files that imports connect, by path; `meaning` is what each of their imports means: on that and their texts their
    analysis rests."""

    files: tuple[FileRef, ...]
    meaning: tuple[tuple[str, str, int, str | None], ...] = ()


def outline(tree: ast.Module, text: str, *, spaced: bool = False) -> Outline:
    """What a file imports, as it is written, with every name in a text where it imports by name; its functions; its
    spacing where that is asked for."""
    found: dict[Written, None] = {}
    functions = 0
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            found.update(((alias.name, 0, ""), None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(((node.module or "", node.level, alias.name), None) for alias in node.names)
        else:
            functions += isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    if _BY_NAME.search(text) is not None:
        for each in walk(tree):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                rest = each.value.lstrip(".")
                if _DOTTED.fullmatch(rest):
                    found[rest, len(each.value) - len(rest), None] = None
    return tuple(found), functions, spacing(text) if spaced else None


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """All statements; expressions have none in them."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                todo += inner
        if isinstance(node, ast.stmt):
            yield node


def find_parts(
    files: Sequence[FileRef], imports: ImportTable, outlines: Mapping[str, Outline | SourceError]
) -> list[Part]:
    """The parts, in the order of their first files.

    Args:
        files: of the project.
        imports: what an import means.
        outlines: of each file, by path; what cannot be parsed is a part of its own.
    """
    groups = _Groups()
    meaning: dict[str, list[tuple[str, str, int, str | None]]] = {}
    for ref in files:
        groups.add(ref.relative)
        found = outlines[ref.relative]
        mine = meaning[ref.relative] = []
        importing = imports.module_of(ref).id
        for (dotted, level), is_text in () if isinstance(found, SourceError) else _asked(found[0]).items():
            target = imports.resolve(importing, dotted, level)
            mine.append((ref.relative, dotted, level, target))
            file = imports.modules[target].file if target is not None else None
            # A text may be anything: a module that has its name somewhere else in the project is not meant.
            if file is not None and not (is_text and not level and imports.is_guess(importing, dotted)):
                groups.join(ref.relative, file.relative)
    for ref in files:
        folder, name = posixpath.split(ref.relative)
        if name == "conftest.py":
            for other in files:
                if other.relative.startswith(f"{folder}/" if folder else "") and _is_collected(other.relative):
                    groups.join(ref.relative, other.relative)
    parts: dict[str, list[FileRef]] = {}
    for ref in sorted(files, key=lambda each: each.relative):
        parts.setdefault(groups.of(ref.relative), []).append(ref)
    return [Part(tuple(part), tuple(each for ref in part for each in meaning[ref.relative])) for part in parts.values()]


def _asked(names: Sequence[Written]) -> dict[tuple[str, int], bool]:
    """All that the analysis may ask the table for: each package on the way, and what may be a module or a name; whether
    only a text says so."""
    seen: dict[tuple[str, int], bool] = {}
    for dotted, level, name in names:
        whole = ".".join(part for part in (dotted, name) if part and part != "*")
        pieces = whole.split(".") if whole else []
        asked = [".".join(pieces[: i + 1]) for i in range(len(pieces))]
        for each in ["", *asked] if level else asked:
            seen[each, level] = name is None and seen.get((each, level), True)
    return seen


def _is_collected(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == "conftest.py" or name.startswith("test") or name.endswith(("_test.py", "_tests.py"))


class _Groups:
    """Disjoint sets of paths."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def add(self, path: str) -> None:
        self._above.setdefault(path, path)

    def of(self, path: str) -> str:
        above = self._above
        self.add(path)
        while above[path] != path:
            above[path] = above[above[path]]
            path = above[path]
        return path

    def join(self, a: str, b: str) -> None:
        first, second = sorted((self.of(a), self.of(b)))
        self._above[second] = first
