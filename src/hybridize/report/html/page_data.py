"""A report as the compact data that the page is drawn from: every sentence is made here, none in the browser."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from hybridize.decide.model import Action, Decision, Finding, FunctionReport, Report, Severity, Status
from hybridize.facts.model import Evidence, Fact, FunctionFacts, ParameterFacts, Ternary
from hybridize.report.codes import CodeDoc, CodeDocs
from hybridize.report.explain import FACTS, SOURCES, TENSOR, benefit_of, made_hybrid
from hybridize.report.hints import bundles, counts, hint, promising
from hybridize.report.paths import all_errors, relative_to_root
from hybridize.report.problems import all_findings
from hybridize.report.style import one_line
from hybridize.report.summary import ranking, reasons, summarize
from hybridize.report.words import change, reason, releases, rests_on, tensor_type, verdict
from hybridize.rules.registry import all_rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hybridize.repairs.model import Bundle

Json = dict[str, Any]

#: The rank of answers in the data: small numbers instead of words.
_TERNARY: Final = {Ternary.NO: 0, Ternary.YES: 1, Ternary.UNKNOWN: 2}
#: The words for actions, the ones to make first.
_ACTIONS: Final = (Action.CONVERT_TO_HYBRID, Action.CONVERT_TO_EAGER, Action.RECONFIGURE, Action.KEEP)
_MOST_LITERALS: Final = 12
#: Stands for the sentence of the last step: a character that no sentence holds.
_REPEATED: Final = "\x01"
#: The category of a finding that no rule makes.
_OTHER: Final = "other"


def page_data(report: Report, diffs: Mapping[str, str], docs: CodeDocs, tool: str) -> Json:
    """All that the page shows but the sources.

    Args:
        report: the result of an analysis.
        diffs: by the id of a function, or `path:line`, what would be changed there, as unified diffs.
        docs: what the codes mean.
        tool: the name and version of what wrote the page.

    Returns:
        Plain data. Files, functions and steps of evidence (message, file, line) are numbers: indices of `files`,
        `functions` and `steps`; so are chains of steps, from 1.
    """
    return _Writer(report, diffs).data(docs, tool)


def title_of(report: Report) -> str:
    """What the page calls the project: the name of its folder."""
    return one_line(os.path.basename(report.project.root.rstrip("/\\"))) or "project"


def places(data: Json) -> dict[int, list[tuple[int, int]]]:
    """By file, the ranges of lines that something in the data speaks of."""
    found: dict[int, list[tuple[int, int]]] = {}

    def add(file: int, first: int, last: int) -> None:
        found.setdefault(file, []).append((first, last))

    functions, findings = data["functions"], data["findings"]
    if functions:
        for place in zip(functions["file"], functions["from"], functions["to"], strict=True):
            add(*place)
    if findings:
        for place in zip(findings["file"], findings["line"], findings["end"], strict=True):
            add(*place)
    for each in data["repairable"]:
        add(each["file"], each["line"], each["line"])
    for _, file, line in zip(*data["steps"], strict=True):
        add(file, line, line)
    return found


class _Writer:
    def __init__(self, report: Report, diffs: Mapping[str, str]) -> None:
        self._report = report
        self._diffs = diffs
        self._root = report.project.root
        self._files: dict[str, int] = {}
        self._bundles, self._findings = bundles(report), all_findings(report)
        self._promising = {bundle.function for bundle in promising(report)}
        self._codes: set[str] = set()
        self._categories = {rule.code: rule.category.value for rule in all_rules()}
        self._steps: dict[tuple[str, int, int], int] = {}
        self._chains: dict[tuple[int, int], int] = {}
        # Ids may be shared by files that are the same module twice: the first has the edges and the findings.
        self._numbers: dict[str, int] = {}
        for number, function in enumerate(report.functions):
            self._numbers.setdefault(function.facts.id, number)

    def data(self, docs: CodeDocs, tool: str) -> Json:
        """The whole."""
        report = self._report
        summary = summarize(report)
        functions = [self._function(function) for function in report.functions]
        statuses = [self._status(each, f.facts) for f in report.functions for each in f.statuses]
        parameters = [self._parameter(each) for f in report.functions for each in f.facts.parameters]
        findings = [self._finding(finding) for finding in self._findings]
        calls = self._calls()
        changed = [i for i, f in enumerate(report.functions) if f.decision.action is not Action.KEEP]
        first = [self._numbers[f.facts.id] for f in ranking(report)]
        data: Json = {
            "title": title_of(report),
            "tool": tool,
            "releases": releases(report.project.versions),
            "size": [report.project.files, report.project.lines],
            "counts": {
                "functions": summary.functions,
                "candidates": summary.candidates,
                "hybrid": summary.hybrid,
                "actions": [summary.actions[action] for action in _ACTIONS],
            },
            "next": counts(report),
            "plan": [*first, *(i for i in changed if i not in set(first))],
            "repairable": [self._repairable(bundle) for bundle in promising(report)],
            "failed": [[count.code, count.number] for count in summary.failed],
            "left_out": [[count.code, count.number] for count in summary.left_out],
            "categories": self._by_category(),
            "fact_names": [title for title, _ in FACTS],
            "functions": _columns(functions),
            "statuses": _columns(statuses),
            "parameters": _columns(parameters),
            "findings": _columns(findings),
            "errors": [[one_line(e.message), self._file(e.path), e.line] for e in all_errors(report)],
            "calls": calls,
        }
        self._codes.update(count.code for count in (*summary.failed, *summary.left_out, *summary.passed))
        data["codes"] = {code: _doc(docs[code]) for code in sorted(self._codes) if code in docs}
        data["files"] = list(self._files)
        data["steps"] = list(zip(*self._steps, strict=True)) or [(), (), ()]
        # Mostly the one before goes on: as differences these numbers take half the place.
        steps, others = zip(*self._chains, strict=True) if self._chains else ((), ())
        data["chains"] = [
            [step - before for step, before in zip(steps, (0, *steps), strict=False)],
            [number - other for number, other in enumerate(others, 1)],
        ]
        return data

    def _function(self, function: FunctionReport) -> Json:
        facts, decision = function.facts, function.decision
        first = reasons(function)[:1] if decision.action is Action.KEEP else ()
        bundle = self._bundles.get(facts.id)
        if decision.precondition:
            self._codes.add(decision.precondition)
        return {
            "id": facts.id,
            "file": self._file(facts.path),
            "line": facts.line,
            "from": _first_line(facts),
            "to": facts.end_line,
            "kind": facts.kind.value,
            "hybrid": facts.mode.value == "hybrid",
            "candidate": facts.candidate,
            "reached": facts.reached,
            "verdict": verdict(function),
            "action": _ACTIONS.index(decision.action),
            "pre": decision.precondition,
            "gain": _finite(decision.benefit),
            "won": _won(decision),
            "gains": benefit_of(self._report, function, decision.benefit) if decision.benefit is not None else None,
            "sure": decision.confidence.value if decision.confidence is not None else None,
            "grounds": self._chain(decision.grounds),
            "rests": rests_on(function),
            "why": function.statuses.index(first[0]) if first else -1,
            "change": change(self._report, function),
            "made": made_hybrid(facts.hybridization, f"line {facts.hybridization.line}")
            if facts.hybridization
            else None,
            "facts": [self._fact(getattr(facts, field)) for _, field in FACTS],
            "parameters": len(facts.parameters),
            "statuses": len(function.statuses),
            "assumed": self._assumptions(facts),
            "hint": hint(bundle) if facts.id in self._promising else None,
            "repairs": self._repairs(bundle),
            "rest": self._chain(bundle.rest) if bundle is not None and not bundle.hybrid else self._chain(()),
            "diff": self._diffs.get(facts.id),
        }

    def _fact(self, fact: Fact) -> list[Any]:
        return [_TERNARY[fact.value], self._chain(fact.evidence)]

    def _status(self, status: Status, facts: FunctionFacts) -> Json:
        self._codes.add(status.code)
        message = reason(status, facts, self._display)
        last = one_line(status.evidence[-1].message) if status.evidence else ""
        if last:
            message = message.replace(last, _REPEATED)
        return {
            "code": status.code,
            "severity": status.severity.value,
            "message": message,
            "file": self._file(status.path),
            "line": status.line,
            "chain": self._chain(status.evidence),
        }

    def _parameter(self, parameter: ParameterFacts) -> Json:
        return {
            "name": parameter.name,
            "tensor": TENSOR[parameter.tensor],
            "known": SOURCES[parameter.source] if parameter.source else "",
            "types": [tensor_type(kind) for kind in parameter.tensor_types],
            "literals": [one_line(each)[:80] for each in parameter.literals[:_MOST_LITERALS]],
            "more": max(0, len(parameter.literals) - _MOST_LITERALS),
            "chain": self._chain(parameter.evidence),
        }

    def _assumptions(self, facts: FunctionFacts) -> int:
        return self._chain(dict.fromkeys(facts.assumptions))

    def _repairs(self, bundle: Bundle | None) -> list[list[Any]]:
        if bundle is None:
            return []
        self._codes.update(each.code for each in bundle.repairs)
        return [[r.code, r.name, one_line(r.says), r.doubt, self._file(r.path), r.line] for r in bundle.repairs]

    def _repairable(self, bundle: Bundle) -> Json:
        """What repairs may unlock: a function, or a step of code outside of functions."""
        self._codes.update(each.code for each in bundle.repairs)
        function = self._numbers.get(bundle.function, -1)
        return {
            "function": function,
            "file": self._file(bundle.path),
            "line": bundle.line,
            "hint": hint(bundle),
            "says": one_line(bundle.repairs[0].says),
            "diff": self._diffs.get(f"{bundle.path}:{bundle.line}") if function < 0 else None,
        }

    def _finding(self, finding: Finding) -> Json:
        self._codes.add(finding.code)
        return {
            "code": finding.code,
            "category": self._categories.get(finding.code, _OTHER),
            "severity": finding.severity.value,
            "message": one_line(finding.message),
            "file": self._file(finding.path),
            "line": finding.line,
            "end": max(finding.line, finding.end_line),
            "column": finding.column,
            "fix": finding.fix,
            "function": self._numbers.get(finding.function) if finding.function is not None else None,
            "chain": self._chain((*finding.evidence, *finding.also)),
        }

    def _by_category(self) -> list[list[Any]]:
        """The findings by category of their rule: its name and the numbers of errors, warnings and informations."""
        found = Counter((self._categories.get(f.code, _OTHER), f.severity) for f in self._findings)
        table = [[name, *(found[name, level] for level in Severity)] for name in sorted({name for name, _ in found})]
        return sorted(table, key=lambda row: (-sum(row[1:]), row[0]))

    def _calls(self) -> list[Sequence[int]]:
        """Callers, callees and lines in columns; a caller below 0 is the code of a file: -1 the first, -2 the second.

        Callers and callees are differences, to the caller before and to the own caller.
        """
        calls = sorted(
            (
                self._numbers[call.caller] if call.caller else -1 - self._file(call.path),
                self._numbers[call.callee],
                call.line,
            )
            for call in self._report.calls
            if call.callee in self._numbers and (not call.caller or call.caller in self._numbers)
        )
        callers = [0, *(caller for caller, _, _ in calls)]
        return [
            [caller - before for before, caller in pairwise(callers)],
            [callee - caller for caller, callee, _ in calls],
            [line for _, _, line in calls],
        ]

    def _chain(self, chain: Iterable[Evidence]) -> int:
        """The number of a chain, from 1 (0: the empty one): its first step and the chain of the others.

        Functions share most of what leads to a cause.
        """
        number = 0
        for step in reversed(tuple(chain)):
            said = one_line(step.message), self._file(step.path), step.line
            key = self._steps.setdefault(said, len(self._steps)), number
            number = self._chains.setdefault(key, len(self._chains) + 1)
        return number

    def _file(self, path: str) -> int:
        return self._files.setdefault(self._display(path), len(self._files))

    def _display(self, path: str) -> str:
        return relative_to_root(path, self._root)


def _first_line(facts: FunctionFacts) -> int:
    """Where to begin to show a function: the decorator that made it hybrid, where it stands above."""
    made = facts.hybridization
    return made.line if made is not None and facts.line - 12 < made.line < facts.line else facts.line


def _won(decision: Decision) -> float | None:
    """How many times faster the change makes it, where that is known."""
    benefit = _finite(decision.benefit)
    if decision.action is Action.CONVERT_TO_HYBRID:
        return benefit
    return round(1 / benefit, 2) if decision.action is Action.CONVERT_TO_EAGER and benefit else None


def _columns(rows: list[Json]) -> dict[str, list[Any]]:
    """Rows as columns, which take a sixth less when compressed."""
    return {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}


def _finite(number: float | None) -> float | None:
    return round(number, 2) if number is not None and math.isfinite(number) else None


def _doc(doc: CodeDoc) -> list[str]:
    return [doc.name, doc.kind, doc.summary]
