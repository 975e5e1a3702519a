"""The sub-commands label, agree, tables and figures as a user types them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from hybridize.study import cli_agree, cli_label, cli_tables
from hybridize.study.label import ratings
from hybridize.study.store import connect


def run(*words: str) -> int:
    import argparse

    parser = argparse.ArgumentParser()
    steps = parser.add_subparsers()
    for module in (cli_label, cli_agree, cli_tables):
        module.add_parser(steps)
    args = parser.parse_args(words)
    code: int = args.study_run(args)
    return code


def test_published_tables_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form, ending in (("markdown", "md"), ("latex", "tex"), ("csv", "csv"), ("html", "html")):
        assert run("tables", "--data", "published", "--format", form, "--out", str(tmp_path / form)) == 0
        names = {path.name for path in (tmp_path / form).iterdir()}
        assert names == {
            f"{n}.{ending}" for n in ("table1", "table2", "table3", "table4", "figure1", "comparison", "findings")
        }
    rows = list(csv.reader(io.StringIO((tmp_path / "csv" / "table2.csv").read_text())))
    assert rows[-1] == ["Total", "", "157", "123", "280"]


def test_only_and_breakdown_choose(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tables", "--data", "published", "--only", "4", "--breakdown", "INC:symptom") == 0
    out = capsys.readouterr().out
    assert "API confusion | 20" in out
    assert "Runtime error or Unexpected behavior | 40" in out
    assert "Table 2" not in out


def test_published_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run("figures", "--data", "published", "--format", "svg", "--out", str(tmp_path)) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"figure{n}.svg" for n in (1, 2, 3, 4)]
    assert "81.63%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["tables"], "give a database, or --data published"),
        (["tables", "DB", "--data", "published"], "give a database, or --data published"),
        (["tables", "none.db"], "no study database at none.db"),
        (["tables", "--data", "published", "--only", "9"], "there is no table '9'"),
        (["tables", "--data", "published", "--breakdown", "Speed:fix"], "there is no category 'Speed'"),
        (["tables", "--data", "published", "--breakdown", "INC"], "needs CATEGORY:FACET"),
        (["tables", "DB", "--rater", "nobody"], "there is no rater 'nobody'"),
        (["figures", "DB"], "no final problem to draw"),
        (["agree", "DB", "--raters", "nobody"], "there is no rater 'nobody'"),
        (["agree", "DB", "--round", "first"], "there is no round 'first'; there are "),
        (["label", "DB", "--rater", "ana", "--export-csv", "x.csv", "--round", "first"], "there is no round 'first'"),
        (["agree", "DB", "--level", "95"], "--level must lie between"),
        (["label", "DB", "--codebook", "none.toml"], "none.toml"),
        (["label", "DB", "--accept-agreed"], "--rater NAME is needed"),
        (["label", "DB", "--make-round", "x", "--size", "-1"], "can't be negative"),
        (["label", "DB", "--raters-per-item", "1"], "at least 2"),
        (["label", "DB", "--import-csv", "none.csv", "--rater", "ana"], "none.csv"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    study_file: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*[str(study_file) if word == "DB" else word for word in words]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_from_labels_to_agreement_and_tables(study_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = connect(study_file)
    items = [row[0] for row in db.execute("SELECT id FROM item ORDER BY queue_position")]
    for name in ("ana", "bo"):
        ratings.add_rater(db, name)
        for item in items:
            is_fix = item != items[0]
            form = ratings.parse({"is_fix": is_fix, "category": {"choice": "Test"} if is_fix else {}})
            ratings.save(db, item, name, form, 0, submit=True)
    db.close()
    assert run("agree", str(study_file), "--format", "json", "--resamples", "50") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["items"], found["disagreements"]) == (1, 5, [])
    assert run("agree", str(study_file), "--no-disagreements") == 0
    assert "Cohen's kappa | ana × bo | 5 | 1.000" in capsys.readouterr().out
    assert run("tables", str(study_file), "--only", "2", "--rater", "ana") == 0
    assert "| Test | TST | 3 | 1 | 4 |" in capsys.readouterr().out
    assert run("label", str(study_file), "--accept-agreed", "--rater", "ana") == 0
    assert run("tables", str(study_file), "--only", "2") == 0
    assert "| Test | TST | 3 | 1 | 4 |" in capsys.readouterr().out
