"""Edits of a notebook's Python -> edits of its JSON: only the strings that hold a changed line are touched."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from pathlib import Path

from hybridize.records import replace
from hybridize.rewrite.file_edits import plan_edits
from hybridize.rewrite.model import DecoratorChange, Edit, FileResult, KnownNames, apply_edits
from hybridize.rewrite.sections import NOWHERE, Around
from hybridize.rewrite.text import SourceText as Lines
from hybridize.source.ends import common_ends
from hybridize.source.model import Cell, CellMap, SourceError, SourceText
from hybridize.source.reading import decode_source

_BLANK = re.compile(r"[ \t\r\n]*")
_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.DOTALL)
_VALUE = JSONDecoder(strict=False)


class NotEditable(Exception):
    """The notebook can't be edited; the argument says why."""


def plan_notebook(
    source: SourceText,
    changes: Iterable[DecoratorChange],
    *,
    known_names: KnownNames = (),
    around: Around = NOWHERE,
) -> FileResult:
    """As `plan_edits`, for a notebook that the source room has read; lines are those of its text.

    Outputs, metadata, ids, key order, indentation and how the file writes non-ASCII text stay byte for byte.
    """
    path = Path(source.ref.relative)
    around = Around(around.own, frozenset(source.cells.starts if source.cells is not None else ()))
    result = plan_edits(source.text.encode(), changes, path=path, known_names=known_names, around=around)
    planned = result.edits
    result = replace(result, original=source.data, new=source.data, edits=())
    if not planned:
        return result
    try:
        new, edits = edit_notebook(source, planned)
    except NotEditable as reason:
        dropped = tuple((change, str(reason)) for change in result.applied)
        return replace(result, applied=(), dropped=(*result.dropped, *dropped))
    return replace(result, new=new, edits=edits)


def edit_notebook(source: SourceText, planned: tuple[Edit, ...]) -> tuple[bytes, tuple[Edit, ...]]:
    """The notebook's bytes after edits of its text (in UTF-8), and the edits of the JSON that make them.

    Raises:
        NotEditable: more than the text of the cells would change.
    """
    try:
        edits = _json_edits(source, planned)
        new = apply_edits(source.data, edits)
        again = decode_source(source.ref, new)
        wanted = apply_edits(source.text.encode(), planned).decode()
        if isinstance(again, SourceError) or again.text != wanted or not _same_but_sources(source.data, new):
            raise NotEditable("the notebook would differ by more than the plan")
        if _shown(source) != _shown(again):
            raise NotEditable("a cell would show something else below it: the value of its last line")
    except ValueError as error:
        raise NotEditable(str(error)) from None
    return new, tuple(edits)


def _json_edits(source: SourceText, planned: tuple[Edit, ...]) -> list[Edit]:
    """The edits of the file's bytes, in file order."""
    if source.cells is None:
        raise NotEditable("it has no cells")
    bom = source.data.startswith(b"\xef\xbb\xbf")
    text = source.data.decode("utf-8-sig")
    places = list(_cell_places(text))
    edits: list[Edit] = []
    for cell, new in _new_sources(source, source.cells, planned):
        for start, end, replacement in _source_edits(text, places[cell.index], cell.source, new):
            first = len(text[:start].encode()) + 3 * bom
            edits.append(Edit(first, first + len(text[start:end].encode()), replacement.encode()))
    return sorted(edits, key=lambda edit: edit.start)


def _new_sources(source: SourceText, cells: CellMap, planned: tuple[Edit, ...]) -> Iterator[tuple[Cell, str]]:
    """Each cell that changes, with its new source."""
    lines = Lines(source.text.encode())
    by_cell: dict[int, list[Edit]] = {}
    for edit in planned:
        by_cell.setdefault(_home(lines, cells, edit).index, []).append(edit)
    for cell in cells.cells:
        if cell.index in by_cell:
            yield cell, _new_source(lines, cell, by_cell[cell.index])


