"""Where isort and ruff would put an import: by section, plain imports before `from` ones, then by name."""

from __future__ import annotations

import ast
import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from hybridize.records import dataclass
from hybridize.rewrite.text import SourceText

#: Section, `from` behind plain imports, name without and with its case, and what it is imported as.
Key: TypeAlias = tuple[int, bool, str, str, str]
#: A byte, the line beside it, and the lines to put there.
Place: TypeAlias = tuple[int, int, list[str]]

_FUTURE, _STANDARD, _OTHERS, _OWN, _BESIDE = range(5)


@dataclass(frozen=True, slots=True)
class Around:
    """What tells, beside a file's own text, where an import goes.

    `own` are the top-level names of the project's own modules, `breaks` the lines that begin a block of their own: the
    first ones of the cells of a notebook.
    """

    own: frozenset[str] = frozenset()
    breaks: frozenset[int] = frozenset()


NOWHERE: Final = Around()


def first_party(root: Path) -> frozenset[str]:
    """The top-level names that a project's own files have: what lies in its folder, and in `src` below it."""
    return frozenset(name for folder in (root, root / "src") for name in _names(folder))


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".pyi")):
                    yield entry.name.rpartition(".")[0]
                elif "." not in entry.name and entry.is_dir():
                    yield entry.name
    except OSError:
        return


def sorted_place(
    text: SourceText, block: Sequence[ast.stmt], module: str, sources: list[str], around: Around
) -> Place | None:
    """Where a plain import of a module goes in a block of imports; None where those are in no order to be kept.

    Args:
        text: the file.
        block: its imports that follow each other.
        module: the new one's.
        sources: its lines.
        around: what else tells where it goes.
    """
    own = around.own
    keys = [_key(node, own) for node in block]
    if None in keys or not block or not _line_by_line(text, block):
        return None
    known = [key for key in keys if key is not None]
    new = (_section(module, own), False, module.lower(), module, sources[0].partition(" as ")[2])
    # Only its own section need be in order, and stand between those before and behind it.
    order = [key if key[0] == new[0] else key[:1] if key[0] < new[0] else (_BESIDE + 1,) for key in known]
    if any(one > two for one, two in itertools.pairwise(order)):
        return None
    index = sum(key <= new for key in known)
    joins_before = index > 0 and known[index - 1][0] == new[0]
    joins_next = index < len(block) and known[index][0] == new[0]
    if joins_before or (index > 0 and not joins_next):
        last = block[index - 1].end_lineno or block[index - 1].lineno
        offset = text.starts[last] if last < len(text.starts) else len(text.data)
        lead = [] if joins_before else [""]
        at_end = offset == len(text.data) or text.is_blank(last + 1) or last + 1 in around.breaks
        tail = [] if joins_before or at_end else [""]
        return offset, last, [*lead, *sources, *tail]
    first = block[index].lineno
    while first > 1 and text.is_comment(first - 1) and (index > 0 or not _opens(text, first - 1)):
        first -= 1
    if index == 0 and first > 1 and text.is_comment(first - 1):
        return None  # what opens the file is not the first import's
    lead = [""] if index > 0 and not text.is_blank(first - 1) else []
    apart = not joins_next or text.is_comment(first)  # a comment between imports has a blank line above it
    return text.starts[first - 1], first, [*lead, *sources, *([""] if apart else [])]


def _opens(text: SourceText, line: int) -> bool:
    """Whether a comment is one of those that open the file."""
    while line >= 1 and text.is_comment(line):
        line -= 1
    return line < 1


def _line_by_line(text: SourceText, block: Sequence[ast.stmt]) -> bool:
    """Whether each import begins a line, and nothing but a comment follows it there."""
    for node in block:
        end = text.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        if node.col_offset or text.rest_of_line(end) is None:
            return False
    return True


def _key(node: ast.stmt, own: frozenset[str]) -> Key | None:
    if isinstance(node, ast.Import) and len(node.names) == 1:
        name = node.names[0].name
        return _section(name, own), False, name.lower(), name, node.names[0].asname or ""
    if isinstance(node, ast.ImportFrom):
        if node.level:  # further up comes first
            return _BESIDE, True, f"{999 - node.level:03}{(node.module or '').lower()}", node.module or "", ""
        name = node.module or ""
        return _section(name, own), True, name.lower(), name, ""
    return None


def _section(module: str, own: frozenset[str]) -> int:
    top = module.partition(".")[0]
    if top == "__future__":
        return _FUTURE
    if top in sys.stdlib_module_names:
        return _STANDARD
    return _OWN if top in own else _OTHERS
