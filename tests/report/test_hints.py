"""Which repairs are hinted at, and what findings say of theirs."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.report.hints import promising

PROGRAM = """\
import tensorflow as tf

class Counter:
    def __init__(self):
        self.seen = 0

    def small(self, x):
        self.seen += 1
        return x + 1.0

    def large(self, x):
        self.seen += 1
        for _ in range(30):
            x = tf.sin(x) * 0.5 + 1.0
        return x

    @tf.function
    def prints(self, x):
        print("x is", x)
        return tf.sin(x)

counter = Counter()
for i in range(1000):
    counter.small(tf.ones([2]) * i), counter.large(tf.ones([2]) * i), counter.prints(tf.ones([2]) * i)
"""


def test_no_repair_is_hinted_at_where_a_graph_would_not_pay(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    report = analyze([tmp_path], Config())
    assert {bundle.qualname for bundle in report.repairs} == {"Counter.small", "Counter.large", "Counter.prints"}
    assert {bundle.qualname for bundle in promising(report)} == {"Counter.large", "Counter.prints"}


def test_a_finding_says_what_its_repair_is(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert [(f.code, f.fix) for f in analyze([tmp_path], Config()).findings] == [("HY201", "unsafe")]
