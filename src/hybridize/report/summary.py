"""The numbers of a report: by action, by precondition, by reason; and whether there is something to report."""

from __future__ import annotations

from collections import Counter
from typing import Final

from hybridize.decide.model import Action, FunctionReport, Report, Severity, Status
from hybridize.facts.model import Mode
from hybridize.records import dataclass
from hybridize.report.paths import all_errors
from hybridize.source.roles import is_test_path

SERIOUS = (Severity.ERROR, Severity.WARNING)


@dataclass(frozen=True, slots=True)
class Count:
    """How often a code occurs: `number` functions (or findings)."""

    code: str
    name: str
    number: int


#: The repair that replaces an `input_signature` which rejects calls of the program.
_P5: Final = "HY813"


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a report; every list of counts is ordered by number, the most frequent first.

    `actions` counts candidates only. `passed` says how many functions pass each precondition. `failed` counts the
    reasons of candidates that pass none, `left_out` those of functions that pass one and are kept as they are; a
    function counts once per code.
    """

    files: int
    lines: int
    seconds: float
    functions: int
    hybrid: int
    candidates: int
    actions: dict[Action, int]
    passed: tuple[Count, ...]
    failed: tuple[Count, ...]
    left_out: tuple[Count, ...]
    findings: tuple[Count, ...]
    assumptions: int
    errors: int


def summarize(report: Report) -> Summary:
    """Count what a report holds."""
    candidates = [function for function in report.functions if is_candidate(function)]
    kept = [function for function in candidates if function.decision.action is Action.KEEP]
    passed = Counter((f.decision.precondition, "") for f in candidates if f.decision.precondition)
    rejecting = {bundle.function for bundle in report.repairs if any(r.code == _P5 for r in bundle.repairs)}
    if rejecting:  # the precondition of an unsafe change is a repair
        passed["P5", ""] = len(rejecting)
    return Summary(
        files=report.project.files,
        lines=report.project.lines,
        seconds=report.project.seconds,
        functions=len(report.functions),
        hybrid=sum(function.facts.mode is Mode.HYBRID for function in report.functions),
        candidates=len(candidates),
        actions={action: sum(f.decision.action is action for f in candidates) for action in Action},
        passed=tuple(Count(code, name, number) for (code, name), number in sorted(passed.items())),
        failed=_count_reasons([function for function in kept if function.decision.precondition is None]),
        left_out=_count_reasons([function for function in kept if function.decision.precondition is not None]),
        findings=_counts(Counter((finding.code, finding.name) for finding in report.findings)),
        assumptions=len(report.assumptions),
        errors=len(all_errors(report)),
    )


def ranking(report: Report) -> list[FunctionReport]:
    """The plan: every function to change, code before tests, the greatest gain first, then those of unknown gain."""
    chosen = [function for function in report.functions if function.decision.action is not Action.KEEP]
    return sorted(chosen, key=lambda f: (is_test_path(f.facts.path), -_factor(f), f.facts.path, f.facts.line))


def _factor(function: FunctionReport) -> float:
    """How many times as fast as now the function is expected to be; 0: not known."""
    benefit, action = function.decision.benefit, function.decision.action
    if benefit is None or action is Action.RECONFIGURE:
        return 0.0
    if action is Action.CONVERT_TO_HYBRID:
        return benefit
    return 1 / benefit if 0 < benefit < 1 else 0.0


def reasons(function: FunctionReport) -> tuple[Status, ...]:
    """The statuses that say why: of those to tell the serious ones, or all where none is serious."""
    serious = tuple(status for status in function.told if status.severity in SERIOUS)
    return serious or function.told


def is_candidate(function: FunctionReport) -> bool:
    """Whether a function is shown by default: a candidate, or one that is to be changed all the same."""
    return function.facts.candidate or function.decision.action is not Action.KEEP


def has_something_to_report(report: Report) -> bool:
    """Whether `check` exits with 1.

    That is: a change to make, a serious status on a hybrid function, a serious finding, or an error. Why an eager
    function stays eager is information, not a defect.
    """
    return (
        any(_is_reportable(function) for function in report.functions)
        or any(finding.severity in SERIOUS for finding in report.findings)
        or bool(report.errors or report.missing)
    )


def _is_reportable(function: FunctionReport) -> bool:
    if function.decision.action is not Action.KEEP:
        return True
    return function.facts.mode is Mode.HYBRID and any(status.severity in SERIOUS for status in function.statuses)


def _count_reasons(functions: list[FunctionReport]) -> tuple[Count, ...]:
    codes: Counter[tuple[str, str]] = Counter()
    for function in functions:
        codes.update({(status.code, status.name) for status in reasons(function)})
    return _counts(codes)


def _counts(codes: Counter[tuple[str, str]]) -> tuple[Count, ...]:
    ordered = sorted(codes.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Count(code, name, number) for (code, name), number in ordered)
