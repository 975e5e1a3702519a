"""The corpus of small programs with recorded outcomes: well-formed, balanced, and (slowly) as TensorFlow has it."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness import ForkServer, TargetError, add_decorator

FOLDER = Path(__file__).parent / "cases"
SCRIPT = Path(__file__).parents[2] / "scripts" / "semantics_cases.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("semantics_cases", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["semantics_cases"] = module
    spec.loader.exec_module(module)
    return module


SCOREBOARD = load()
CASES = SCOREBOARD.read_cases(FOLDER)
#: The labels are checked in so many parts, for several workers to share.
PARTS = 8


def test_every_case_is_labelled_parses_and_can_be_decorated() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 200
    for case in CASES:
        assert set(case.classes) == {"215", "221"}, case.name
        assert set(case.classes.values()) <= set(SCOREBOARD.CLASSES), case.name
        try:
            text = add_decorator(case.source, "target", case.decorator, outermost=case.outermost)
        except TargetError as error:
            pytest.fail(f"{case.name}: {error}")
        ast.parse(text)


def test_a_misbehaving_program_says_which_lines_are_the_cause() -> None:
    unmarked = [c.name for c in CASES if c.classes["221"] in SCOREBOARD.UNSAFE and not c.causes]
    marked = [c.name for c in CASES if set(c.classes.values()) == {"SAFE"} and c.causes]
    assert unmarked == marked == []


def test_about_half_are_safe() -> None:
    safe = sum(case.classes["221"] == "SAFE" for case in CASES)
    assert 0.4 < safe / len(CASES) < 0.6


@pytest.mark.tensorflow
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_labels_are_what_the_harness_sees(server: ForkServer, part: int) -> None:
    cases = CASES[part::PARTS]
    version = "".join(server.versions["tensorflow"].split(".")[:2])
    wrong = []
    for case, outcome in zip(cases, server.prove_all(case.program() for case in cases), strict=True):
        if version in case.classes and SCOREBOARD.CLASSES[case.classes[version]] is not outcome.kind:
            wrong.append(f"{case.name}: {case.classes[version]}, now {outcome}")
    assert wrong == []
