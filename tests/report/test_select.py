"""`--select` and `--ignore`."""

from __future__ import annotations

import pytest

from hybridize.decide.model import Action
from hybridize.report.select import filter_report, is_selected, unknown_selectors

from .samples import SAMPLE


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ((), (), True),
        (("H102",), (), True),
        (("H1",), (), True),
        (("h1",), (), True),
        (("python-side-effects",), (), True),
        (("P1",), (), False),
        ((), ("H102",), False),
        (("H102",), ("H1",), True),
        (("H1",), ("H102",), False),
        (("ALL",), ("H",), False),
        (("H",), ("ALL",), True),
        ((), ("ALL",), False),
    ],
)
def test_the_more_specific_selector_wins(select: tuple[str, ...], ignore: tuple[str, ...], expected: bool) -> None:
    assert is_selected("H102", "python-side-effects", select, ignore) is expected


def test_without_selectors_nothing_changes() -> None:
    assert filter_report(SAMPLE, (), ()) is SAMPLE


def test_a_precondition_that_is_not_selected_changes_nothing_but_is_still_named() -> None:
    step, *_, label, _ = filter_report(SAMPLE, ("P2",), ()).functions
    assert (step.decision.action, step.decision.precondition) == (Action.KEEP, "P1")
    assert label.decision.action is Action.CONVERT_TO_EAGER


def test_statuses_and_findings_are_dropped_errors_are_not() -> None:
    report = filter_report(SAMPLE, (), ("H102", "leaked-tensor"))
    assert report.functions[1].statuses == ()
    assert report.findings == ()
    assert report.errors == SAMPLE.errors


def test_unknown_selectors_with_what_was_probably_meant() -> None:
    known = [("H102", "python-side-effects"), ("P1", "")]
    assert unknown_selectors(["H1", "all", "P1"], known) == []
    assert unknown_selectors(["H103", "python-side-effect", "xyz"], known) == [
        ("H103", "H102"),
        ("python-side-effect", "python-side-effects"),
        ("xyz", None),
    ]
