"""Formats of one line per place: concise, GitHub annotations, SARIF."""

from __future__ import annotations

import json
from dataclasses import replace

from hybridize.decide.model import Action, Decision, FileError, Finding, FunctionReport, Severity
from hybridize.facts.model import Hybridization, Mode
from hybridize.report.codes import CodeDoc
from hybridize.report.lines import concise, count_line, github
from hybridize.report.sarif import dumps, to_sarif

from .samples import CLEAN, KEEP, SAMPLE, facts, status


def test_concise() -> None:
    assert concise(SAMPLE, str).splitlines() == [
        "trainer.py:42:5: P1 convert `Trainer.step` to hybrid: eager, tensor parameters (images, labels), no literal, "
        "no side effect, the graph is about 3.2 times as fast as eager code",
        "trainer.py:61:5: H102 keep `Trainer.fit` eager: appends to `self.losses` (line 88), through `log` -> `record`",
        "trainer.py:95:5: H201 keep `Trainer.loss` eager: all callers run as graphs",
        "util/names.py:7:1: P2 convert `label` to eager: hybrid, no tensor parameter, primitive parameter (steps), "
        "no side effect",
        "util/names.py:8:5: TF301 a tensor of the trace leaves it",
        "broken.py:3:1: E999 invalid syntax",
        "1 to hybrid, 1 to eager, 2 kept; 1 finding, 1 error",
    ]


def test_quiet_concise_is_what_sets_the_exit_code() -> None:
    assert [line.split()[1] for line in concise(SAMPLE, str, quiet=True).splitlines()] == ["P1", "P2", "TF301", "E999"]
    assert concise(CLEAN, str, quiet=True) == ""


def test_counts_of_nothing() -> None:
    assert count_line(replace(CLEAN, functions=())) == "nothing to report"


def test_github_annotations_are_escaped() -> None:
    finding = Finding("TF1", "odd", Severity.ERROR, "100% wrong", "a,b:c.py", 2, 3, 2, 4)
    report = replace(SAMPLE, functions=(), findings=(finding,), errors=())
    assert github(report) == (
        "::error file=a%2Cb%3Ac.py,line=2,col=3,endLine=2,title=hybridize (TF1 odd)::a,b:c.py:2:3: TF1 100%25 wrong\n"
    )


def test_github_has_no_annotation_for_what_stays_as_it_is() -> None:
    levels = [line.split()[0] for line in github(SAMPLE).splitlines()]
    assert levels == ["::notice", "::notice", "::warning", "::error"]


def test_serious_statuses_of_hybrid_functions_are_annotations() -> None:
    hybrid = facts("trainer:f", 61, mode=Mode.HYBRID, hybridization=Hybridization(60, ()))
    report = replace(CLEAN, functions=(FunctionReport(hybrid, Decision(Action.KEEP), (status(),)), KEEP))
    assert github(report).count("H102") == 2  # in the title and in the text, of one line
    assert len(github(report).splitlines()) == 1


def test_sarif() -> None:
    docs = {"TF301": CodeDoc("TF301", "leaked-tensor", "rule", "A tensor leaves its trace.", "warning", "More.")}
    log = to_sarif(SAMPLE, "9.9", docs)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert log["version"] == "2.1.0"
    assert driver["version"] == "9.9"
    assert [rule["id"] for rule in driver["rules"]] == ["E999", "P1", "P2", "TF301"]
    assert driver["rules"][3]["shortDescription"] == {"text": "A tensor leaves its trace."}
    assert all(driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    finding = run["results"][2]
    assert finding["level"] == "warning"
    assert finding["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "util/names.py", "uriBaseId": "ROOT"},
        "region": {"startLine": 8, "startColumn": 5, "endLine": 8, "endColumn": 20},
    }
    assert run["originalUriBaseIds"]["ROOT"]["uri"] == "file:///project/"


def test_sarif_paths_are_uris_and_fingerprints_do_not_follow_lines() -> None:
    odd = replace(SAMPLE, functions=(), findings=(), errors=(FileError("a b\udcff.py", 3, "bad"),))
    moved = replace(odd, errors=(FileError("a b\udcff.py", 30, "bad"),))
    first, second = (to_sarif(report, "1", {})["runs"][0]["results"][0] for report in (odd, moved))
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b%FF.py"
    assert first["partialFingerprints"] == second["partialFingerprints"]
    assert json.loads(dumps(odd, "1", {}))["version"] == "2.1.0"
