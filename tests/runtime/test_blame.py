"""Which of several changes break tests: found by halves, with as few runs as can be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hybridize.runtime.blame import Blame, Culprit, LimitReached

CHANGES = [f"c{i:02}" for i in range(16)]


class World:
    """Tests that fail where all changes of one of their sets are made; counts the runs."""

    def __init__(self, **breaks: list[set[str]]) -> None:
        self.breaks: Mapping[str, list[set[str]]] = breaks
        self.runs = 0

    def observe(self, made: frozenset[str], tests: frozenset[str]) -> frozenset[str]:
        self.runs += 1
        return frozenset(t for t in tests if any(each <= made for each in self.breaks[t]))

    def culprits(self, suspects: frozenset[str] = frozenset()) -> list[Culprit]:
        return Blame(self.observe).culprits(CHANGES, set(self.breaks), suspects)


def culprit(change: str, *tests: str) -> Culprit:
    return Culprit(change, frozenset(tests))


@pytest.mark.parametrize("wrong", CHANGES)
def test_one_culprit_takes_a_run_for_each_half_and_one_more(wrong: str) -> None:
    world = World(a=[{wrong}], b=[{wrong}])
    assert world.culprits() == [culprit(wrong, "a", "b")]
    assert world.runs <= 5


def test_a_right_suspicion_takes_two_runs_and_a_wrong_one_costs_one() -> None:
    world = World(a=[{"c03"}])
    assert world.culprits(frozenset({"c03"})) == [culprit("c03", "a")]
    assert world.runs <= 2
    world = World(a=[{"c03"}])
    assert world.culprits(frozenset({"c09"})) == [culprit("c03", "a")]
    assert world.runs <= 6


def test_independent_culprits_are_found_one_after_the_other() -> None:
    world = World(a=[{"c02"}], b=[{"c11"}], c=[{"c02"}, {"c11"}])
    assert world.culprits() == [culprit("c02", "a"), culprit("c11", "b", "c")]
    assert world.runs <= 9


def test_of_two_that_break_a_test_only_together_the_one_that_is_worth_less_goes() -> None:
    world = World(a=[{"c04", "c13"}])
    assert world.culprits() == [culprit("c13", "a")]


def test_either_of_two_that_each_break_a_test_goes() -> None:
    world = World(a=[{"c04"}, {"c13"}])
    assert {each.change for each in world.culprits()} == {"c04", "c13"}


def test_everything_may_be_wrong() -> None:
    world = World(a=[{each} for each in CHANGES])
    assert len(world.culprits()) == len(CHANGES)


def test_what_is_known_when_the_limit_is_reached() -> None:
    world = World(a=[{"c12"}])
    runs = 0

    def observe(made: frozenset[str], tests: frozenset[str]) -> frozenset[str]:
        nonlocal runs
        runs += 1
        if runs > 2:
            raise LimitReached
        return world.observe(made, tests)

    blame = Blame(observe)
    with pytest.raises(LimitReached):
        blame.culprits(CHANGES, {"a"})
    assert blame.harmless({"a"}) == set(CHANGES[:12])
