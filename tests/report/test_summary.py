"""The numbers, and whether there is something to report."""

from __future__ import annotations

from dataclasses import replace

from hybridize.decide.model import Action, Decision, FileError, FunctionReport, Report, Severity
from hybridize.facts.model import Mode
from hybridize.report.summary import has_something_to_report, summarize

from .samples import CLEAN, CONVERT, FINDING, KEEP, SAMPLE, facts, status


def hybrid(severity: Severity) -> FunctionReport:
    return FunctionReport(facts("a:f", 1, mode=Mode.HYBRID), Decision(Action.KEEP), (status(severity=severity),))


def test_counts() -> None:
    summary = summarize(SAMPLE)
    assert (summary.functions, summary.candidates, summary.hybrid) == (5, 4, 1)
    assert summary.actions == {
        Action.CONVERT_TO_HYBRID: 1,
        Action.CONVERT_TO_EAGER: 1,
        Action.RECONFIGURE: 0,
        Action.KEEP: 2,
    }
    assert [(count.code, count.number) for count in summary.passed] == [("P1", 2), ("P2", 1)]
    assert [(count.code, count.number) for count in summary.failed] == [("H102", 1)]
    assert [(count.code, count.number) for count in summary.left_out] == [("H201", 1)]


def test_a_function_counts_once_per_reason_and_serious_reasons_come_first() -> None:
    both = (status(), status(line=70), status("H300", "hint", severity=Severity.INFO))
    (count,) = summarize(replace(SAMPLE, functions=(FunctionReport(KEEP.facts, KEEP.decision, both),))).failed
    assert (count.code, count.number) == ("H102", 1)


def test_something_to_report() -> None:
    def says(report: Report) -> bool:
        return has_something_to_report(report)

    assert not says(CLEAN)
    assert not says(replace(CLEAN, functions=(KEEP,)))  # an eager function that stays eager is no defect
    assert says(replace(CLEAN, functions=(CONVERT,)))
    assert says(replace(CLEAN, functions=(hybrid(Severity.WARNING),)))
    assert not says(replace(CLEAN, functions=(hybrid(Severity.INFO),)))
    assert says(replace(CLEAN, findings=(FINDING,)))
    assert not says(replace(CLEAN, findings=(replace(FINDING, severity=Severity.INFO),)))
    assert says(replace(CLEAN, errors=(FileError("a.py", 1, "bad"),)))
    assert says(replace(CLEAN, missing=("gone",)))
