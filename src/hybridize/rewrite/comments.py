"""Comments that silence codes, put on the lines that are reported: only the ends of these lines change.

Where a comment cannot stand behind a line (a string or a backslash goes on), it goes alone on a line above, if one can
be put there. What other comments say stays, in front of ours.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path

from hybridize.records import dataclass, field
from hybridize.rewrite.model import Edit, FileResult, apply_edits
from hybridize.rewrite.notebook_json import NotEditable, edit_notebook
from hybridize.rewrite.text import SourceText as Lines
from hybridize.source.model import SourceText
from hybridize.source.suppressions import find_suppressions

_OURS = re.compile(r"#\s*hybridize:\s*ignore\s*\[([^\]]*)\]", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r")
_SILENT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)


@dataclass(frozen=True, slots=True)
class Commented:
    """A file with its new comments: the lines (from 1) that got one, and those that take none, each with the reason."""

    result: FileResult
    added: tuple[int, ...]
    refused: tuple[tuple[int, str], ...]


def plan_comments(source: SourceText, wanted: Mapping[int, Iterable[str]], reason: str = "") -> Commented:
    """Comments for codes by line (of the source's text); codes that are silenced there already are not added again.

    `reason` has neither `#` nor line breaks. Nothing is written.
    """
    data = source.text.encode() if source.cells is not None else source.data
    planner = _Planner(source, Lines(data), f" -- {reason}" if reason else "")
    for line, codes in sorted(wanted.items()):
        planner.add(line, sorted(set(codes)))
    edits = tuple(sorted(planner.edits, key=lambda edit: (edit.start, edit.end)))
    path = Path(source.ref.relative)
    unchanged = FileResult(path, source.data, source.data, (), (), (), ())
    try:
        if source.cells is None:
            new = apply_edits(data, edits)
        else:
            new, edits = edit_notebook(source, edits)
    except NotEditable as error:
        lines = (*planner.added, *(line for line, _ in planner.refused))
        return Commented(unchanged, (), tuple((line, str(error)) for line in sorted(lines)))
    result = FileResult(path, source.data, new, edits, (), (), ())
    return Commented(result, tuple(planner.added), tuple(planner.refused))


@dataclass(slots=True)
class _Layout:
    """What the tokenizer says of a text, lines from 1: where comments are, what goes on behind a line, what is code."""

    comments: dict[int, tuple[int, str]] = field(default_factory=dict)  # column in characters, and what it says
    open_ends: set[int] = field(default_factory=set)
    code: set[int] = field(default_factory=set)


def _layout(text: str) -> _Layout:
    found = _Layout()
    text = _LINE_END.sub("\n", text)
    strings: list[int] = []  # lines where strings with fields have begun
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline):
            kind, (line, column), (last, _) = tokenize.tok_name[token.type], token.start, token.end
            if kind == "COMMENT":
                found.comments[line] = column, token.string
            elif token.type not in _SILENT and token.string:
                found.code.update(range(line, last + 1))
            if kind == "STRING":
                found.open_ends.update(range(line, last))
            elif kind in ("FSTRING_START", "TSTRING_START"):
                strings.append(line)
            elif kind in ("FSTRING_END", "TSTRING_END"):
                found.open_ends.update(range(strings.pop(), last))
    except (tokenize.TokenError, SyntaxError):
        pass  # what comes before is known
    for number, content in enumerate(text.split("\n"), 1):
        if content.endswith("\\") and number not in found.comments:
            found.open_ends.add(number)
    return found


class _Planner:
    """Collects the edits of one file."""

    def __init__(self, source: SourceText, lines: Lines, ending: str) -> None:
        self.edits: list[Edit] = []
        self.added: list[int] = []
        self.refused: list[tuple[int, str]] = []
        self._source = source
        self._lines = lines
        self._ending = ending
        self._encoding = "utf-8" if source.cells is not None else source.encoding
        self._layout = _layout(source.text)
        self._known = find_suppressions(source.text)

    def add(self, line: int, codes: list[str]) -> None:
        """A comment for a line, or more codes in the one that is there."""
        there = [each for each in self._known.values() if each.first == each.last == line]
        codes = [code for code in codes if not any(each.covers(code) for each in there)]
        if not codes:
            return
        problem = None
        if there:
            self._extend(there[0].line, codes)
        elif line not in self._layout.open_ends:
            problem = self._append(line, f"# hybridize: ignore[{', '.join(codes)}]{self._ending}")
        else:
            problem = self._insert(line, f"# hybridize: ignore[{', '.join(codes)}]{self._ending}")
        if problem is None:
            self.added.append(line)
        else:
            self.refused.append((line, problem))

    def _extend(self, line: int, codes: list[str]) -> None:
        """Names more codes in the brackets of a comment."""
        column, text = self._layout.comments[line]
        brackets = _OURS.search(text)
        assert brackets is not None  # one without brackets covers everything
        before = self._lines.line(line).decode(self._encoding)[: column + brackets.end(1)]
        place = self._lines.starts[line - 1] + len(before.encode(self._encoding))
        listed = ", " if brackets[1].strip() else ""
        self.edits.append(Edit(place, place, f"{listed}{', '.join(codes)}".encode(self._encoding)))

    def _append(self, line: int, comment: str) -> str | None:
        content = self._lines.line(line)
        stripped = content.rstrip(b"\r\n")
        blanks = len(stripped) - len(stripped.rstrip())
        place = self._lines.starts[line - 1] + len(stripped)
        return self._edit(place, " " * max(2 - blanks, 0) + comment)

    def _insert(self, line: int, comment: str) -> str | None:
        """A line of its own above a line behind which nothing can stand."""
        if line - 1 in self._layout.open_ends:
            return "no comment can stand behind this line, nor above it"
        if line <= min(self._layout.code, default=line):
            return "a comment above the first statement would hold for the whole file"
        if self._source.cells is not None and line in self._source.cells.starts:
            return "no comment can stand behind the first line of the cell"
        newline = self._lines.newline_at(line).decode("ascii")
        indentation = self._lines.indentation(line).decode("ascii")
        return self._edit(self._lines.starts[line - 1], f"{indentation}{comment}{newline}")

    def _edit(self, place: int, text: str) -> str | None:
        try:
            self.edits.append(Edit(place, place, text.encode(self._encoding)))
        except UnicodeEncodeError:
            return f"the reason cannot be written in {self._encoding}"
        return None
