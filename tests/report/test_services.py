"""Formats for services: GitHub's annotations, GitLab's Code Quality, JUnit. Well-formed, whatever the names are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridize.decide.model import Action, Decision, FileError, Finding, FunctionReport, Report, Severity
from hybridize.facts.model import Evidence, Hybridization, Mode
from hybridize.report.github import github
from hybridize.report.gitlab import gitlab
from hybridize.report.items import items
from hybridize.report.junit import junit
from hybridize.report.sarif import to_sarif

from .samples import CLEAN, CONVERT, DEHYBRIDIZE, FINDING, KEEP, SAMPLE, facts, status

#: Whatever a path or a message may hold: line breaks, what the formats escape with, control characters, bytes that are
#: no UTF-8 (as lone surrogates), what XML has no way to write.
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(["\n", "\r", "%", "%0A", "]]>", "<!--", "&", '"', "::error ::", ",", ":", "\x00", "\x1b[2J"]),
        st.characters(exclude_categories=["Cs"]),
        st.characters(categories=["Cc", "Zl", "Zp"]),
        st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF),
    ),
    min_size=1,
    max_size=6,
).map("".join)


def named(path: str, message: str) -> Report:
    """A report whose finding and error have these names."""
    evidence = (Evidence(message, path, 3),)
    finding = replace(FINDING, path=path, message=message, evidence=evidence, function=f"a:{message}")
    return replace(SAMPLE, functions=(), findings=(finding,), errors=(FileError(path, 0, message),))


def test_github_annotations_are_escaped() -> None:
    finding = Finding("TF1", "odd", Severity.ERROR, "100% wrong", "a,b:c.py", 2, 3, 4, 4)
    report = replace(SAMPLE, functions=(), findings=(finding,), errors=())
    assert github(report, str) == (
        "::error file=a%2Cb%3Ac.py,line=2,endLine=4,col=3,title=hybridize (TF1 odd)::a,b:c.py:2:3: TF1 100%25 wrong\n"
    )


def test_github_has_no_annotation_for_what_stays_as_it_is() -> None:
    levels = [line.split()[0] for line in github(SAMPLE, str).splitlines()]
    assert levels == ["::notice", "::notice", "::warning", "::error"]


def test_serious_statuses_of_hybrid_functions_are_annotations() -> None:
    hybrid = facts("trainer:f", 61, mode=Mode.HYBRID, hybridization=Hybridization(60, ()))
    report = replace(CLEAN, functions=(FunctionReport(hybrid, Decision(Action.KEEP), (status(),)), KEEP))
    assert github(report, str).count("H102") == 2  # in the title and in the text, of one line
    assert len(github(report, str).splitlines()) == 1


def test_paths_are_those_that_the_working_folder_sees() -> None:
    report = replace(SAMPLE, errors=())
    assert "file=sub/trainer.py,line=42" in github(report, lambda path: f"sub/{path}")
    assert json.loads(gitlab(report, lambda path: f"sub/{path}"))[0]["location"]["path"] == "sub/trainer.py"
    case = ET.fromstring(junit(report, lambda path: f"sub/{path}")).find(".//testcase")
    assert case is not None
    assert (case.get("file"), case.get("line")) == ("sub/trainer.py", "42")


@given(path=HOSTILE, message=HOSTILE)
def test_github_commands_are_a_line_each(path: str, message: str) -> None:
    text = github(named(path, message), str)
    *lines, rest = re.split(r"\r\n|\r|\n", text)
    assert (len(lines), rest) == (2, "")
    for line in lines:
        head = re.match(r"::(?:error|warning|notice) (.*?)::", line, re.DOTALL)
        assert head is not None
        properties = head[1]
        assert [part.partition("=")[0] for part in properties.split(",")] == ["file", "line", "endLine", "col", "title"]


#: What GitLab's documentation asks of an entry.
SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


@given(path=HOSTILE, message=HOSTILE)
def test_gitlab_entries_have_what_gitlab_asks_for(path: str, message: str) -> None:
    text = gitlab(named(path, message), str)
    assert text.isascii()
    entries = json.loads(text)
    assert [entry["check_name"] for entry in entries] == ["TF301", "E999"]
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in SEVERITIES
        assert "\n" not in entry["description"]
        assert entry["location"]["path"] == path
        assert 1 <= entry["location"]["lines"]["begin"] <= entry["location"]["lines"]["end"]


def test_gitlab_fingerprints_are_all_different_and_do_not_follow_lines() -> None:
    twice = replace(SAMPLE, findings=(FINDING, replace(FINDING, line=9, end_line=9)))
    entries = json.loads(gitlab(twice, str))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 5
    moved = tuple(replace(f, facts=replace(f.facts, line=f.facts.line + 7)) for f in (CONVERT, DEHYBRIDIZE))
    later = replace(SAMPLE, functions=moved, findings=(replace(FINDING, line=15, end_line=15),))
    before = {entry["fingerprint"] for entry in json.loads(gitlab(SAMPLE, str))}
    assert {entry["fingerprint"] for entry in json.loads(gitlab(later, str))} == before


def test_nothing_to_report() -> None:
    assert github(CLEAN, str) == ""
    assert json.loads(gitlab(CLEAN, str)) == []
    suite = ET.fromstring(junit(CLEAN, str))[0]
    assert [(case.get("name"), len(case)) for case in suite] == [("nothing to report", 0)]


def check_junit(text: str, report: Report) -> None:
    """What the schemas of JUnit's XML that Jenkins and others publish have in common."""
    root = ET.fromstring(text.encode())
    assert root.tag == "testsuites"
    for suite in (root, *root):
        cases = list(suite.iter("testcase"))
        assert int(suite.get("tests", "")) == len(cases)
        assert int(suite.get("failures", "")) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.get("errors", "")) == sum(case.find("error") is not None for case in cases)
        assert float(suite.get("time", "")) >= 0
    for case in root.iter("testcase"):
        assert {"classname", "name", "time"} <= set(case.attrib) <= {"classname", "name", "time", "file", "line"}
        for verdict in case:
            assert verdict.tag in ("failure", "error")
            assert set(verdict.attrib) == {"message", "type"}
    assert sum(len(case) for case in root.iter("testcase")) == len(list(items(report)))


