"""What `fix` prints as JSON is what its schema and docs/json.md say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hybridize.cli import main
from hybridize.report.json_report import FIX_SCHEMA, schema_text

SCHEMA = json.loads(schema_text(FIX_SCHEMA))
PROGRAM = """\
import tensorflow as tf


def shown(x):
    print(x)
    return tf.reduce_sum(x * 2.0 + tf.exp(x)) / 3.0


@tf.function
def named(name):
    return name.upper()


for step in range(100):
    shown(tf.ones([3, 3]))
    named("a")
"""


def fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / "broken.py").write_text("def f(:\n")
    main(["fix", str(tmp_path), "--output-format", "json", "--all-safe", *options])
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("options", [(), ("--diff",), ("--unsafe-fixes",), ("--only", "shown", "--diff")])
def test_fixes_follow_the_schema(options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = fixed(tmp_path, capsys, *options)
    jsonschema.validate(data, SCHEMA)
    assert data["written"] is ("--diff" not in options)
    assert any(data[key] for key in ("repairs", "not_repaired"))
    assert [error["path"] for error in data["errors"]] == ["broken.py"]


def test_what_tests_said_follows_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = fixed(tmp_path, capsys, "--verify-with", "python -c 'pass'", "--isolated")
    jsonschema.validate(data, SCHEMA)
    assert data["tests"]["by_test"] is False


def test_the_schema_refuses_what_is_not_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = fixed(tmp_path, capsys, "--diff")
    data["files"][0]["mood"] = "good"
    data["files"][0]["changes"][0]["outcome"] = "perhaps"
    assert len(list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(data))) == 2


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--json-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_the_documentation_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    section = page.partition("## `fix --output-format json`")[2].partition("\n## ")[0]
    said = set(re.findall(r'"(\w+)":', section))
    tests = SCHEMA["$defs"]["tests"]["properties"]
    assert said >= set(SCHEMA["properties"]) - {"tests"} | set(tests)
    assert "`tests`" in section
