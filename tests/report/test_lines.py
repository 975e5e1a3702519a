"""The format of one line per place: concise."""

from __future__ import annotations

from dataclasses import replace

from hybridize.report.lines import concise, count_line

from .samples import CLEAN, SAMPLE


def test_concise() -> None:
    assert concise(SAMPLE, str).splitlines() == [
        "trainer.py:42:5: P1 convert `Trainer.step` to hybrid: the graph is about 3.2 times as fast as eager code; "
        "takes tensors (images, labels), no side effect or retracing",
        "trainer.py:61:5: H102 keep `Trainer.fit` eager: appends to `self.losses` (line 88), through `log` -> `record`",
        "trainer.py:95:5: H201 keep `Trainer.loss` eager: all callers run as graphs",
        "util/names.py:7:1: P2 convert `label` to eager: no tensor reaches it: its graph does nothing for it",
        "util/names.py:8:5: TF301 a tensor of the trace leaves it",
        "broken.py:3:1: E999 invalid syntax",
        "1 to hybrid, 1 to eager, 2 kept; 1 finding, 1 error",
    ]


def test_quiet_concise_is_what_sets_the_exit_code() -> None:
    assert [line.split()[1] for line in concise(SAMPLE, str, quiet=True).splitlines()] == ["P1", "P2", "TF301", "E999"]
    assert concise(CLEAN, str, quiet=True) == ""


def test_counts_of_nothing() -> None:
    assert count_line(replace(CLEAN, functions=())) == "nothing to report"