@pytest.mark.parametrize("report", [SAMPLE, CLEAN], ids=["something", "nothing"])
def test_junit(report: Report) -> None:
    check_junit(junit(report, str), report)


@given(path=HOSTILE, message=HOSTILE)
def test_junit_is_well_formed(path: str, message: str) -> None:
    report = named(path, message)
    text = junit(report, str)
    assert text.isascii()
    check_junit(text, report)


def test_junit_is_read_by_others() -> None:
    junitparser = pytest.importorskip("junitparser")
    parsed = junitparser.JUnitXml.fromstring(junit(SAMPLE, str).encode())
    (suite,) = parsed
    kinds = [type(result).__name__ for case in suite for result in case.result]
    assert kinds == ["Failure", "Failure", "Failure", "Error"]
    assert (parsed.tests, parsed.failures, parsed.errors) == (4, 3, 1)


@pytest.mark.parametrize("write", [github, gitlab, junit])
def test_no_format_needs_more_than_ascii_to_name_a_file(write: Callable[[Report, Callable[[str], str]], str]) -> None:
    odd = replace(SAMPLE, functions=(), findings=(), errors=(FileError("caf\udce9.py", 3, "bad"),))
    assert write(odd, str).encode("utf-8", "backslashreplace").decode().count("dce9") >= 1


class InNotebooks:
    """Shows paths as they are, and knows where a place is in the file."""

    def __call__(self, path: str) -> str:
        return path

    def position(self, path: str, line: int, column: int) -> tuple[int, int]:
        return line + 1000, column + 100


def test_places_are_those_in_the_file_itself() -> None:
    report = replace(SAMPLE, functions=(), errors=())
    assert "line=1008,endLine=1008,col=105" in github(report, InNotebooks())
    assert json.loads(gitlab(report, InNotebooks()))[0]["location"]["lines"] == {"begin": 1008, "end": 1008}
    case = ET.fromstring(junit(report, InNotebooks())).find(".//testcase")
    assert case is not None
    assert case.get("line") == "1008"
    result = to_sarif(report, "1", {}, InNotebooks())["runs"][0]["results"][0]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1008, "startColumn": 105, "endLine": 1008, "endColumn": 120}
