"""`# hybridize: ignore[CODE] -- reason`."""

import pytest

from hybridize.source import Suppression, find_suppressions


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
    assert find_suppressions(f"x = 1\ny = 2  {comment}\n") == {2: expected}


@pytest.mark.parametrize(
    "comment", ["# hybridize: ignored", "# hybridize: ignore this line", "# see hybridize: ignore"]
)
def test_what_only_looks_like_one(comment: str) -> None:
    assert find_suppressions(comment) == {}


def test_strings_are_no_comments() -> None:
    assert find_suppressions("x = '''\n# hybridize: ignore[R1]\n'''  # hybridize: ignore[R2]\n") == {
        3: Suppression(frozenset({"R2"}))
    }


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
