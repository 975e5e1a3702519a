"""One cause is told once, where a person can act on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import Report, analyze, check
from hybridize.config import Config
from hybridize.records import replace


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


_STALE = """\
import numpy as np
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.rate = 1.0
        self.scale = 1.0
        self.kept = np.zeros(3)

    def plan(self, k):
        self.rate = 1.0 / k
        self.scale = 2.0 * k

    @tf.function
    def step(self, x):
        self.kept = np.random.rand(3)
        return x * self.rate + self.scale + self.kept

    @tf.function
    def check(self, x):
        return x * self.rate


trainer = Trainer()
for k in range(1, 4):
    for _ in range(100):
        trainer.step(tf.ones([3]))
    trainer.check(tf.ones([3]))
    trainer.plan(k)
    print(trainer.kept)
"""


def _loud(report: Report) -> list[tuple[str, int, list[tuple[str, int]]]]:
    """Errors and warnings, each with what is told with it: codes and lines."""
    return [
        (each.code, each.line, [(step.message.split()[0], step.line) for step in each.also])
        for each in report.findings
        if each.severity != "info"
    ]


def test_what_comes_of_one_cause_is_told_with_it(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(_STALE)
    config = Config(jobs=1, cache=False)
    drawn = ("HY203", 17, [("HY206", 17)])
    # One call writes both fields, and the graph of the second function reads what makes the first one stale.
    stale = ("HY602", 18, [("HY602", 18), ("HY602", 22)])
    assert _loud(check([tmp_path], config)) == [drawn, stale]
    # What is ignored stands for nothing.
    assert _loud(check([tmp_path], replace(config, ignore=("HY203",)))) == [("HY206", 17, []), stale]


def test_what_has_a_remedy_of_its_own_is_told_by_itself(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        """\
import random
import tensorflow as tf

rate = 1.0
shift = 1.0


def set_rate(k):
    global rate
    rate = k


def set_shift(k):
    global shift
    shift = k


@tf.function
def step(x):
    noise = random.random()
    return x * rate + shift + noise


for k in range(3):
    for _ in range(100):
        step(tf.ones([3]))
    set_rate(float(k))
    set_shift(2.0 * k)
"""
    )
    found = _loud(check([tmp_path], Config(jobs=1, cache=False)))
    assert sorted(found) == [("HY203", 20, []), ("HY602", 21, []), ("HY602", 21, [])]


def test_what_ends_the_trace_is_told_where_it_ends_first(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        """\
import numpy as np
import tensorflow as tf


@tf.function
def kernel(x):
    r = np.sqrt(x + 1.0)
    return np.exp(-r)


@tf.function(autograph=False)
def total(n):
    found = 0
    for i in range(n):
        found += i
    return found


print(kernel(tf.ones([3])), total(tf.constant(3)))
"""
    )
    found = check([tmp_path], Config(jobs=1, cache=False))
    assert _loud(found) == [("HY340", 7, [("HY340", 8)]), ("HY230", 14, [("HY230", 14)])]
