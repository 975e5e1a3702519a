"""All that some things lead to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridize.closure import closure

GRAPH = {"a": ["b", "c"], "b": ["d"], "c": ["d", "a"], "d": []}


def test_each_is_given_once_and_the_first_ones_too() -> None:
    assert sorted(closure(["a"], GRAPH.__getitem__)) == ["a", "b", "c", "d"]
    assert sorted(closure(["b", "b"], GRAPH.__getitem__)) == ["b", "d"]


def test_no_more_than_are_asked_for() -> None:
    assert len(list(closure(["a"], GRAPH.__getitem__, 2))) == 2
    assert list(closure(["a"], GRAPH.__getitem__, 0)) == []


def test_nothing_is_asked_of_what_comes_behind_the_one_that_was_looked_for() -> None:
    asked: list[int] = []

    def following(each: int) -> list[int]:
        asked.append(each)
        return [each + 1]

    assert next(each for each in closure([0], following) if each == 3) == 3
    assert asked == [0, 1, 2]


@given(st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4)), st.integers(0, 8))
def test_nothing_is_left_out(graph: dict[int, list[int]], start: int) -> None:
    found = set(closure([start], lambda each: graph.get(each, [])))
    assert start in found
    assert all(found.issuperset(graph.get(each, [])) for each in found)
