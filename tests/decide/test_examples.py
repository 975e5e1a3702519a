"""Each precondition and status has an example, of which `check` says its code; its page shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hybridize
from hybridize.config import load_config
from hybridize.decide.documentation import PRECONDITION_DOCS, STATUS_DOCS
from hybridize.decide.examples import EXAMPLES, OPTIONS
from hybridize.report.documentation import load_docs

#: A decision that a repair makes.
BY_REPAIR = {"P5": "HY813"}
#: Where the name of the file matters.
NAMES = {"HY025": "test_main.py"}
CODES = [*PRECONDITION_DOCS, *STATUS_DOCS]


def said(report: hybridize.Report) -> Iterator[str]:
    for function in report.functions:
        yield function.decision.precondition or ""
        yield from (status.code for status in function.statuses)
    yield from (finding.code for finding in report.findings)
    yield from (repair.code for bundle in report.repairs for repair in bundle.repairs)


def test_all_but_our_own_mistakes_have_one() -> None:
    assert set(CODES) - set(EXAMPLES) == {"HY029"}
    assert set(OPTIONS) <= set(EXAMPLES) <= set(CODES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_check_says_the_code_of_its_example(code: str, tmp_path: Path) -> None:
    (tmp_path / NAMES.get(code, "main.py")).write_text(EXAMPLES[code])
    report = hybridize.check(tmp_path, load_config([tmp_path], OPTIONS.get(code, {})))
    assert not report.errors
    assert BY_REPAIR.get(code, code) in set(said(report))


@pytest.mark.parametrize("code", CODES)
def test_the_page_says_more_than_the_list(code: str) -> None:
    doc = load_docs()[code]
    assert len(doc.details.partition("## ")[0]) > 60
    assert EXAMPLES.get(code, "") in doc.details
