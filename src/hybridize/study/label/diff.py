"""A changed file side by side: aligned lines, what changed within them, and the functions that concern the study.

The result is plain data; whoever shows it must treat every text as hostile.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hybridize.study.store import ChangedFile, ChangedFunction

CONTEXT: Final = 4
MAX_LINE: Final = 2000
MAX_SPAN_LINES: Final = 120
# Beyond this, aligning would take seconds; the changed regions are then shown as one block.
_MAX_ALIGN: Final = 4000
_WORDS: Final = re.compile(r"\w+|\s+|.")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Side:
    lines: Sequence[str]
    spans: Sequence[Span]
    uses: Sequence[str]

    def cell(self, index: int | None, marks: list[Span]) -> dict[str, Any] | None:
        """One line for the page: number, text, whether in a changed function, whether a use, changed parts."""
        if index is None:
            return None
        text = self.lines[index]
        number = index + 1
        return {
            "n": number,
            "s": text if len(text) <= MAX_LINE else text[:MAX_LINE] + " …",
            "f": any(first <= number <= last for first, last in self.spans),
            "u": any(use in text for use in self.uses),
            "m": [mark for mark in marks if mark[1] <= MAX_LINE],
        }


def side_by_side(file: ChangedFile, keyword: str, *, everything: bool = False) -> dict[str, Any]:
    """The rows of one changed file for the page.

    Args:
        file: the file with both texts.
        keyword: what marks a use besides the recorded ones.
        everything: all lines; by default changes with context and the changed functions, with gaps between.
    """
    left = _side(
        file.before, [f.lines_before for f in file.functions], [u for f in file.functions for u in f.uses_before]
    )
    right = _side(
        file.after, [f.lines_after for f in file.functions], [u for f in file.functions for u in f.uses_after]
    )
    left, right = (_Side(side.lines, side.spans, (*side.uses, keyword)) for side in (left, right))
    rows = list(_rows(left, right))
    return {
        "status": file.status,
        "before": file.path_before,
        "after": file.path_after,
        "test": file.is_test,
        "functions": [_function(one) for one in file.functions],
        "missing": file.before is None and file.after is None,
        "rows": rows if everything else list(_folded(rows)),
    }


def _function(one: ChangedFunction) -> dict[str, Any]:
    line = next((span[0] for span in (one.lines_after, one.lines_before) if span), None)
    return {"name": one.qualname, "added": one.uses_added, "removed": one.uses_removed, "line": line}


def _side(text: str | None, spans: Sequence[Span | None], uses: Sequence[str]) -> _Side:
    # Only line feeds separate lines here, as in git; other separators stay within the text.
    lines = (text or "").replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    heads = {use.strip().split("\n")[0] for use in uses if use.strip()}
    # The module's top level spans the file: highlighting everything highlights nothing.
    limited = [span for span in spans if span and not (span[0] == 1 and span[1] >= len(lines) > 1)]
    return _Side(lines, limited, sorted(heads))


def _rows(left: _Side, right: _Side) -> Iterator[dict[str, Any]]:
    for tag, i1, i2, j1, j2 in _opcodes(left.lines, right.lines):
        if tag == "equal":
            for offset in range(i2 - i1):
                yield {"t": "=", "l": left.cell(i1 + offset, []), "r": right.cell(j1 + offset, [])}
            continue
        for offset in range(max(i2 - i1, j2 - j1)):
            i = i1 + offset if offset < i2 - i1 else None
            j = j1 + offset if offset < j2 - j1 else None
            marks: tuple[list[Span], list[Span]] = ([], [])
            if i is not None and j is not None:
                marks = _inner(left.lines[i], right.lines[j])
            kind = "~" if i is not None and j is not None else "-" if j is None else "+"
            yield {"t": kind, "l": left.cell(i, marks[0]), "r": right.cell(j, marks[1])}


def _opcodes(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Like difflib's, after common heads and tails are cut off, and without its worst case."""
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = (before[head : len(before) - tail], after[head : len(after) - tail])
    found: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)] if head else []
    if max(map(len, middle)) > _MAX_ALIGN:
        found.append(("replace", head, head + len(middle[0]), head, head + len(middle[1])))
    else:
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
            found.append((tag, head + i1, head + i2, head + j1, head + j2))
    if tail:
        found.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return found


def _inner(before: str, after: str) -> tuple[list[Span], list[Span]]:
    """The parts (start, end) that differ between two lines; none where nearly everything does."""
    if len(before) > 400 or len(after) > 400:
        return [], []
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.4:
        return [], []
    left: list[Span] = []
    right: list[Span] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            start, stop = len("".join(old[:i1])), len("".join(old[:i2]))
            left += [(start, stop)] if stop > start else []
            start, stop = len("".join(new[:j1])), len("".join(new[:j2]))
            right += [(start, stop)] if stop > start else []
    return left, right


def _folded(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows near changes and in (not too long) changed functions; the rest as gaps with their length."""
    wanted = [False] * len(rows)
    run = 0
    for place, row in enumerate(rows):
        if row["t"] != "=":
            for near in range(max(0, place - CONTEXT), min(len(rows), place + CONTEXT + 1)):
                wanted[near] = True
        if any(row[side] and row[side]["f"] for side in ("l", "r")):
            run += 1
            wanted[place] = wanted[place] or run <= MAX_SPAN_LINES
        else:
            run = 0
    hidden = 0
    for row, keep in zip(rows, wanted, strict=True):
        if keep:
            if hidden:
                yield {"t": "gap", "count": hidden}
            hidden = 0
            yield row
        else:
            hidden += 1
    if hidden:
        yield {"t": "gap", "count": hidden}
