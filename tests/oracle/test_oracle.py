"""What is inferred for the parameters of small programs, against what arrived at them in a real run.

The thresholds are those of the project: at least 97% of parameters right about holding tensors; of the types that the
program determines at least 90% exact, at most 0.5% wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .corpus import families, programs, truth
from .judge import EXACT, UNKNOWN, WRONG, Score, Type, compare, judge_family, merged, read
from .judge import Verdict as Judged

#: Programs of each family that are run again under TensorFlow, and compared with what is recorded.
SAMPLE = 3


def complaints(bad: list[Judged]) -> str:
    return "\n".join(f"{v.place}: recorded {v.recorded}, inferred {v.inferred}" for v in bad)


@pytest.mark.parametrize("every", [10, pytest.param(2, marks=pytest.mark.slow)], ids=("some", "half"))
def test_thresholds(every: int) -> None:
    """Over the programs the project's promises hold, and no family is far behind the others."""
    whole, bad = Score(), []
    for family in families():
        score, found = judge_family(family, every)
        if score.programs >= 10:
            assert score.right / score.parameters >= 0.93, complaints([v for v in found if not v.tensor_right])
            assert score.share(WRONG) <= 0.02, complaints([v for v in found if v.types == WRONG])
            assert score.share(EXACT) >= 0.84, complaints([v for v in found if v.types == UNKNOWN])
        whole.merge(score)
        bad += found
    assert whole.programs >= 1000 / every
    assert whole.right / whole.parameters >= 0.97, complaints([v for v in bad if not v.tensor_right])
    assert whole.share(WRONG) <= 0.005, complaints([v for v in bad if v.types == WRONG])
    assert whole.share(EXACT) >= 0.90, complaints([v for v in bad if v.types == UNKNOWN])


@pytest.mark.parametrize("family", families())
def test_truth_is_that_of_the_programs(family: str) -> None:
    """Whoever changes a program records it again."""
    recorded = truth(family)
    assert {p.name: p.digest for p in programs(family)} == {name: e["digest"] for name, e in recorded.items()}
    assert [name for name, entry in recorded.items() if "error" in entry] == []


@pytest.mark.tensorflow
@pytest.mark.slow
def test_recorded_truth_still_holds(tmp_path: Path) -> None:
    """A sample of each family, run again: the same types arrive.

    In a process of its own: a fork of one that has run operations may wait for their threads for ever.
    """
    pytest.importorskip("tensorflow")
    root, out = Path(__file__).parents[2], tmp_path / "sample.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "tests.oracle.record", "--sample", str(SAMPLE), str(out)]
    subprocess.run(command, cwd=root, env=environment, check=True, timeout=600, capture_output=True)
    fresh = json.loads(out.read_text(encoding="utf-8"))
    assert set(fresh) == set(families())
    for family, entries in fresh.items():
        known = truth(family)
        ran = {name: entry for name, entry in entries.items() if "timed out" not in entry.get("error", "")}
        assert len(ran) > len(entries) / 2  # on a busy machine some may not end in time
        assert ran == {name: known[name] for name in ran}


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
