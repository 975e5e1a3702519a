"""How text is laid out."""

from __future__ import annotations

from hybridize.report.layout import Page, ordered
from hybridize.report.style import Style

NARROW = Page(30)


def test_a_paragraph_hangs_below_its_beginning() -> None:
    assert NARROW.paragraph("one two three four five six seven", first="  1  ") == (
        "  1  one two three four five\n     six seven\n"
    )


def test_paths_are_never_broken() -> None:
    path = "a/path/that/is/longer/than-the-whole-line.py:12"
    assert NARROW.paragraph(f"see {path} there") == f"see\n{path}\nthere\n"


def test_paint_takes_no_room() -> None:
    painted = Page(30, Style(True)).paragraph("one two three four five six seven", lead="one two", colour="red")
    assert painted == "\x1b[31mone two\x1b[0m three four five six\nseven\n"
    line = "  - \x1b[31mone\x1b[0m two three four five\n"
    assert NARROW.fold(line) == line


def test_lines_that_are_laid_out_go_on_deeper_where_they_are_too_long() -> None:
    text = "title\n  1. one two three four five six\n     next\n"
    assert NARROW.fold(text) == "title\n  1. one two three four five\n      six\n     next\n"
    assert NARROW.fold("\n") == "\n"


def test_the_width_has_its_limits() -> None:
    assert [Page(columns).width for columns in (5, 77, 500)] == [30, 77, 120]


def test_commands_stand_beside_what_they_do_where_all_fit() -> None:
    pairs = [("do", "this"), ("do --more", "that")]
    assert "".join(Page(80).commands(pairs)) == "  do         this\n  do --more  that\n"
    long = [("do", "this"), ("do --more --and-more", "that and that")]
    assert "".join(NARROW.commands(long)) == "  do\n      this\n  do --more --and-more\n      that and that\n"


def test_what_is_left_out_is_counted() -> None:
    assert list(ordered(("a\n", "b\n"), 2, "things", NARROW)) == ["a\n", "b\n"]
    assert list(ordered(("a\n", "b\n", "c\n"), 1, "things", Page())) == ["a\n", "  ... and 2 more things (--all)\n"]