def _home(lines: Lines, cells: CellMap, edit: Edit) -> Cell:
    """The cell that an edit changes; raises NotEditable where it changes several, or what is no Python."""
    if edit.start == len(lines.data):
        return cells.cells[-1]
    cell, line = cells.locate(lines.line_of(edit.start))
    if edit.start == edit.end:
        at_start = line == 1 and edit.start == lines.starts[cell.first_line - 1]
        return _previous(cells, cell) if at_start and _follows(lines, cell, edit.replacement) else cell
    last = lines.line_of(edit.end - 1) - cell.first_line + 1
    if last > cell.line_count:
        raise NotEditable("it changes what stands in several cells")
    if not cell.masked.isdisjoint(range(line, last + 1)):
        raise NotEditable("it changes a line in IPython's syntax")
    return cell


def _follows(lines: Lines, cell: Cell, new: bytes) -> bool:
    """Whether what is put in front of a cell belongs to the cell before it: never in front of a magic, nor where it is
    inside of a block; an import joins those at the beginning of a cell, or the earlier cell."""
    if 1 in cell.masked or new[:1] in (b" ", b"\t"):
        return True
    is_import = new.lstrip(b"\r\n").startswith((b"import ", b"from "))
    return is_import and cell.first_line > 1 and not lines.line(cell.first_line).startswith((b"import ", b"from "))


def _shown(source: SourceText) -> list[bool]:
    """Of each cell whether IPython shows a value below it: that of an expression at its end."""
    lines = source.text.split("\n")
    found = []
    for cell in source.cells.cells if source.cells is not None else ():
        last = ast.parse("\n".join(lines[cell.first_line - 1 : cell.first_line - 1 + cell.line_count])).body[-1:]
        found.append(isinstance(last[0], ast.Expr) if last else False)
    return found


def _previous(cells: CellMap, cell: Cell) -> Cell:
    place = cells.cells.index(cell)
    if not place:
        raise NotEditable("the first cell starts with a magic: there is no place for an import")
    return cells.cells[place - 1]


def _new_source(lines: Lines, cell: Cell, edits: list[Edit]) -> str:
    """The cell's own text (magics and line ends as they are) after the edits."""
    own = re.split(r"(?<=\n)|(?<=\r)(?!\n)", cell.source)
    newline = "\r\n" if "\r\n" in cell.source else "\n"
    parts: list[str] = []
    done = 0

    def place(offset: int) -> int:
        line = lines.line_of(offset)
        within = line - cell.first_line
        if within >= cell.line_count:
            return len(cell.source)
        column = len(lines.data[lines.starts[line - 1] : offset].decode())
        return sum(len(text) for text in own[:within]) + column

    for edit in edits:
        start, end = place(edit.start), place(edit.end)
        text = edit.replacement.decode().replace("\n", newline)
        if text.endswith(newline) and start == len(cell.source) and not cell.source.endswith(("\n", "\r")):
            text = newline + text.removesuffix(newline)
        parts += (cell.source[done:start], text)
        done = end
    new = "".join([*parts, cell.source[done:]])
    return new if cell.source.endswith(("\n", "\r")) else new.removesuffix(newline)


