"""What is inferred for the parameters of small programs, against what arrived at them in a real run.

The thresholds are those of the project: at least 97% of parameters right about holding tensors; of the types that the
program determines at least 90% exact, at most 0.5% wrong.
"""

from __future__ import annotations

import functools

import pytest

from .corpus import Program, families, programs, truth
from .judge import EXACT, UNKNOWN, WRONG, Score, Type, compare, judge_family, merged, read
from .judge import Verdict as Judged

#: Programs of each family that are run again under TensorFlow, and compared with what is recorded.
SAMPLE = 12


@functools.cache
def judged(family: str) -> tuple[Score, list[Judged]]:
    """The score of a family, once."""
    return judge_family(family)


def complaints(bad: list[Judged]) -> str:
    return "\n".join(f"{v.place}: recorded {v.recorded}, inferred {v.inferred}" for v in bad)


def test_thresholds() -> None:
    """Over all programs the project's promises hold."""
    whole, bad = Score(), []
    for family in families():
        score, found = judged(family)
        whole.merge(score)
        bad += found
    assert whole.right / whole.parameters >= 0.97, complaints([v for v in bad if not v.tensor_right])
    assert whole.share(WRONG) <= 0.005, complaints([v for v in bad if v.types == WRONG])
    assert whole.share(EXACT) >= 0.90, complaints([v for v in bad if v.types == UNKNOWN])


@pytest.mark.parametrize("family", families())
def test_family(family: str) -> None:
    """No family is far behind the others."""
    score, bad = judged(family)
    assert score.right / score.parameters >= 0.93, complaints([v for v in bad if not v.tensor_right])
    assert score.share(WRONG) <= 0.02, complaints([v for v in bad if v.types == WRONG])
    assert score.share(EXACT) >= 0.84, complaints([v for v in bad if v.types == UNKNOWN])


def test_there_are_enough_programs() -> None:
    """A thousand programs or more, each of which ran when it was recorded."""
    assert sum(judged(family)[0].programs for family in families()) >= 1000


@pytest.mark.parametrize("family", families())
def test_truth_is_that_of_the_programs(family: str) -> None:
    """Whoever changes a program records it again."""
    recorded = truth(family)
    assert {p.name: p.digest for p in programs(family)} == {name: e["digest"] for name, e in recorded.items()}
    assert [name for name, entry in recorded.items() if "error" in entry] == []


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("family", families())
def test_recorded_truth_still_holds(family: str) -> None:
    """A sample of each family, run again: the same types arrive."""
    pytest.importorskip("tensorflow")
    from .record import record_all

    every = programs(family)
    chosen: list[Program] = every[:: max(len(every) // SAMPLE, 1)]
    known = truth(family)
    fresh = record_all(chosen)
    ran = [p for p in chosen if "timed out" not in fresh[family, p.name].get("error", "")]  # a busy machine
    assert len(ran) > len(chosen) / 2
    assert {p.name: fresh[family, p.name] for p in ran} == {p.name: known[p.name] for p in ran}


def test_comparison() -> None:
    two, four = Type("float32", (2, 3)), Type("float32", (4, 3))
    assert read("float32[2,3] | ndarray:float32[4,3]") == {two, four}
    assert compare(frozenset([two]), frozenset([two])) == EXACT
    assert compare(frozenset([Type("float32", (None, 3))]), frozenset([two, four])) == EXACT
    assert compare(frozenset([Type("float32", (None, 3))]), frozenset([two])) == UNKNOWN
    assert compare(frozenset([Type(None, None)]), frozenset([two])) == UNKNOWN
    assert compare(frozenset([two]), frozenset([four])) == WRONG
    assert compare(frozenset([two, four]), frozenset([two])) == WRONG
    assert merged(frozenset([two, four])) == {Type("float32", (None, 3))}
