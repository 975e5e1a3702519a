"""One table, three styles."""

import math

from hybridize.evaluate.tables import Column, render

COLUMNS = [Column("name"), Column("time s", ".1f"), Column("note")]
ROWS = [["a_b", 12.34, "50% & more"], ["c", math.nan, None]]


def test_text_is_aligned() -> None:
    assert render(COLUMNS, ROWS, "text") == ("name  time s  note\na_b     12.3  50% & more\nc\n")


def test_markdown() -> None:
    lines = render(COLUMNS, ROWS, "markdown").splitlines()
    assert lines[1] == "| ---- | -----: | ---------- |"
    assert lines[2] == "| a_b  |   12.3 | 50% & more |"


def test_a_heading_of_one_letter_has_a_rule_below_it() -> None:
    assert render([Column("p")], [[1]], "markdown").splitlines()[1] == "| --: |"


def test_latex_is_escaped() -> None:
    text = render(COLUMNS, ROWS, "latex")
    assert r"a\_b & 12.3 & 50\% \& more \\" in text
    assert text.startswith(r"\begin{tabular}{lrl}")
