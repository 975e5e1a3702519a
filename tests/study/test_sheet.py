"""Rating by CSV: out, filled, in again; mistakes by row and column, and nothing imported when there is one."""

from __future__ import annotations

import csv
import io
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridize.study.label import ratings, sheet
from hybridize.study.label.sheet import SheetError

Row = dict[str, str]


def rows_of(text: str) -> list[Row]:
    return list(csv.DictReader(io.StringIO(text)))


def text_of(rows: list[Row], delimiter: str = ",") -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, sheet.COLUMNS, delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def filled(study: sqlite3.Connection, *changes: Row) -> str:
    rows = rows_of(sheet.export(study, "ana"))
    for row, change in zip(rows, changes, strict=False):
        row.update(change)
    return text_of(rows)


def complaints(study: sqlite3.Connection, text: str) -> list[tuple[int, str]]:
    with pytest.raises(SheetError) as caught:
        sheet.read(study, text, "ana")
    return [(mistake.row, mistake.column) for mistake in caught.value.mistakes]


def test_an_export_has_the_queue_and_only_ones_own_answers(study: sqlite3.Connection, items: list[str]) -> None:
    ratings.save(study, items[0], "bo", ratings.parse({"is_fix": False, "comment": "secret"}), 0, submit=True)
    text = sheet.export(study, "ana")
    assert [row["item"] for row in rows_of(text)] == items
    assert "secret" not in text
    assert rows_of(sheet.export(study, "ana", "no such round")) == []


def test_an_untouched_sheet_changes_nothing(study: sqlite3.Connection) -> None:
    assert sheet.read(study, sheet.export(study, "ana"), "ana") == sheet.Imported(0, 0, 5)


def test_filled_rows_are_submitted_and_drafts_kept(study: sqlite3.Connection, items: list[str]) -> None:
    text = filled(
        study, {"is_fix": "yes", "category": "Test", "comment": "=SUM(A1), or not"}, {"is_fix": "No", "state": "draft"}
    )
    assert sheet.read(study, "\ufeff" + text, "ana") == sheet.Imported(1, 1, 3)
    first, second = ratings.load(study, items[0], "ana"), ratings.load(study, items[1], "ana")
    assert first is not None
    assert (first.state, first.form.comment) == ("submitted", "=SUM(A1), or not")
    assert second is not None
    assert second.state == "draft"
    assert sheet.read(study, sheet.export(study, "ana"), "ana").unchanged == 5


@pytest.mark.parametrize("text", ["=1+1", "'=1+1", "-x", "@a", "''=1", "plain", "'quoted'", "+", "", "'"])
def test_cells_that_look_like_formulas_survive_the_round_trip_defused(
    study: sqlite3.Connection, items: list[str], text: str
) -> None:
    ratings.save(study, items[0], "ana", ratings.parse({"comment": text, "discuss": True}), 0)
    out = sheet.export(study, "ana")
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows_of(out) for value in row.values())
    assert sheet.read(study, out, "ana").unchanged == 5


def test_semicolons_and_tabs_do_as_well(study: sqlite3.Connection) -> None:
    for delimiter in ";\t":
        rows = rows_of(sheet.export(study, "ana"))
        assert sheet.read(study, text_of(rows, delimiter), "ana").unchanged == 5


def test_every_mistake_is_named_by_row_and_column_and_nothing_is_imported(
    study: sqlite3.Connection, items: list[str]
) -> None:
    text = filled(
        study,
        {"is_fix": "no"},
        {"is_fix": "maybe"},
        {"is_fix": "yes", "category": "Nonsense", "cause": "Unknown", "cause_new": "Mine"},
        {"is_fix": "no", "fix": "Other"},
        {"is_fix": "yes", "category": "Test", "state": "done", "rater": "bo"},
    )
    assert complaints(study, text) == [
        *[(3, "is_fix"), (4, "category"), (4, "cause"), (4, "symptom"), (4, "fix"), (5, "fix")],
        *[(6, "rater"), (6, "state")],
    ]
    assert ratings.load(study, items[0], "ana") is None


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda rows: rows.append(dict(rows[0])), [(7, "item")]),
        (lambda rows: rows[0].update(item="commit:none", is_fix="no"), [(2, "item")]),
        (lambda rows: rows[0].update(revision="7", is_fix="no"), [(2, "revision")]),
        (lambda rows: rows[0].update(revision="x"), [(2, "revision")]),
        (lambda rows: rows[0].update(is_fix="no", fix_new="n" * 200), [(2, "fix_new")]),
    ],
)
def test_structural_mistakes(
    study: sqlite3.Connection, spoil: Callable[[list[Row]], None], expected: list[tuple[int, str]]
) -> None:
    rows = rows_of(sheet.export(study, "ana"))
    spoil(rows)
    assert complaints(study, text_of(rows)) == expected


def test_missing_columns_are_named(study: sqlite3.Connection) -> None:
    assert (1, "category_new") in complaints(study, "item,is_fix,category\n")
    assert complaints(study, "")[0] == (1, "item")


def test_what_was_rated_in_the_page_since_the_export_is_not_overwritten(
    study: sqlite3.Connection, items: list[str]
) -> None:
    text = filled(study, {"is_fix": "no"})
    ratings.save(study, items[0], "ana", ratings.parse({"is_fix": True}), 0)
    assert complaints(study, text) == [(2, "revision")]


def test_the_command_line_round_trip(study_file: Path, tmp_path: Path) -> None:
    driver = (
        "import argparse,sys; from hybridize.study import cli_label; p=argparse.ArgumentParser();"
        "cli_label.add_parser(p.add_subparsers()); a=p.parse_args(['label',*sys.argv[1:]]); sys.exit(a.study_run(a))"
    )

    def label(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", driver, str(study_file), "--rater", "Ana Lee", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    out = tmp_path / "sheet.csv"
    assert label("--export-csv", str(out)).returncode == 0
    assert out.read_bytes().startswith(b"\xef\xbb\xbfitem,")
    rows = rows_of(out.read_text(encoding="utf-8-sig"))
    rows[0]["is_fix"] = "perhaps"
    out.write_text(text_of(rows))
    bad = label("--import-csv", str(out))
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "row 2, column is_fix: must be yes, no or empty, not 'perhaps'" in bad.stderr
    rows[0]["is_fix"] = "no"
    out.write_text(text_of(rows))
    assert label("--import-csv", str(out)).stdout == "1 submitted, 0 drafts, 4 unchanged or empty\n"
