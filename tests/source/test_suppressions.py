"""`# hybridize: ignore[CODE] -- reason`."""

import pytest

from hybridize.source import Suppression, find_suppressions, spread


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# hybridize: ignore[R1]", Suppression(frozenset({"R1"}))),
        (
            "# hybridize: ignore[r1, R2 ,] -- printed on purpose ",
            Suppression(frozenset({"R1", "R2"}), "printed on purpose"),
        ),
        ("#hybridize:ignore", Suppression(None)),
        ("# hybridize: ignore -- all of it", Suppression(None, "all of it")),
        ("# noqa # hybridize: ignore[R1] # type: ignore", Suppression(frozenset({"R1"}))),
        ("# hybridize: ignore[]", Suppression(frozenset())),
    ],
)
def test_forms(comment: str, expected: Suppression) -> None:
    found = find_suppressions(f"x = 1\ny = 2  {comment}\n")
    assert {line: (each.codes, each.reason) for line, each in found.items()} == {2: (expected.codes, expected.reason)}


@pytest.mark.parametrize(
    "comment", ["# hybridize: ignored", "# hybridize: ignore this line", "# see hybridize: ignore"]
)
def test_what_only_looks_like_one(comment: str) -> None:
    assert find_suppressions(comment) == {}


def test_strings_are_no_comments() -> None:
    found = find_suppressions("x = '''\n# hybridize: ignore[R1]\n'''  # hybridize: ignore[R2]\n")
    assert {line: each.codes for line, each in found.items()} == {3: frozenset({"R2"})}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_parser(newline: str) -> None:
    text = newline.join(["s = '\x0c\x1c\u2028'", "\f", "x  # hybridize: ignore"])
    assert list(find_suppressions(text)) == [3]


def test_a_broken_file_gives_what_came_before() -> None:
    assert list(find_suppressions("x  # hybridize: ignore\ny = (\n")) == [1]


def test_covers() -> None:
    assert Suppression(None).covers("R1")
    assert Suppression(frozenset({"R1"})).covers("r1")
    assert not Suppression(frozenset({"R1"})).covers("R2")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\ny = 2  # hybridize: ignore\nz = 3\n", (2, 2)),
        ("x = 1\n# hybridize: ignore\n\ny = 2\nz = 3\n", (4, 4)),
        ("# hybridize: ignore\nimport a\nx = 1\n", (1, 4)),
        ("#!/usr/bin/env python\n# hybridize: ignore -- old\n\nVERSION = 1\nx = 1\n", (1, 6)),
    ],
    ids=["behind code", "before a line", "before the file", "after a shebang"],
)
def test_where_it_stands_says_what_it_holds_for(text: str, lines: tuple[int, int]) -> None:
    (found,) = find_suppressions(text).values()
    assert (found.first, found.last) == lines


def test_on_a_header_it_holds_for_the_whole_definition() -> None:
    text = "import a\ndef f(\n    x,\n):  # hybridize: ignore\n    return x\n"
    (found,) = spread(find_suppressions(text), [(2, 4, 5)])
    assert (found.first, found.last) == (2, 5)
