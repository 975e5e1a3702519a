"""The JSON is the object that docs/json.md describes, whatever goes into it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import resources
from typing import Any

import jsonschema
import pytest

from hybridize.decide.model import Action, Decision, FileError, FunctionReport, ProjectInfo, Report
from hybridize.facts.model import Hybridization
from hybridize.report.json_report import dump_lines, dumps, to_dict

from .samples import CLEAN, CONVERT, SAMPLE, facts

SCHEMA = json.loads(resources.files("hybridize.report").joinpath("schema.json").read_text("utf-8"))


def errors_of(report: dict[str, Any]) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(report)]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "report", [SAMPLE, CLEAN, Report(ProjectInfo("/empty", 0, 0, 0.0))], ids=["all", "clean", "empty"]
)
def test_reports_follow_the_schema(report: Report) -> None:
    assert errors_of(json.loads(dumps(report))) == []


def test_the_schema_refuses_what_is_not_described() -> None:
    data = to_dict(SAMPLE)
    data["functions"][0]["mood"] = "good"
    data["findings"][0]["severity"] = "fatal"
    assert len(errors_of(data)) == 2


def test_keys_come_in_the_documented_order() -> None:
    data = json.loads(dumps(SAMPLE))
    assert list(data) == ["version", "project", "functions", "findings", "assumptions", "errors", "repairs"]
    assert list(data["functions"][0]) == (
        "id path line end_line qualname kind mode decorator conditional candidate reached "
        "parameters facts decision statuses".split()
    )
    assert list(data["findings"][0]) == (
        "code name severity message path line column end_line end_column function fix evidence".split()
    )


def test_one_function() -> None:
    step, fit, *_ = to_dict(SAMPLE)["functions"]
    assert step["decision"] == {
        "action": "convert_to_hybrid",
        "precondition": "P1",
        "arguments": {},
        "benefit": 3.25,
        "confidence": None,
        "grounds": [],
    }
    assert step["parameters"][1] == {
        "name": "images",
        "index": 1,
        "tensor": "yes",
        "tensor_types": [{"kind": "dense", "dtype": "float32", "shape": [None, 28, 28]}],
        "literals": [],
        "source": "dataflow",
    }
    effects = fit["facts"]["python_side_effects"]
    assert effects["value"] == "yes"
    assert effects["evidence"][-1] == {"message": "appends to `self.losses`", "path": "trainer.py", "line": 88}


def test_a_decorator_with_its_arguments() -> None:
    label = to_dict(SAMPLE)["functions"][3]
    assert label["decorator"] == {"line": 6, "arguments": {"autograph": "True"}}


def test_an_explicit_call_is_no_decorator() -> None:
    called = FunctionReport(
        facts("a:f", 1, hybridization=Hybridization(9, (), is_decorator=False)), Decision(Action.KEEP)
    )
    assert to_dict(Report(ProjectInfo("/", 1, 1, 0.1), (called,)))["functions"][0]["decorator"] is None


def test_equal_reports_give_equal_text() -> None:
    assert dumps(SAMPLE) == dumps(replace(SAMPLE))


def test_each_function_is_a_line() -> None:
    lines = dumps(SAMPLE).splitlines()
    assert sum(line.startswith('  {"id"') for line in lines) == len(SAMPLE.functions)


def test_the_text_is_ascii_even_for_odd_file_names() -> None:
    odd = replace(SAMPLE, errors=(FileError("caf\xe9/\udcff.py", 1, "ung\xfcltig"),))
    text = dumps(odd)
    assert text.isascii()
    assert json.loads(text)["errors"][0]["path"] == "caf\xe9/\udcff.py"


def test_paths_are_relative_to_the_root() -> None:
    absolute = FunctionReport(replace(CONVERT.facts, path="/project/pkg/trainer.py"), CONVERT.decision)
    assert to_dict(replace(SAMPLE, functions=(absolute,)))["functions"][0]["path"] == "pkg/trainer.py"


def test_a_benefit_that_is_no_number_is_null() -> None:
    infinite = FunctionReport(CONVERT.facts, Decision(Action.CONVERT_TO_HYBRID, "P1", (), math.inf))
    assert to_dict(replace(SAMPLE, functions=(infinite,)))["functions"][0]["decision"]["benefit"] is None


def test_a_missing_path_is_an_error_once() -> None:
    missing = replace(SAMPLE, missing=("/project/gone.py",), errors=(FileError("gone.py", 0, "is not there"),))
    assert [error["path"] for error in to_dict(missing)["errors"]] == ["gone.py"]


def test_json_lines_hold_the_same_entries() -> None:
    entries = [json.loads(line) for line in dump_lines(SAMPLE).splitlines()]
    kinds = [entry.pop("type") for entry in entries]
    assert kinds == ["project", *["function"] * 5, "finding", "assumption", "error"]
    assert entries[1] == to_dict(SAMPLE)["functions"][0]
