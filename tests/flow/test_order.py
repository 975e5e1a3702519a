"""The result of an analysis does not depend on the order of modules."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hybridize.decide.preconditions import Options, decide
from hybridize.facts.functions.collect import Collector, FactOptions
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import Program, build_program
from hybridize.source import ImportTable, discover, find_src_roots

FIXTURES = Path(__file__).parent.parent / "fixtures"
PROJECTS = sorted(
    path.parent for path in FIXTURES.glob("*/*/expected.toml") if len(list(path.parent.rglob("*.py"))) > 1
)


def load(root: Path) -> Program:
    found = discover([root])
    return build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))


def verdicts(program: Program, order: list[str]) -> list[tuple[object, ...]]:
    """What is decided about each function, with the facts that decide it."""
    solver = Solver(program, FlowOptions(), order)
    first = solver.solve_entries()
    collector = Collector(first, FactOptions())
    out: list[tuple[object, ...]] = []
    for module, code in program.functions():
        if code in first.reached:
            facts = collector.facts(module, code)
            decision = decide(facts, Options()).decision
            parameters = [(p.name, p.tensor, p.tensor_types, p.literals) for p in facts.parameters]
            out.append((facts.id, decision.action, facts.python_side_effects.value, facts.recursive.value, parameters))
    return out


@pytest.mark.parametrize("root", PROJECTS, ids=lambda p: p.name)
def test_the_order_of_modules_changes_nothing(root: Path) -> None:
    program = load(root)
    names = sorted(program.modules)
    expected = verdicts(program, names)
    for seed in range(3):
        shuffled = random.Random(seed).sample(names, len(names))
        assert verdicts(program, shuffled) == expected


def test_reports_do_not_depend_on_hashes() -> None:
    """The same bytes come out whatever the hash seed and the addresses of objects."""
    project = Path(__file__).parents[2] / "examples" / "image_classifier"
    outputs = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "hybridize", "check", str(project), "--all-safe", "--output-format", "json"]
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert result.returncode == 1, result.stderr
        outputs.add(re.sub(r'"seconds": [\d.e-]+', "", result.stdout))
    assert len(outputs) == 1
