"""What is said of repairs that are not applied."""

from __future__ import annotations

from hybridize.decide.model import ProjectInfo, Report
from hybridize.repairing import _of_the_source
from hybridize.repairs.model import Bundle


def test_functions_that_only_a_dropped_repair_would_make_are_not_named() -> None:
    report = Report(ProjectInfo("/project", 1, 9, 0.0))
    names = ("_step_graph", "step", "<module>")
    left = [(Bundle(f"a:{name}", "a.py", 3, name, (), ()), "it would not become hybrid even so") for name in names]
    assert [b.qualname for b, _ in _of_the_source(left, report, ["a:step"])] == ["step", "<module>"]
