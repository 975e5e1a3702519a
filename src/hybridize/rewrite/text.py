"""Bytes of a file as lines, and the way from a place in the syntax tree to a byte."""

from __future__ import annotations

import re
import tokenize
from bisect import bisect_right

NEWLINE = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_INDENT = re.compile(rb"[ \t\f]*")
_BLANKS = re.compile(rb"(?:[ \t\f]|\\(?:\r\n|\r|\n))*")
_BLANKS_IN_PARENTHESES = re.compile(rb"(?:[ \t\f\r\n]|\\(?:\r\n|\r|\n)|#[^\r\n]*)*")
_LINE_REST = re.compile(rb"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)")
_CONTINUED = re.compile(rb"[ \t\f]*\\(?:\r\n|\r|\n)\Z")


class SourceText:
    """The bytes as Python's own tokenizer splits them: `\\n`, `\\r\\n` and a lone `\\r` all end a line.

    Lines count from 1 and columns are those of `ast`: bytes of the line's UTF-8 form, without a BOM.
    """

    __slots__ = ("_encoding", "data", "starts")

    def __init__(self, data: bytes) -> None:
        """Finds the lines; the encoding is looked up only when a line needs it."""
        self.data = data
        self.starts = [len(_BOM) if data.startswith(_BOM) else 0]
        self.starts += [match.end() for match in NEWLINE.finditer(data)]
        self._encoding: str | None = None

    @property
    def encoding(self) -> str:
        """What the file declares (PEP 263), else UTF-8; SyntaxError if Python would not know it."""
        if self._encoding is None:
            first = iter([self.line(1), self.line(2)])
            found = tokenize.detect_encoding(lambda: next(first, b""))[0]
            self._encoding = "utf-8" if self.starts[0] else found
        return self._encoding

    def line(self, number: int) -> bytes:
        """The line with its newline, without a BOM; empty outside the file."""
        if number < 1 or number > len(self.starts):
            return b""
        end = self.starts[number] if number < len(self.starts) else len(self.data)
        return self.data[self.starts[number - 1] : end]

    def line_of(self, offset: int) -> int:
        """The line that holds the byte."""
        return max(1, bisect_right(self.starts, offset))

    def offset(self, line: int, column: int) -> int:
        """The byte at a place of the syntax tree."""
        start = self.starts[line - 1]
        content = self.line(line)
        if content[:column].isascii() or self.encoding == "utf-8":
            return start + column
        text = content.decode(self.encoding)
        return start + len(text.encode()[:column].decode().encode(self.encoding))

    def newline_at(self, line: int) -> bytes:
        """The newline to use beside a line: its own, else the one before, else `\\n`."""
        for number in (line, line - 1):
            if number >= 1 and (match := NEWLINE.search(self.line(number))):
                return match.group()
        return b"\n"

    def indentation(self, line: int) -> bytes:
        """What a new logical line needs in front to stand beside the one that starts on `line`."""
        while line > 1 and _CONTINUED.match(self.line(line - 1)):
            line -= 1  # the first line of a chain of backslashes sets the indentation
        match = _INDENT.match(self.line(line))
        return match.group().rpartition(b"\f")[2] if match else b""  # a form feed starts the count anew

    def is_blank(self, line: int) -> bool:
        """Whether nothing is on the line."""
        return not self.line(line).strip()

    def is_comment(self, line: int) -> bool:
        """Whether only a comment is on the line."""
        return self.line(line).lstrip().startswith(b"#")

    def close_parentheses(self, offset: int, depth: int) -> int | None:
        """The byte after `depth` closing parentheses, which only blanks and comments may precede; None if not so."""
        while depth:
            match = _BLANKS_IN_PARENTHESES.match(self.data, offset)
            offset = match.end() if match else offset
            if self.data[offset : offset + 1] != b")":
                return None
            offset += 1
            depth -= 1
        return offset

    def open_parentheses(self, start: int, end: int) -> int | None:
        """How many parentheses open between two bytes; None if anything but blanks and comments is there too."""
        depth = 0
        while True:
            match = _BLANKS_IN_PARENTHESES.match(self.data, start, end)
            start = match.end() if match else start
            if start >= end:
                return depth
            if self.data[start : start + 1] != b"(":
                return None
            depth += 1
            start += 1

    def rest_of_line(self, offset: int) -> int | None:
        """The start of the next logical line if only blanks and a comment are left on this one, else None."""
        match = _BLANKS.match(self.data, offset)
        rest = _LINE_REST.match(self.data, match.end() if match else offset)
        return rest.end() if rest else None
