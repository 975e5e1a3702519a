"""Colours and paths."""

from __future__ import annotations

import io
import os

import pytest

from hybridize.report.paths import displayer, relative_to_root
from hybridize.report.style import one_line, wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_only_where_it_is_wanted(environ: dict[str, str], terminal: bool, expected: bool) -> None:
    assert wants_colour(Terminal() if terminal else io.StringIO(), environ) is expected


def test_paths_in_data_are_relative_to_the_root() -> None:
    assert relative_to_root("/a/b/c.py", "/a") == "b/c.py"
    assert relative_to_root("b/c.py", "/a") == "b/c.py"
    assert relative_to_root("/x/c.py", "/a/b") == "../../x/c.py"


def test_paths_in_text_are_the_shortest_that_can_be_opened() -> None:
    assert displayer("/a/b", "/a")("c.py") == os.path.join("b", "c.py")
    assert displayer("/a/b", "/a/b")("c.py") == "c.py"
    assert displayer("/a", "/z/y/x/w")("c.py") == "/a/c.py"


def test_one_line() -> None:
    assert one_line("a\n\tb\x00c \u2028 caf\xe9") == "a b\\x00c   caf\xe9"
