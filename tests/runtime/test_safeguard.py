"""Changes are made, tests run, what breaks one is taken back: the course of a trial, with tests that are made up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import pytest

from hybridize.runtime.command import Ran
from hybridize.runtime.safeguard import Outcome, Safeguard, Suspect, Unfit, slower
from hybridize.runtime.suite import WHOLE, Results, Test

CHANGES = ["a", "b", "c", "d", "e", "f"]
SUSPECTS = {name: Suspect(f"{name}.py", name) for name in CHANGES}
Rule = Callable[["Project"], bool]


@dataclass
class Project:
    """A project and its tests: a test fails where its rule says so. It is its own suite."""

    rules: Mapping[str, Rule]
    by_test: bool = True
    crash: Rule = lambda project: False
    made: frozenset[str] = frozenset()
    full: int = 0  # runs of all tests
    runs: int = 0
    history: list[frozenset[str]] = field(default_factory=list)
    command = "check"

    def make(self, changes: frozenset[str]) -> None:
        self.made = changes

    def run(self, timeout: float | None = None, only: Collection[str] | None = None) -> Results:
        self.runs += 1
        self.full += only is None
        self.history.append(self.made)
        names = [name for name in self.rules if only is None or name in only]
        if not self.by_test:
            return Results(Ran(int(any(self.rules[name](self) for name in names)), 1.0))
        tests = {}
        for name in names:
            failed = self.rules[name](self)
            tests[name] = Test("failed" if failed else "passed", 1.0, f"{name} broke" if failed else "")
            if failed and self.crash(self):
                return Results(Ran(-11, 1.0), tests)
        return Results(Ran(int(any(t.outcome == "failed" for t in tests.values())), 1.0), tests)


def breaks(*changes: str) -> Rule:
    return lambda project: set(changes) <= project.made


def keep(project: Project, limit: int = 50) -> Outcome:
    outcome = Safeguard(project, project.make, limit).keep(CHANGES, SUSPECTS)  # type: ignore[arg-type]
    assert outcome.runs == project.runs
    return outcome


def taken(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    return {each.change: each.tests for each in outcome.taken}


def never(project: Project) -> bool:
    return False


def test_where_nothing_breaks_two_runs_are_enough() -> None:
    project = Project({"t": never})
    outcome = keep(project)
    assert (outcome.taken, outcome.runs, project.made) == ((), 2, frozenset(CHANGES))


@pytest.mark.parametrize("by_test", [True, False])
def test_the_culprit_is_taken_back_and_the_rest_is_kept(by_test: bool) -> None:
    project = Project({"t": breaks("d"), "u": never}, by_test)
    outcome = keep(project)
    assert taken(outcome) == {"d": ("t",) if by_test else (WHOLE,)}
    assert outcome.taken[0].message == ("t broke" if by_test else "exit code 1")
    assert project.made == set(CHANGES) - {"d"}


def test_while_the_culprit_is_looked_for_only_the_failing_tests_run() -> None:
    project = Project({"t": breaks("d"), "u": never})
    keep(project)
    assert project.full == 3  # before, with all changes, and with those that are kept


@pytest.mark.parametrize("by_test", [True, False])
def test_two_independent_culprits(by_test: bool) -> None:
    project = Project({"t": breaks("a"), "u": breaks("e")}, by_test)
    assert set(taken(keep(project))) == {"a", "e"}
    assert project.made == set(CHANGES) - {"a", "e"}


def test_of_a_pair_that_breaks_a_test_together_one_is_kept() -> None:
    project = Project({"t": breaks("b", "e")})
    assert taken(keep(project)) == {"e": ("t",)}
    assert project.made == set(CHANGES) - {"e"}


def test_a_change_that_needs_one_that_is_taken_back_goes_too() -> None:
    project = Project({"t": breaks("b"), "u": lambda p: "e" in p.made and "b" not in p.made})
    assert taken(keep(project)) == {"b": ("t",), "e": ("u",)}


def test_tests_that_failed_before_do_not_count() -> None:
    project = Project({"t": lambda p: True, "u": breaks("c")})
    outcome = keep(project)
    assert (taken(outcome), outcome.before.failed) == ({"c": ("u",)}, {"t"})


def test_a_test_that_fails_now_and_then_is_told_and_blames_nobody() -> None:
    project = Project({"t": lambda p: p.runs in (2, 4), "u": never})  # 4: again without any change
    outcome = keep(project)
    assert (outcome.taken, outcome.flaky, project.made) == ((), ("t",), frozenset(CHANGES))


def test_a_test_that_failed_once_is_no_reason() -> None:
    project = Project({"t": lambda p: p.runs == 2, "u": never})
    outcome = keep(project)
    assert (outcome.taken, project.made, outcome.after.failed) == ((), frozenset(CHANGES), frozenset())


def test_a_test_that_fails_only_among_the_others_is_judged_among_them() -> None:
    alone: list[bool] = []
    project = Project({"t": lambda p: "c" in p.made and not alone, "u": never})
    run = project.run

    def noted(timeout: float | None = None, only: Collection[str] | None = None) -> Results:
        alone[:] = [True] if only is not None else []
        return run(timeout, only)

    project.run = noted  # type: ignore[method-assign]
    assert taken(keep(project)) == {"c": ("t",)}
    assert project.made == set(CHANGES) - {"c"}


def test_what_ends_the_process_is_the_test_that_ran() -> None:
    project = Project({"t": breaks("b"), "u": never}, crash=breaks("b"))
    outcome = keep(project)
    assert taken(outcome) == {"b": ("t",)}
    assert outcome.after.passed == {"t", "u"}


def test_a_test_that_is_none_any_more_counts_as_failing() -> None:
    class Fewer(Project):
        def run(self, timeout: float | None = None, only: Collection[str] | None = None) -> Results:
            results = super().run(timeout, only)
            gone = {"t"} if "f" in self.made else set()
            return Results(results.ran, {n: t for n, t in (results.tests or {}).items() if n not in gone})

    outcome = keep(Fewer({"t": never, "u": never}))
    assert taken(outcome) == {"f": ("t",)}
    assert outcome.taken[0].message == "it is not run any more"


@pytest.mark.parametrize(
    ("project", "why"),
    [
        (Project({"t": lambda p: True}, by_test=False), "`check` fails without any change (exit code 1)"),
        (Project({"t": lambda p: True}), "`check` passes no test without any change (exit code 1: t: t broke)"),
        (Project({"t": never, "u": lambda p: True}, crash=lambda p: True), "`check` fails without any change (killed"),
        (Project({"t": lambda p: p.runs in (2, 4)}, by_test=False), "`check` passes and fails without any change"),
    ],
    ids=["a failing command", "no test that passes", "a crash", "a command that fails now and then"],
)
def test_what_cannot_judge_is_told_and_nothing_is_kept(project: Project, why: str) -> None:
    with pytest.raises(Unfit) as caught:
        keep(project)
    assert str(caught.value).startswith(why)


def test_a_command_that_failed_once_is_asked_again() -> None:
    project = Project({"t": lambda p: p.runs == 2}, by_test=False)
    outcome = keep(project)
    assert (outcome.taken, outcome.flaky, project.made) == ((), (WHOLE,), frozenset(CHANGES))


def test_at_the_limit_of_runs_what_is_known_to_be_harmless_stays() -> None:
    project = Project({"t": breaks("f")})
    outcome = keep(project, limit=5)
    assert outcome.limited
    assert project.made == set("abc")
    assert {each.change for each in outcome.taken} == set("def")
    assert "within 5 runs" in outcome.taken[0].message
    assert outcome.after.passed == {"t"}


def test_at_the_limit_of_runs_nothing_stays_where_nothing_is_known() -> None:
    project = Project({"t": breaks("f")})
    assert set(taken(keep(project, limit=2))) == set(CHANGES)
    assert project.made == frozenset()


def test_where_everything_is_wrong_everything_is_taken_back() -> None:
    project = Project({"t": lambda p: bool(p.made)})
    outcome = keep(project)
    assert (set(taken(outcome)), project.made, outcome.after) == (set(CHANGES), frozenset(), outcome.before)


def test_slower_is_what_one_would_notice() -> None:
    def took(*seconds: float) -> Results:
        return Results(Ran(0, 1.0), {f"t{i}": Test("passed", s) for i, s in enumerate(seconds)})

    assert slower(took(10, 10), took(10, 11.5)) is None  # 7.5%
    assert slower(took(1, 1), took(1, 1.9)) is None  # less than a second
    found = slower(took(10, 1), took(10.5, 3))
    assert found is not None
    assert (round(found.part, 3), found.worst) == (0.227, (("t1", 2.0), ("t0", 0.5)))
