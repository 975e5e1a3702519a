"""Every rule's own examples: the bad ones are hit at their line, eager and hybrid; the good ones are left alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report
from hybridize.rules.model import Blocks, Example, Outcome, Rule
from hybridize.rules.registry import all_rules

RULES = all_rules()


def cases(kind: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{rule.name}-{kind}{i}")
        for rule in RULES
        for i, example in enumerate(rule.bad if kind == "bad" else rule.good)
    ]


def reported(source: str, tmp_path: Path, needs: str = "") -> Report:
    (tmp_path / "program.py").write_text(source)
    if needs.startswith("tensorflow"):
        (tmp_path / "requirements.txt").write_text(f"{needs}\n")
    return analyze([tmp_path], Config(all_safe=True))


def said(report: Report, rule: Rule, target: str = "") -> set[int]:
    """The lines at which a report names a rule (in the statuses of one function, or of all)."""
    statuses = [
        s for f in report.functions if target in ("", f.facts.qualname) for s in f.statuses if s.code == rule.code
    ]
    lines = {s.line for s in statuses} | {e.line for s in statuses for e in s.evidence}
    return lines | {f.line for f in report.findings if f.code == rule.code}


def decorated(example: Example) -> str:
    """The example with its target hybrid, if it is eager: a line more, directly above `def`."""
    *outer, name = example.target.split(".")
    body: list[ast.stmt] = ast.parse(example.source).body
    for each in outer:
        body = next(n.body for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == each)
    node = next((n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == name), None)
    if node is None or any("function" in ast.unparse(d) for d in node.decorator_list):
        return example.source
    lines = example.source.splitlines(keepends=True)
    lines.insert(node.lineno - 1, " " * node.col_offset + "@tf.function\n")
    return "".join(lines)


@pytest.mark.parametrize(("rule", "example"), cases("bad"))
def test_bad_examples_are_hit(rule: Rule, example: Example, tmp_path: Path) -> None:
    report = reported(example.source, tmp_path, example.needs)
    hybrid = decorated(example)
    place = example.line if hybrid == example.source else (example.line or 0) + 1
    if rule.level is not None:
        findings = {f.line for f in reported(hybrid, tmp_path, example.needs).findings if f.code == rule.code}
        assert findings & {example.line, place}
    if rule.blocks:
        assert example.line in said(report, rule)
    if Blocks.TO_HYBRID in rule.blocks and example.outcome in (Outcome.RAISES, Outcome.DIFFERS):
        target = next(f for f in report.functions if f.facts.qualname == example.target)
        assert target.decision.action.value != "convert_to_hybrid"


@pytest.mark.parametrize(("rule", "example"), cases("good"))
def test_good_examples_are_left_alone(rule: Rule, example: Example, tmp_path: Path) -> None:
    assert not said(reported(example.source, tmp_path), rule, example.target)
    assert not said(reported(decorated(example), tmp_path), rule, example.target)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rules_are_documented(rule: Rule) -> None:
    assert len(rule.bad) >= 2
    assert len(rule.good) >= 2
    assert rule.summary.endswith(".")
    assert len(rule.details.split()) > 15


def test_codes_and_names_are_unique() -> None:
    assert len({r.code for r in RULES}) == len({r.name for r in RULES}) == len(RULES)
