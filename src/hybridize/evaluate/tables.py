"""A small table in several formats: text, Markdown, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and how numbers below it are written (a format of `format`); text is as it stands."""

    title: str
    form: str = ""


def render(columns: Sequence[Column], rows: Sequence[Sequence[object]], style: str) -> str:
    """The table as `text`, `markdown` or `latex`; None and nan are empty cells. Ends with a line break."""
    cells = [[_cell(value, column) for value, column in zip(row, columns, strict=True)] for row in rows]
    titles = [column.title for column in columns]
    left = [not any(isinstance(row[i], (int, float)) for row in rows) for i in range(len(columns))]
    if style == "latex":
        return _latex(titles, cells, left)
    # The rule below a heading of Markdown needs its dashes.
    least = 3 if style == "markdown" else 0
    widths = [max(least, *map(len, column)) for column in zip(titles, *cells, strict=True)]

    def line(texts: Sequence[str]) -> list[str]:
        aligned = zip(texts, widths, left, strict=True)
        return [text.ljust(width) if is_left else text.rjust(width) for text, width, is_left in aligned]

    if style == "markdown":
        rule = ["-" * w if is_left else "-" * (w - 1) + ":" for w, is_left in zip(widths, left, strict=True)]
        lines = [f"| {' | '.join(texts)} |" for texts in [line(titles), rule, *map(line, cells)]]
    else:
        lines = ["  ".join(line(texts)).rstrip() for texts in [titles, *cells]]
    return "".join(f"{text}\n" for text in lines)


def _cell(value: object, column: Column) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return format(value, column.form) if isinstance(value, (int, float)) and column.form else str(value)


def _latex(titles: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[bool]) -> str:
    shape = "".join("l" if is_left else "r" for is_left in left)
    head, *body = ([_escape(text) for text in row] for row in [titles, *rows])
    lines = [rf"\begin{{tabular}}{{{shape}}}", r"\hline", " & ".join(head) + r" \\", r"\hline"]
    lines += [" & ".join(row) + r" \\" for row in body]
    lines += [r"\hline", r"\end{tabular}"]
    return "".join(f"{line}\n" for line in lines)


def _escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