def _source_edits(text: str, place: tuple[int, int], old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """The replacements in the JSON text that turn one cell's source into another."""
    start, _ = place
    if text[start] == '"':
        yield _string_edit(text, place, old, new)
        return
    spans = list(_items(text, start))
    was = [scanstring(text, first + 1, False)[0] for first, _ in spans if text[first] == '"']
    if len(was) != len(spans):
        raise NotEditable("a cell's source is no list of strings")
    has = [line for line in re.split(r"(?<=\n)", new) if line]
    head, tail = common_ends(was, has)
    stop = len(was) - tail
    gap = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else "," + text[start + 1 : spans[0][0]]
    ascii_only = _ascii_only(text, [text[first:last] for first, last in spans[head:stop]])
    strings = [json.dumps(line, ensure_ascii=ascii_only) for line in has[head : len(has) - tail]]
    if head < stop and strings:
        yield spans[head][0], spans[stop - 1][1], gap.join(strings)
    elif head < stop and tail:
        yield spans[head][0], spans[stop][0], ""
    elif head < stop:
        yield (spans[head - 1][1] if head else spans[0][0]), spans[stop - 1][1], ""
    elif tail:
        yield spans[stop][0], spans[stop][0], "".join(string + gap for string in strings)
    else:
        yield spans[-1][1], spans[-1][1], "".join(gap + string for string in strings)


def _string_edit(text: str, place: tuple[int, int], old: str, new: str) -> tuple[int, int, str]:
    """The replacement inside one string, between what stays in front and behind."""
    head, tail = common_ends(old, new)
    start, end = place
    ends = [match.end() for match in _CHARACTER.finditer(text, start + 1, end - 1)]
    offsets = [start + 1, *ends]
    middle = json.dumps(new[head : len(new) - tail], ensure_ascii=_ascii_only(text, [text[start:end]]))[1:-1]
    return offsets[head], offsets[len(old) - tail], middle


def _ascii_only(text: str, raw: list[str]) -> bool:
    """Whether the file escapes non-ASCII text: as the strings that change do, else as the rest of it."""
    if any(not part.isascii() for part in raw):
        return False
    return any("\\u" in part for part in raw) or text.isascii()


def _cell_places(text: str) -> Iterator[tuple[int, int]]:
    """Where each cell's source is, over all cells in order; the empty place (0, 0) for a cell without one."""
    top = dict(_members(text, _skip(text, 0)))
    if "cells" in top:
        lists = [top["cells"]]
    else:  # format 3
        sheets = (dict(_members(text, start)) for start, _ in _items(text, top["worksheets"][0]))
        lists = [sheet["cells"] for sheet in sheets if "cells" in sheet]
    for start, _ in lists:
        for first, _ in _items(text, start):
            members = dict(_members(text, first)) if text[first] == "{" else {}
            yield members.get("source", members.get("input", (0, 0)))


def source_strings(text: str, index: int) -> Iterator[Iterator[tuple[int, str]]]:
    """The strings of JSON that hold the source of a cell: the characters of each with their places in the text."""
    places = list(_cell_places(text))
    start, end = places[index] if index < len(places) else (0, 0)
    for first, last in [(start, end)] if text[start] == '"' else list(_items(text, start)) if end else []:
        if text[first] == '"':
            yield (
                (match.start(), scanstring(f'{match.group()}"', 0, False)[0])
                for match in _CHARACTER.finditer(text, first + 1, last - 1)
            )


def _members(text: str, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The keys of the object that starts here, with the places of their values."""
    place = _skip(text, start + 1)
    while text[place] == '"':
        key, place = scanstring(text, place + 1, False)
        first = _skip(text, _skip(text, place) + 1)
        last = _VALUE.raw_decode(text, first)[1]
        yield key, (first, last)
        place = _skip(text, _skip(text, last) + 1) if text[_skip(text, last)] == "," else _skip(text, last)


def _items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The places of the values in the array that starts here."""
    place = _skip(text, start + 1)
    while text[place] != "]":
        last = _VALUE.raw_decode(text, place)[1]
        yield place, last
        place = _skip(text, last)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def _same_but_sources(original: bytes, new: bytes) -> bool:
    """Whether two notebooks differ in nothing but the sources of their cells (which are compared as text)."""
    one, two = (json.loads(data.decode("utf-8-sig")) for data in (original, new))
    for notebook in (one, two):
        sheets = [notebook] if "cells" in notebook else notebook.get("worksheets", [])
        for cell in (cell for sheet in sheets for cell in sheet["cells"] if cell.get("cell_type") == "code"):
            cell.pop("source", None)
            cell.pop("input", None)
    return bool(one == two)
