"""Where a new import goes: beside those that are there, never in front of what must come first."""

from __future__ import annotations

import ast
import itertools
import re
import sys

from hybridize.rewrite.locate import SCOPES
from hybridize.rewrite.model import Edit
from hybridize.rewrite.sections import NOWHERE, Around, sorted_place
from hybridize.rewrite.text import SourceText

_PINNED = re.compile(rb"#!|[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")  # PEP 263, and the shebang


def import_source(module: str, alias: str) -> str:
    """`import tensorflow as tf`."""
    return f"import {module}" if alias == module else f"import {module} as {alias}"


def import_edit(
    text: SourceText,
    tree: ast.Module,
    module: str,
    aliases: list[str],
    before: int,
    around: Around = NOWHERE,
) -> Edit:
    """The edit that imports the module under each alias, where isort and ruff would.

    `before` is the index of the first statement that needs it.
    """
    sources = [import_source(module, alias) for alias in aliases]
    body = tree.body[:before]
    near = [body[index] for index in _block_for(body, module, around.breaks)]
    place = sorted_place(text, near, module, sources, around)
    if place is not None:
        return _insert(text, *place)
    if module in sys.stdlib_module_names and (edit := _standard(text, tree, body, sources)) is not None:
        return edit
    anchor = next((index for index, node in enumerate(body) if module in _roots(node)), None)
    if anchor is not None:
        above = body[anchor].lineno
        alone = not anchor or body[anchor - 1].end_lineno != above
        if alone and not text.is_comment(above - 1) and body[anchor].col_offset == 0:
            return _insert(text, text.starts[above - 1], above, sources)
        return _after(text, tree, anchor, sources)
    block = _first_block(body)
    if not block:
        return _at_the_top(text, tree, sources)
    absolute = [index for index in block if not getattr(body[index], "level", 0)]
    if absolute:
        return _after(text, tree, absolute[-1], sources)
    first = body[block[0]].lineno
    if block[0] and (text.is_comment(first - 1) or body[block[0] - 1].end_lineno == first):
        return _after(text, tree, block[-1], sources)
    return _insert(text, text.starts[first - 1], first, [*sources, ""])


def _standard(text: SourceText, tree: ast.Module, body: list[ast.stmt], sources: list[str]) -> Edit | None:
    """An import of the standard library: behind those that open the first block of imports, else in front of it."""
    block = _first_block(body)
    if not block:
        return None
    standard = 0
    while standard < len(block) and _roots(body[block[standard]]) & sys.stdlib_module_names:
        standard += 1
    if standard:
        return _after(text, tree, block[standard - 1], sources)
    first = body[block[0]].lineno
    if body[block[0]].col_offset or text.is_comment(first - 1):
        return None
    return _insert(text, text.starts[first - 1], first, sources)


def _roots(node: ast.stmt) -> set[str]:
    """The top-level packages that an absolute import statement names."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").partition(".")[0]}
    return set()


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__" and not node.level


def _first_block(body: list[ast.stmt]) -> list[int]:
    """The indices of the first imports that follow each other, without `from __future__`."""
    block: list[int] = []
    for index, node in enumerate(body):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not _is_future(node):
            block.append(index)
        elif block:
            break
    return block


def _block_for(body: list[ast.stmt], module: str, breaks: frozenset[int]) -> list[int]:
    """The imports that follow each other among which there is one of the module, else the first ones.

    None of them but the first is on a line that breaks a block, or behind such a line.
    """
    anchor = next((index for index, node in enumerate(body) if module in _roots(node)), None)
    if anchor is None:
        return _unbroken(body, _first_block(body), breaks)
    start = anchor
    while start and isinstance(body[start - 1], (ast.Import, ast.ImportFrom)) and not _is_future(body[start - 1]):
        if _breaks(body[start - 1], body[start], breaks):
            break
        start -= 1
    return _unbroken(body, [start + each for each in _first_block(body[start:])], breaks)


def _unbroken(body: list[ast.stmt], block: list[int], breaks: frozenset[int]) -> list[int]:
    for place, (one, two) in enumerate(itertools.pairwise(block), 1):
        if _breaks(body[one], body[two], breaks):
            return block[:place]
    return block


def _breaks(one: ast.stmt, two: ast.stmt, breaks: frozenset[int]) -> bool:
    return any(line in breaks for line in range((one.end_lineno or one.lineno) + 1, two.lineno + 1))


def _after(text: SourceText, tree: ast.Module, index: int, sources: list[str]) -> Edit:
    """Below the physical lines of a statement, and of those that share its last line."""
    body = tree.body
    while index + 1 < len(body) and body[index + 1].lineno == body[index].end_lineno:
        index += 1
    last = body[index].end_lineno or body[index].lineno
    offset = text.starts[last] if last < len(text.starts) else len(text.data)
    return _insert(text, offset, last, sources)


def _insert(text: SourceText, offset: int, beside: int, sources: list[str]) -> Edit:
    newline = text.newline_at(beside)
    lines = b"".join(source.encode() + newline for source in sources)
    if text.data and offset == len(text.data) and not text.data.endswith((b"\n", b"\r")):
        lines = newline + lines[: -len(newline)]  # the file ends without a newline, and still will
    return Edit(offset, offset, lines)


def _at_the_top(text: SourceText, tree: ast.Module, sources: list[str]) -> Edit:
    """There is no import yet: after the docstring and `from __future__`, else after the comments that open the file."""
    head = 0
    for index, node in enumerate(tree.body):
        docstring = index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (_is_future(node) or (docstring and ast.get_docstring(tree, clean=False) is not None)):
            break
        head = index + 1
    if head:
        last = tree.body[head - 1].end_lineno or 1
        blank = text.is_blank(last + 1)
        return _after(text, tree, head - 1, ["", *sources] if blank else ["", *sources, ""])
    pinned = max((line for line in (1, 2) if _PINNED.match(text.line(line))), default=0)
    header = pinned
    while text.is_comment(header + 1):
        header += 1
    if header and text.is_blank(header + 1):
        return _insert(text, text.starts[header], header, ["", *sources])
    gap = ["", ""] if tree.body and isinstance(tree.body[0], SCOPES) else [""]
    return _insert(text, text.starts[pinned], pinned + 1, [*sources, *gap])
