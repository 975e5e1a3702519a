"""Every repair's own examples, and the programs that it must mend: statically, without TensorFlow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.model import Mode
from hybridize.repairs.model import Repair, RepairExample
from hybridize.repairs.registry import all_repairs
from hybridize.rules.registry import all_rules

from .support import Case, cases, fixed

REPAIRS = all_repairs()
EXAMPLES = [
    pytest.param(repair, example, id=f"{repair.code}-{i}")
    for repair in REPAIRS
    for i, example in enumerate(repair.examples)
]


@pytest.mark.parametrize(("repair", "example"), EXAMPLES)
def test_examples(repair: Repair, example: RepairExample, tmp_path: Path) -> None:
    done = fixed(example.before, tmp_path)
    assert done.text == example.after
    assert repair.code in {each.code for each, _ in done.repaired.done}
    assert fixed(done.text, tmp_path).text == done.text


@pytest.mark.parametrize(("repair", "example"), EXAMPLES)
def test_what_is_not_safe_waits_for_the_option(repair: Repair, example: RepairExample, tmp_path: Path) -> None:
    for each, _ in fixed(example.before, tmp_path, unsafe=False).repaired.done:
        assert each.safe


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_programs_are_mended(case: Case, tmp_path: Path) -> None:
    done = fixed(case.source, tmp_path)
    assert case.code in {each.code for each, _ in done.repaired.done}, done.repaired.left
    assert fixed(done.text, tmp_path).text == done.text
    (tmp_path / "program.py").write_text(done.text, encoding="utf-8")
    hybrid = {f.facts.qualname for f in analyze([tmp_path], Config()).functions if f.facts.mode is Mode.HYBRID}
    assert set(case.functions) <= hybrid


def test_every_repair_has_ten_programs() -> None:
    count = Counter(case.code for case in cases())
    assert {repair.code for repair in REPAIRS if count[repair.code] < 10} == set()


@pytest.mark.parametrize("repair", REPAIRS, ids=lambda repair: repair.code)
def test_repairs_are_documented(repair: Repair) -> None:
    assert len(repair.examples) >= 2
    assert repair.summary.endswith(".")
    assert len(repair.details.split()) > 15


def test_codes_are_unique() -> None:
    codes = [each.code for each in (*REPAIRS, *all_rules())]
    assert len(codes) == len(set(codes))
