"""A report as a flat list of places with a sentence each: what line-oriented formats print."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from hybridize.decide.model import Action, Finding, FunctionReport, Report, Severity, Status
from hybridize.facts.model import Evidence, Mode
from hybridize.records import dataclass, replace
from hybridize.report.paths import all_errors
from hybridize.report.style import one_line
from hybridize.report.summary import SERIOUS, is_candidate, reasons
from hybridize.report.words import promise, reason, sentence

SYNTAX_ERROR = "E999"


class Kind(StrEnum):
    """What an item comes from: the decision on a function, one of its statuses, a finding, or an error."""

    DECISION = "decision"
    STATUS = "status"
    FINDING = "finding"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Item:
    """One place (lines and columns from 1, the end exclusive) and what is to be said of it."""

    kind: Kind
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    severity: Severity
    code: str
    name: str
    message: str
    function: str | None = None
    evidence: tuple[Evidence, ...] = ()


def items(report: Report, *, every: bool = False, display: Callable[[str], str] = str) -> Iterator[Item]:
    """Changes to make, serious statuses of hybrid functions, findings and errors, in the order of the report.

    With `every`, also why each other candidate is kept. `display` writes the paths that messages name.
    """
    for function in report.functions:
        yield from _function_items(function, every, display)
    yield from map(_finding_item, report.findings)
    for error in all_errors(report):
        line = max(error.line, 1)
        message = one_line(error.message)
        yield Item(Kind.ERROR, error.path, line, 1, line, 1, Severity.ERROR, SYNTAX_ERROR, "unreadable-file", message)


def only_items(report: Report, wanted: Callable[[Item], bool]) -> Report:
    """The report with those of its items that are wanted, asked in their order; errors stay.

    A function whose change is not wanted stays in the report and is kept as it is.
    """
    functions = []
    for function in report.functions:
        decision, statuses = function.decision, function.statuses
        if decision.action is not Action.KEEP and not wanted(_decision_item(function)):
            decision = replace(decision, action=Action.KEEP)
        if function.facts.mode is Mode.HYBRID:
            statuses = tuple(s for s in statuses if s.severity not in SERIOUS or wanted(_status_item(function, s)))
        functions.append(replace(function, decision=decision, statuses=statuses))
    findings = tuple(finding for finding in report.findings if wanted(_finding_item(finding)))
    return replace(report, functions=tuple(functions), findings=findings)


def _function_items(function: FunctionReport, every: bool, display: Callable[[str], str]) -> Iterator[Item]:
    if function.decision.action is not Action.KEEP:
        yield _decision_item(function)
    serious = [status for status in function.statuses if status.severity in SERIOUS]
    if function.facts.mode is Mode.HYBRID and serious:
        yield from (_status_item(function, status, display) for status in serious)
    elif every and is_candidate(function):
        yield from (_status_item(function, status, display) for status in reasons(function))


def _decision_item(function: FunctionReport) -> Item:
    facts, decision = function.facts, function.decision
    return Item(
        kind=Kind.DECISION,
        path=facts.path,
        line=facts.line,
        column=facts.column,
        end_line=facts.line,
        end_column=facts.column,
        severity=Severity.INFO,
        code=decision.precondition or "P0",
        name=decision.action.value.replace("_", "-"),
        message=f"{sentence(function)}: {promise(function)}",
        function=facts.id,
    )


def _status_item(function: FunctionReport, status: Status, display: Callable[[str], str] = str) -> Item:
    text = reason(status, function.facts, display)
    return Item(
        kind=Kind.STATUS,
        path=status.path,
        line=status.line,
        column=status.column,
        end_line=status.line,
        end_column=status.column,
        severity=status.severity,
        code=status.code,
        name=status.name,
        message=f"{sentence(function)}: {text}",
        function=function.facts.id,
        evidence=status.evidence,
    )


def _finding_item(finding: Finding) -> Item:
    return Item(
        kind=Kind.FINDING,
        path=finding.path,
        line=finding.line,
        column=finding.column,
        end_line=finding.end_line,
        end_column=finding.end_column,
        severity=finding.severity,
        code=finding.code,
        name=finding.name,
        message=one_line(finding.message),
        function=finding.function,
        evidence=(*finding.evidence, *finding.also),
    )
