"""The fixture programs: what `hybridize check` says of each function against what is certain (see support.py)."""

from __future__ import annotations

import functools
from pathlib import Path

import jsonschema
import pytest

import hybridize

from .support import (
    FIXTURES,
    Expectation,
    Json,
    Mismatch,
    compare,
    functions_by_key,
    judge,
    line_of,
    load_expectations,
    run_check,
)
from .tools.record_types import functions_of

SCHEMA = jsonschema.Draft202012Validator(hybridize.schema())
EXPECTATIONS = {expectation.name: expectation for expectation in load_expectations()}
CASES = [
    pytest.param(name, key, id=f"{name}-{key}")
    for name, expectation in EXPECTATIONS.items()
    for key in expectation.functions
]


@functools.cache
def analysis(name: str) -> Json | AssertionError:
    """One analysis per expectation, a failed one too."""
    expectation = EXPECTATIONS[name]
    try:
        return run_check(expectation.project, *expectation.options)
    except AssertionError as error:
        return error


def report_of(name: str) -> Json:
    """The JSON of `hybridize check`."""
    result = analysis(name)
    if isinstance(result, AssertionError):
        pytest.fail(str(result), pytrace=False)
    return result


@pytest.mark.parametrize(("name", "key"), CASES)
def test_function(name: str, key: str) -> None:
    """Each function has the mode, facts, evidence and decision that its fixture states."""
    expectation = EXPECTATIONS[name]
    functions = functions_by_key(report_of(name))
    assert key in functions, f"{key} is not among {sorted(functions)}"
    complaints = judge(expectation.functions[key], compare(expectation, key, functions[key]))
    if complaints:
        place = f"{expectation.file.relative_to(Path(__file__).parent)} {key}"
        pytest.fail(f"{place}\n  {expectation.about}\n    " + "\n    ".join(complaints), pytrace=False)


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_project(name: str) -> None:
    """Every file is read without an error, and assumptions are reported for exactly the functions that need them."""
    report = report_of(name)
    assert report["errors"] == []
    expected = EXPECTATIONS[name].assumptions
    if expected is not None:
        ids = {entry["id"]: key for key, entry in functions_by_key(report).items()}
        assert {ids.get(entry["function"], entry["function"]) for entry in report["assumptions"]} == set(expected)


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_the_report_follows_the_schema(name: str) -> None:
    """Whatever is found, the JSON has the form that `hybridize check --json-schema` prints."""
    assert [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(report_of(name))] == []


FIELDS = set(
    "mode kind candidate reached tensor types literals source facts evidence precondition action statuses arguments"
    " known_gap".split()
)


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_expectation_is_about_the_program(name: str) -> None:
    """The stated functions exist, the fields have the names that are compared, and evidence names one line each."""
    expectation = EXPECTATIONS[name]
    keys = {key for key, _, _ in functions_of(expectation.project).values()}
    for key, entry in expectation.functions.items():
        assert key in keys
        assert set(entry) <= FIELDS
        for places in entry.get("evidence", {}).values():
            for place in places:
                line_of(expectation.project, place)


def example(**entry: object) -> Expectation:
    """An expectation about `f`, for the tests of the comparison itself."""
    return Expectation(FIXTURES / "x" / "expected.toml", "", (), (), {"main.py:f": entry})


TENSOR_TYPE: Json = {"kind": "dense", "dtype": "float32", "shape": [2, None]}
PARAMETER: Json = {
    "name": "x",
    "tensor": "yes",
    "source": "dataflow",
    "literals": ['"a"'],
    "tensor_types": [TENSOR_TYPE],
}
FUNCTION: Json = {
    "path": "main.py",
    "line": 1,
    "qualname": "f",
    "mode": "eager",
    "kind": "function",
    "decorator": None,
    "parameters": [PARAMETER],
    "facts": {"recursive": {"value": "no", "evidence": []}},
    "decision": {"action": "keep", "precondition": None},
    "statuses": [],
}


def test_comparison_accepts_what_holds() -> None:
    entry = {
        "mode": "eager",
        "tensor": {"x": "yes"},
        "types": {"x": [["dense", "float32", [2, -1]]]},
        "literals": {"x": ["'a'"]},
        "facts": {"recursive": "no"},
        "precondition": "none",
    }
    assert compare(example(**entry), "main.py:f", FUNCTION) == []


def test_comparison_names_what_does_not_hold() -> None:
    entry = {"mode": "hybrid", "facts": {"recursive": "yes"}, "tensor": {"x": "no", "y": "no"}}
    found = compare(example(**entry), "main.py:f", FUNCTION)
    assert [mismatch.name for mismatch in found] == ["mode", "facts.recursive", "tensor.x", "tensor.y"]


def test_known_gap_passes_only_while_it_exists() -> None:
    gap: Json = {"known_gap": {"mode": "why"}}
    assert judge(gap, [Mismatch("mode", 1, 2)]) == []
    assert judge(gap, []) == ["closed: delete `known_gap` of mode (why)"]
    assert len(judge(gap, [Mismatch("mode", 1, 2), Mismatch("tensor.x", 1, 2)])) == 1
    assert judge({"known_gap": "why"}, []) != []
