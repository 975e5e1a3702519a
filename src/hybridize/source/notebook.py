"""Notebooks: the code cells as one text; lines in IPython syntax are masked so that line numbers stay true."""

import ast
import json
import re
import warnings
from typing import Any

from hybridize.regex import regex
from hybridize.source.model import Cell, CellMap, FileRef, SourceError, SourceText

_LINE_END = regex(r"\r\n|\r|\n")
# Cell magics whose cell is still Python, run in the notebook's own namespace.
_PYTHON_CELL_MAGICS = frozenset(
    {"capture", "debug", "hybridize", "memit", "mprun", "prun", "snakeviz", "time", "timeit"}
)
_CELL_MAGIC = regex(r"%%(\w+)")
_ASSIGNED_MAGIC = regex(r"(\s*[\w.\[\]'\", ()*]+?=\s*)(?:%(?=\w)|!)")
_HELP = regex(r"\s*(?:\?{1,2}\s*[\w.*%]+|%{0,2}[\w.*]+(?:\[[^\]]*\])?\?{1,2})\s*;?\s*$")
# What decides whether the next line starts a statement: strings, comments and brackets.
_TOKEN = regex(r"'''|\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|#.*|[()\[\]{}]|\\.")


def read_notebook(ref: FileRef, data: bytes) -> SourceText | SourceError:
    """The Python of a notebook (formats 3 and 4); a cell that is no Python is left out and named in `problems`."""
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return SourceError(ref.relative, line, "is no notebook: not UTF-8")
    except json.JSONDecodeError as error:
        return SourceError(ref.relative, error.lineno, f"is no notebook: not valid JSON ({error.msg.lower()})")
    except RecursionError:
        return SourceError(ref.relative, 1, "is no notebook: nested too deeply")
    found = _code_cells(notebook)
    if found is None:
        return SourceError(ref.relative, 1, "is no notebook: it has no list of cells")
    cells: list[Cell] = []
    texts: list[str] = []
    problems: list[SourceError] = []
    line = 1
    for index, identity, source in found:
        lines, masked, problem = _mask(source)
        if problem is not None:
            problems.append(SourceError(ref.relative, line + problem[0] - 1, f"cell {index + 1}: {problem[1]}"))
        cells.append(Cell(index, identity, line, len(lines), source, frozenset(masked)))
        texts.extend(lines)
        line += len(lines)
    text = "".join(f"{text}\n" for text in texts)
    cell_map = CellMap(tuple(cells), tuple(cell.first_line for cell in cells))
    return SourceText(ref, data, text, cells=cell_map, problems=tuple(problems))


def _code_cells(notebook: Any) -> list[tuple[int, str | None, str]] | None:
    """Place, id and source of each code cell; None if this is no notebook, none if its language is not Python."""
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):  # format 3
        cells = [
            cell
            for sheet in notebook["worksheets"]
            if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
            for cell in sheet["cells"]
        ]
    if not isinstance(cells, list):
        return None
    if _language(notebook) not in ("python", "ipython"):
        return []
    found = []
    for index, cell in enumerate(cells):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if isinstance(source, str) and source:
            identity = cell.get("id")
            found.append((index, identity if isinstance(identity, str) else None, source))
    return found


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        entry = metadata.get(table) if isinstance(metadata, dict) else None
        name = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(name, str) and name:
            return name.lower().rstrip("0123456789.")
    return "python"


def _mask(source: str) -> tuple[list[str], set[int], tuple[int, str] | None]:
    """The lines of a cell as Python, the numbers of those that were masked, and where and why the cell is none."""
    lines = _LINE_END.split(source)
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    problem = _syntax_problem(lines)
    if problem is None:
        return lines, set(), None
    magic = _CELL_MAGIC.match(next((line.lstrip() for line in lines if line.strip()), ""))
    if magic is not None and magic.group(1) not in _PYTHON_CELL_MAGICS:
        return _blank(lines), set(range(1, len(lines) + 1)), None
    result, masked = _mask_lines(lines)
    problem = _syntax_problem(result)
    if problem is not None:
        return _blank(lines), set(range(1, len(lines) + 1)), problem
    return result, masked, None


def _blank(lines: list[str]) -> list[str]:
    return ["pass"] + [""] * (len(lines) - 1)


def _mask_lines(lines: list[str]) -> tuple[list[str], set[int]]:
    result: list[str] = []
    masked: set[int] = set()
    state = _Scanner()
    continued = False  # a magic line goes on after a backslash
    for number, line in enumerate(lines, 1):
        if continued:
            replacement: str | None = ""
        elif state.starts_statement:
            replacement = _replacement(line)
        else:
            replacement = None
        if replacement is None:
            state.feed(line)
            result.append(line)
            continue
        masked.add(number)
        result.append(replacement)
        continued = line.endswith("\\")
    return result, masked


def _replacement(line: str) -> str | None:
    """Python in place of a line in IPython's syntax; None for any other line."""
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    if stripped.startswith(("%", "!")) or _HELP.match(line):
        return indent + "pass"
    assigned = _ASSIGNED_MAGIC.match(line)
    if assigned is not None:
        return assigned.group(1) + "get_ipython()"  # a value nobody knows
    return None


def _syntax_problem(lines: list[str]) -> tuple[int, str] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(lines))
    except SyntaxError as error:
        return max(error.lineno or 1, 1), f"cannot be parsed: {error.msg}"
    except (RecursionError, MemoryError, ValueError) as error:
        return 1, f"cannot be parsed: {str(error) or 'nested too deeply'}"
    return None


class _Scanner:
    """Follows strings, brackets and backslashes from line to line."""

    __slots__ = ("_depth", "_escaped", "_quote")

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._escaped = False

    @property
    def starts_statement(self) -> bool:
        """Whether the next line begins a statement."""
        return not (self._depth or self._quote or self._escaped)

    def feed(self, line: str) -> None:
        place = 0
        while True:
            if self._quote:
                end = re.compile(r"(?:\\.|[^\\])*?" + self._quote).match(line, place)
                if end is None:
                    return
                self._quote, place = "", end.end()
            token = _TOKEN.search(line, place)
            if token is None:
                break
            place, text = token.end(), token.group()
            if text in ("'''", '"""'):
                self._quote = text
            elif text in "([{":
                self._depth += 1
            elif text in ")]}":
                self._depth = max(self._depth - 1, 0)
        self._escaped = line.endswith("\\")
