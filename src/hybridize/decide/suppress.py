"""What comments in the source silence: rule hits, statuses, and whole decisions (`# hybridize: ignore[P1]`).

A rule hit that a person silences no longer blocks a conversion: they vouch for the place. So does who silences HY206 or
HY601 on the line that changes Python state. The facts behind a precondition stay what they are; silencing their status
only spares the reader.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from hybridize.decide.documentation import CODES
from hybridize.decide.model import Action, Decision, Finding, FunctionReport, Severity
from hybridize.facts.model import FunctionFacts
from hybridize.records import replace
from hybridize.rules.model import RuleHit
from hybridize.source.suppressions import Suppression, find_suppressions, spread
from hybridize.source.syntax import walk

#: The rules that tell of changes of Python state, by code and name, as comments have them.
_CHANGES: Final = frozenset({"HY206", "PYTHON-STATE", "HY601", "LEAKED-TENSOR"})


class Suppressions:
    """The comments of a project, and which of them have silenced something."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts` are the sources by path."""
        self._by_path: dict[str, list[Suppression]] = {}
        self._used: set[tuple[str, int]] = set()
        for path, text in texts.items():
            found = find_suppressions(text)
            if found:
                self._by_path[path] = spread(found, _definitions(text))

    @property
    def any(self) -> bool:
        """Whether there are such comments at all."""
        return bool(self._by_path)

    def silences(self, path: str, line: int, code: str, name: str) -> bool:
        """Whether a comment holds for this line and code; it then counts as used."""
        found = False
        for each in self._by_path.get(path, ()):
            if each.first <= line <= each.last and each.covers(code, name):
                self._used.add((path, each.line))
                found = True
        return found

    def reason(self, path: str, line: int, code: str, name: str) -> str | None:
        """What the comment says that silences this code on this line; None if none does."""
        covering = (e for e in self._by_path.get(path, ()) if e.first <= line <= e.last and e.covers(code, name))
        return next((each.reason for each in covering), None)

    def vouches(self, path: str, line: int) -> bool:
        """Whether a comment at this very line answers for what changes there, by a rule that tells of such changes."""
        found = False
        for each in self._by_path.get(path, ()):
            if each.first == line == each.last and each.codes and not each.codes.isdisjoint(_CHANGES):
                self._used.add((path, each.line))
                found = True
        return found

    def remaining(self, facts: FunctionFacts, hits: Sequence[RuleHit]) -> list[RuleHit]:
        """The hits on a function that are not silenced, at their place or for the function."""
        if not self._by_path:
            return list(hits)
        return [
            hit
            for hit in hits
            if not self.silences(hit.path, hit.line, hit.rule.code, hit.rule.name)
            and not self.silences(facts.path, facts.line, hit.rule.code, hit.rule.name)
        ]

    def apply(self, report: FunctionReport) -> FunctionReport:
        """A function's report without statuses and decisions that are silenced."""
        facts, decision = report.facts, report.decision
        if facts.path not in self._by_path:
            return report
        wanted = decision.precondition
        if wanted and decision.action is not Action.KEEP and self.silences(facts.path, facts.line, wanted, ""):
            decision = Decision(Action.KEEP, wanted)
        kept = tuple(s for s in report.statuses if not self.silences(s.path, s.line, s.code, s.name))
        return replace(report, decision=decision, statuses=kept)

    def unused(self) -> Iterator[Finding]:
        """A warning for every comment that silenced nothing."""
        for path, found in sorted(self._by_path.items()):
            for each in found:
                if (path, each.line) not in self._used:
                    codes = ", ".join(sorted(each.codes)) if each.codes else "anything"
                    message = f"silences nothing: {codes} is not reported here"
                    yield Finding(
                        CODES["unused-suppression"],
                        "unused-suppression",
                        Severity.WARNING,
                        message,
                        path,
                        each.line,
                        1,
                        each.line,
                        1,
                    )


def _definitions(text: str) -> Iterable[tuple[int, int, int]]:
    """(First line with decorators, last line of the header, last line) of functions and classes, inner ones first."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    spans = []
    for node in walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            header = max(node.lineno, node.body[0].lineno - 1)
            spans.append((first, header, node.end_lineno or node.lineno))
    return sorted(spans, key=lambda span: span[2] - span[0])
