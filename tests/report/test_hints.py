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


TWO = """\
import tensorflow as tf

class Model:
    def __init__(self):
        self.steps = 0

    @tf.function(experimental_relax_shapes=True)
    def step(self, x, n):
        print("first", x)
        self.steps += 1
        return x * n

model = Model()
for i in range(9):
    model.step(tf.ones([2]), i), print(model.steps)
"""


def test_a_finding_has_the_repairs_of_its_own_place(tmp_path: Path) -> None:
    """Safe or not as the repair that takes it away; what another repair answers elsewhere is none of its business."""
    (tmp_path / "program.py").write_text(TWO)
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.9\n")
    report = analyze([tmp_path], Config())
    made = {cause: repair.safe for b in report.repairs for repair in b.repairs for cause in repair.causes}
    words = {True: "safe", False: "unsafe", None: None}
    found = [(f.code, f.line, f.fix) for f in report.findings]
    assert found == [(f.code, f.line, words[made.get((f.code, f.path, f.line, f.column))]) for f in report.findings]
    assert {(code, fix) for code, _, fix in found} == {
        ("HY271", "safe"),
        ("HY201", "unsafe"),
        ("HY206", "unsafe"),
        ("HY101", "unsafe"),
    }


def test_nothing_is_said_of_repairs_that_nobody_looked_for(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TWO)
    assert {f.fix for f in analyze([tmp_path], Config(), repairs=False).findings} == {None}
