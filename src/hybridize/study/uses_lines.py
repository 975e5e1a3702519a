"""Lines and statements of a file, as `uses` walks them."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

Definition = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def split_lines(source: str) -> list[str]:
    """Lines as Python counts them: `str.splitlines` would also split at form feeds and Unicode separators."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def within(lines: list[int], first: int, last: int) -> bool:
    """Whether one of the ascending lines is from `first` to `last`."""
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= last


def own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function in order, those of nested blocks too, not those of nested definitions."""
    for node in body:
        if not isinstance(node, SCOPES):
            yield node
            for child in blocks(node):
                yield from own_statements(child)


def line_numbers(source: str, pattern: re.Pattern[str]) -> Iterator[int]:
    """The lines with a match that no word character precedes; line ends count as the parser counts them."""
    text = source.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source else source
    number, position = 1, 0
    for match in pattern.finditer(text):
        start = match.start()
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            continue
        number += text.count("\n", position, start)
        position = start
        yield number


_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    **dict.fromkeys((ast.With, ast.AsyncWith), ("body",)),
    **dict.fromkeys((ast.Try, ast.TryStar), ("body", "orelse", "finalbody")),
}
_NONE: Final[list[list[ast.stmt]]] = []


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The statement lists inside a compound statement that is no definition."""
    fields = _FIELDS.get(type(node))
    if fields is None:
        return [case.body for case in node.cases] if isinstance(node, ast.Match) else _NONE
    found = [value for name in fields if (value := getattr(node, name))]
    return [*found, *(handler.body for handler in node.handlers)] if isinstance(node, ast.Try | ast.TryStar) else found
