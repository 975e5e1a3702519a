"""One cause is told once, where a person can act on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import Report, analyze
from hybridize.config import Config


def _report(tmp_path: Path, text: str) -> Report:
    (tmp_path / "main.py").write_text(text)
    return analyze([tmp_path], Config(jobs=1, cache=False))


_DRAWS = """\
import random
import numpy as np
import tensorflow as tf


def noise(seed=None):
    {first}
    return {then}


@tf.function
def step(x):
    return x * noise()


for _ in range(3):
    print(step(tf.ones([2])), np.random.uniform())
"""


@pytest.mark.parametrize(
    ("first", "then", "lines"),
    [
        ("np.random.seed(seed)", "np.random.uniform(0.0, 1.0)", [8]),
        ("random.seed(seed)", "random.random()", [8]),
        ("np.random.seed(seed)", "random.random()", [7, 8]),
        ("np.random.seed(seed)", "2.0", [7]),
    ],
)
def test_a_seed_is_not_told_beside_the_draw_that_it_is_for(
    tmp_path: Path, first: str, then: str, lines: list[int]
) -> None:
    found = _report(tmp_path, _DRAWS.format(first=first, then=then)).findings
    assert [each.line for each in found if each.code == "HY203"] == lines


def test_the_reason_why_a_graph_stays_one_is_no_second_warning(tmp_path: Path) -> None:
    report = _report(tmp_path, _DRAWS.format(first="pass", then="random.random()"))
    told = [each.code for each in report.findings if each.severity != "info"]
    (step,) = [each for each in report.functions if each.facts.qualname == "step"]
    assert told == ["HY203"]
    assert [s.code for s in step.statuses if s.severity != "info"] == []
    assert "HY003" in [s.code for s in step.statuses]
