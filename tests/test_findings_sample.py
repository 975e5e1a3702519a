"""The sheets that people read findings from (scripts/findings_sample.py)."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from hybridize.rules.registry import all_rules

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from findings_sample import VERDICTS, Drawn, entry, figures, findings, kappa, read_sheet, sample

ROOT = Path(__file__).parent.parent
#: Of a rule that is told so often, so many are read at least; more of one project say little more.
OFTEN, ENOUGH = 20, 5


def _drawn(number: int, code: str = "HY201", project: str = "p", root: Path = Path("nowhere")) -> Drawn:
    data = {"code": code, "severity": "warning", "message": f"message {number}", "path": "a.py", "line": number}
    return Drawn(project, root, {**data, "column": 1, "function": "a:f", "evidence": []})


def test_a_sample_depends_on_the_seed_and_not_on_the_order_of_the_reports() -> None:
    found = [_drawn(number) for number in range(1, 50)]
    limits = {"per_rule": 10, "per_project": 99, "total": 99}
    first = sample(found, 1, **limits)
    assert len(first) == 10
    assert sample(found[::-1], 1, **limits) == first
    assert sample(found, 2, **limits) != first


def test_no_rule_and_no_project_takes_more_than_its_share() -> None:
    found = [_drawn(n, code, project) for n in range(9) for code in ("HY201", "HY206") for project in ("p", "q")]
    chosen = sample(found, 1, per_rule=5, per_project=3, total=99)
    assert sum(each.data["code"] == "HY201" for each in chosen) == 5
    assert max(sum(e.project == p and e.data["code"] == "HY206" for e in chosen) for p in "pq") == 3
    assert len(sample(found, 1, per_rule=5, per_project=3, total=4)) == 4


def test_information_is_not_drawn(tmp_path: Path) -> None:
    told = [{"code": "HY105", "severity": severity} for severity in ("error", "warning", "info")]
    (tmp_path / "p.json").write_text(json.dumps({"project": {"root": "/r"}, "findings": told}))
    assert [each.data["severity"] for each in findings(tmp_path / "p.json")] == ["error", "warning"]


def test_a_sheet_shows_the_source_and_gives_back_what_was_judged(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    drawn = [_drawn(2, root=tmp_path), _drawn(3, "HY206", root=tmp_path), _drawn(1, root=tmp_path)]
    sheet = "\n".join(map(entry, drawn))
    assert ">    2 two\n     3 three" in sheet
    assert read_sheet(sheet) == {}
    filled = sheet.replace("verdict:", "verdict: true", 1).replace("verdict:\n", "verdict: idle\n", 1)
    assert read_sheet(filled) == {drawn[0].key: ("HY201", "true"), drawn[1].key: ("HY206", "idle")}
    with pytest.raises(ValueError, match="perhaps is none of"):
        read_sheet(filled.replace("idle", "perhaps"))


def test_precision_counts_what_one_can_act_on() -> None:
    sheet = dict(enumerate([("HY201", "true"), ("HY201", "overstated"), ("HY201", "idle"), ("HY206", "wrong")]))
    rows = list(figures([{str(key): value for key, value in sheet.items()}]))
    assert rows[2:] == [
        "| HY201 | 3 | 1 | 1 | 1 | 0 | 67% |",
        "| HY206 | 1 | 0 | 0 | 0 | 1 | 0% |",
        "| all | 4 | 1 | 1 | 1 | 1 | 50% |",
    ]


def test_kappa_is_agreement_beyond_chance() -> None:
    assert kappa([("true", "true"), ("idle", "idle")]) == 1.0
    assert kappa([("true", "true"), ("true", "idle"), ("idle", "true"), ("idle", "idle")]) == 0.0
    # 20 + 15 of 50 alike, chance 0.5: the example of Cohen's coefficient in textbooks
    pairs = [("true", "true")] * 20 + [("true", "wrong")] * 5 + [("wrong", "true")] * 10 + [("wrong", "wrong")] * 15
    assert kappa(pairs) == pytest.approx(0.4)


def test_each_rule_that_is_told_often_says_how_often_it_is_right() -> None:
    samples = tomllib.loads((ROOT / "benchmarks" / "findings.toml").read_text(encoding="utf-8"))["sample"]
    rules = {rule.code for rule in all_rules()}
    for each in samples:
        assert each["rules"].keys() <= rules
        for code, row in each["rules"].items():
            read = sum(row[verdict] for verdict in VERDICTS)
            assert row["hits"] < OFTEN or read >= ENOUGH, f"{each['name']}: of {code} only {read} are read"
