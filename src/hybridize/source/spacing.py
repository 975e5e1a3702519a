"""What of a text is code and what is space: texts that differ in space alone are analyzed alike, but for their lines.

Space is blank lines and comments that mean nothing to hybridize. What is found is found by a lexer of a few lines,
which knows strings and comments and gives a text up (None) where it might be wrong: strings with a quote inside a
replacement field (Python 3.12) among them.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from bisect import bisect_right
from typing import Final

from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.source.reading import count_lines, split_lines

_PIECES: Final = regex(
    r"(?s:#[^\r\n]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*"'
    r"|'[^'\\\r\n]*(?:\\(?:\r\n|.)[^'\\\r\n]*)*')"
)
_LINE_END: Final = regex(r"\r\n|\r|\n")
_SPACE: Final = " \t\f"
#: What a comment holds that says something to hybridize: what it ignores, or a decorator that was commented out.
_MEANS: Final = ("hybridize", "@")


@dataclass(frozen=True, slots=True)
class Spacing:
    """How the code of a text is spaced.

    Attributes:
        code: a digest of all but the space; texts with the same one differ in space alone.
        lines: where the lines of code are, from 1 (unsigned integers of 32 bits).
        around: for each of them, and for the end of the text, a checksum of the space before it and behind it.
        total: the lines of the text.
    """

    code: bytes
    lines: bytes
    around: bytes
    total: int


def spacing(text: str) -> Spacing | None:
    """The spacing of a text; None where its strings cannot be told with certainty."""
    found = _comments(text)
    if found is None:
        return None
    comments, inside = found
    digest = hashlib.blake2b(b"\r" if "\r" in text else b"", digest_size=20)
    lines, around = array("I"), array("I")
    space: list[str] = []
    goes_on = False
    raw = split_lines(text)
    for number, line in enumerate(raw, 1):
        column = comments.get(number)
        code = line if column is None else line[:column].rstrip(_SPACE)
        if column is not None and code.endswith("\\"):
            code = line
        if not (goes_on or number in inside or code.strip(_SPACE)):
            space.append(line)
            continue
        if number not in inside and code.strip(_SPACE) == "\\":
            return None  # whether there is code in what it is joined with is not seen from here
        lines.append(number)
        around.append(zlib.crc32("\n".join((*space, line[len(code) :])).encode("utf-8", "surrogatepass")))
        space.clear()
        goes_on = code.endswith("\\")
        digest.update(code.encode("utf-8", "surrogatepass"))
        digest.update(b"\n\n" if number in inside else b"\n")
    around.append(zlib.crc32("\n".join(space).encode("utf-8", "surrogatepass")))
    return Spacing(digest.digest(), lines.tobytes(), around.tobytes(), count_lines(text))


def _comments(text: str) -> tuple[dict[int, int], set[int]] | None:
    """The column of the comment that is space, by line, and the lines that begin within a string."""
    comments: dict[int, int] = {}
    inside: set[int] = set()
    ends = [found.end() for found in _LINE_END.finditer(text)]
    behind = 0
    for found in _PIECES.finditer(text):
        start, end = found.span()
        if _has_quote(text, behind, start):
            return None
        behind = end
        if text[start] == "#":
            if not any(each in found.group() for each in _MEANS):
                number = bisect_right(ends, start)
                comments[number + 1] = start - (ends[number - 1] if number else 0)
        elif not _is_whole(text, start, end):
            return None
        elif "\n" in found.group() or "\r" in found.group():
            first, last = bisect_right(ends, start), bisect_right(ends, end - 1)
            inside.update(range(first + 2, last + 2))
    return None if _has_quote(text, behind, len(text)) else (comments, inside)


def _has_quote(text: str, start: int, end: int) -> bool:
    return text.find('"', start, end) >= 0 or text.find("'", start, end) >= 0


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether what looks like a string is one: of one with replacement fields a piece has an odd brace."""
    if not start or text[start - 1] not in "fFrRtT":
        return True
    plain = text[start:end].replace("{{", "").replace("}}", "")
    return plain.count("{") == plain.count("}")


class Moved:
    """Where the lines of a text are in another that has the same code.

    Args:
        old, new: the spacings of both.
    """

    def __init__(self, old: Spacing, new: Spacing) -> None:
        self._old, self._new = _numbers(old.lines), _numbers(new.lines)
        a, b = _numbers(old.around), _numbers(new.around)
        self._changed = [i for i in range(len(a)) if a[i] != b[i]]
        self.added = new.total - old.total

    def line(self, old: int) -> int | None:
        """Where a line of code is now; None for one that is none."""
        i = bisect_right(self._old, old) - 1
        return self._new[i] if i >= 0 and self._old[i] == old else None

    def near(self, old: int) -> int:
        """Where a line is now that stands as far behind a line of code as it did."""
        i = bisect_right(self._old, old) - 1
        return self._new[i] + old - self._old[i] if i >= 0 else old

    def is_same(self, first: int, last: int) -> bool:
        """Whether the space between two lines, and around them, is as it was."""
        i, j = bisect_right(self._old, first) - 1, bisect_right(self._old, last)
        return not any(i <= each <= j for each in self._changed)


def _numbers(data: bytes) -> array[int]:
    found: array[int] = array("I")
    found.frombytes(data)
    return found
