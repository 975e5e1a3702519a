"""Lines of source and what is underlined in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridize.report.excerpt import Span, excerpt, reader


def drawn(line: str, column: int, end_column: int | None = None, room: int = 60) -> list[str]:
    """The line as it is shown, with the underline below it."""
    found = excerpt((line,), Span(1, column, 1, column if end_column is None else end_column), room)
    assert found is not None
    return [found.text, " " * found.start + "^" * found.length]


@pytest.mark.parametrize(
    ("line", "column", "underlined"),
    [
        ("    return tf.sqrt(x)", 12, "tf.sqrt"),
        ("    def step(self, x):", 5, "def step"),
        ("    async def step(self):", 5, "async def step"),
        ("    x = y + [1]", 13, "["),
        ("    loss = step(x)", 1, "loss = step(x)"),
        ("loss = step(x)", 1, "loss = step(x)"),
    ],
)
def test_where_only_the_beginning_is_known_a_name_or_a_statement_is_meant(
    line: str, column: int, underlined: str
) -> None:
    text, carets = drawn(line, column)
    assert text == line.strip()
    assert text[carets.index("^") : len(carets)] == underlined


def test_columns_are_bytes_and_wide_characters_take_two_places() -> None:
    line = "    größe = {'数据': tf.sqrt(x)}"
    column = len(line[: line.index("tf")].encode()) + 1
    assert drawn(line, column, column + len("tf.sqrt(x)")) == [
        "größe = {'数据': tf.sqrt(x)}",
        "                 ^^^^^^^^^^",
    ]


def test_tabs_and_control_characters_are_made_visible() -> None:
    assert drawn("\tx\t= f('\x1b[2J')", 6, 15) == ["x    = f('\\x1b[2J')", "       ^^^^^^^^^^^^"]


def test_a_long_line_is_cut_around_what_is_meant() -> None:
    line = "value = first(one, two, three, four) + second(five, six, seven, eight, nine, ten)"
    column = line.index("second") + 1
    text, carets = drawn(line, column, column + 6, room=40)
    assert text == "...ee, four) + second(five, six, seve..."
    assert text[carets.index("^") : len(carets)] == "second"


def test_what_goes_on_below_is_underlined_to_the_end_of_the_line() -> None:
    found = excerpt(("  step(", "    x)"), Span(1, 3, 2, 7), 60)
    assert found is not None
    assert (found.text, found.start, found.length) == ("step(", 0, 5)


def test_a_file_that_changed_meanwhile_shows_nothing() -> None:
    assert excerpt(("x = 1",), Span(2, 1, 2, 1), 60) is None
    assert excerpt(("x = 1", "   "), Span(2, 1, 2, 1), 60) is None


def test_a_notebook_is_read_as_the_code_of_its_cells(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": source} for source in ("a = 1\nb = 2", "c = 3")]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    read = reader(str(tmp_path), {})
    assert read("n.ipynb")[:3] == ("a = 1", "b = 2", "c = 3")
    assert read("gone.py") == ()
