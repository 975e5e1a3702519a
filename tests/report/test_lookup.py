"""Which function a person means."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from hybridize.decide.model import Action, Decision, FunctionReport, ProjectInfo, Report
from hybridize.facts.model import Hybridization
from hybridize.report.lookup import Target, find, parse_target

from .samples import CLEAN, facts

IDS = {
    "trainer:Trainer.step": 10,
    "trainer:Trainer.step.<locals>.inner": 13,
    "trainer:step": 40,
    "pkg.other:Trainer.step": 5,
    "pkg.other:load": 60,
    "pkg.other:load#2": 80,
}


def report() -> Report:
    functions = tuple(
        FunctionReport(replace(facts(id, line), qualname=id.partition(":")[2]), Decision(Action.KEEP))
        for id, line in IDS.items()
    )
    decorated = replace(functions[0].facts, hybridization=Hybridization(8, ()), end_line=20)
    inner = replace(functions[1].facts, end_line=16)
    return replace(
        CLEAN,
        project=ProjectInfo(os.getcwd(), 2, 100, 0.1),
        functions=(replace(functions[0], facts=decorated), replace(functions[1], facts=inner), *functions[2:]),
    )


def ids(text: str) -> list[str]:
    target = parse_target(text, is_file=lambda path: path in ("trainer.py", "pkg/other.py"))
    return [function.facts.id for function in find(report(), target).functions]


def test_a_target_is_a_file_a_place_or_a_name() -> None:
    assert parse_target("a.py") == Target("a.py", "a.py")
    assert parse_target("a.py:12") == Target("a.py:12", "a.py", 12)
    assert parse_target("a.py:12:5") == Target("a.py:12:5", "a.py", 12)
    assert parse_target("a:f") == Target("a:f")
    assert parse_target("script:3", is_file=lambda path: path == "script") == Target("script:3", "script", 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step", ["trainer:step"]),  # the exact name goes before the end of one
        ("Trainer.step", ["trainer:Trainer.step", "pkg.other:Trainer.step"]),
        ("trainer:Trainer.step", ["trainer:Trainer.step"]),
        ("other:Trainer.step", ["pkg.other:Trainer.step"]),
        ("pkg.other.Trainer.step", ["pkg.other:Trainer.step"]),
        ("inner", ["trainer:Trainer.step.<locals>.inner"]),
        ("step.inner", ["trainer:Trainer.step.<locals>.inner"]),
        ("step()", ["trainer:step"]),
        ("load", ["pkg.other:load"]),
        ("pkg.other:load#2", ["pkg.other:load#2"]),
        ("Trainer", ["trainer:Trainer.step", "trainer:Trainer.step.<locals>.inner", "pkg.other:Trainer.step"]),
        ("trainer.py", ["trainer:Trainer.step", "trainer:Trainer.step.<locals>.inner", "trainer:step"]),
        ("trainer.py:10", ["trainer:Trainer.step"]),
        ("trainer.py:8", ["trainer:Trainer.step"]),  # the decorator's line
        ("trainer.py:14", ["trainer:Trainer.step.<locals>.inner"]),
        ("trainer.py:18", ["trainer:Trainer.step"]),
        ("trainer.py:30", []),
        ("nothing", []),
    ],
)
def test_functions_meant(text: str, expected: list[str]) -> None:
    assert ids(text) == expected


def test_suggestions() -> None:
    assert find(report(), Target("Trainer.stepp")).suggestions[0] == "Trainer.step"
    assert find(report(), Target("lod")).suggestions == ("load", "load#2")
    assert find(report(), Target("x", "trainer.py", 35)).suggestions[0] == "trainer.py:40"
    assert find(report(), Target("x", "triner.py")).suggestions[0] == "trainer.py"
