"""The database opens, migrates, refuses what it does not know, and takes two writers at once."""

from __future__ import annotations

import sqlite3
import sys
import threading

import pytest

from hybridize.study import schema
from hybridize.study.export import QUERIES, ExportError, export, frame
from hybridize.study.schema import DatabaseError, connect, transaction
from hybridize.study.store import put_text, text_of


def test_a_new_file_has_the_newest_version_and_enforces_references(tmp_path):
    database = connect(tmp_path / "s.db")
    assert database.execute("PRAGMA user_version").fetchone()[0] == len(schema.MIGRATIONS)
    assert database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    with pytest.raises(sqlite3.IntegrityError):
        database.execute("INSERT INTO rating (item, rater, created_at, updated_at) VALUES ('x', 'y', '', '')")


def test_opening_twice_changes_nothing(tmp_path):
    connect(tmp_path / "s.db").execute("INSERT INTO rater (name, initials, created_at) VALUES ('a', 'A', '')")
    assert connect(tmp_path / "s.db").execute("SELECT count(*) FROM rater").fetchone()[0] == 1


def test_a_later_version_is_reached_step_by_step(tmp_path, monkeypatch):
    connect(tmp_path / "s.db").close()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE extra (x);"))
    assert connect(tmp_path / "s.db").execute("SELECT count(*) FROM extra").fetchone()[0] == 0


def test_a_failed_migration_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    connect(tmp_path / "s.db").close()
    before = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", (*before, "CREATE TABLE extra (x);\nCREATE TABLE extra (x);"))
    with pytest.raises(DatabaseError):
        connect(tmp_path / "s.db")
    monkeypatch.setattr(schema, "MIGRATIONS", before)
    assert connect(tmp_path / "s.db").execute("PRAGMA user_version").fetchone()[0] == len(before)


def test_a_newer_tools_file_is_refused(tmp_path):
    connect(tmp_path / "s.db").execute("PRAGMA user_version = 99")
    with pytest.raises(DatabaseError, match="update hybridize"):
        connect(tmp_path / "s.db")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text.db").write_text("not a database, but long enough to look like one to a reader of headers" * 20)
    with pytest.raises(DatabaseError, match="not a study database"):
        connect(tmp_path / "text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(DatabaseError, match="something else"):
        connect(tmp_path / "other.db")
    with pytest.raises(DatabaseError, match="no study database"):
        connect(tmp_path / "none.db", create=False)


def test_a_transaction_is_all_or_nothing(tmp_path):
    database = connect(tmp_path / "s.db")

    def fail() -> None:
        with transaction(database), transaction(database):
            put_text(database, "a", "x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert text_of(database, "a") is None


def test_two_writers_wait_for_each_other(tmp_path):
    connect(tmp_path / "s.db").close()
    errors: list[BaseException] = []

    def write(who: str) -> None:
        try:
            database = connect(tmp_path / "s.db")
            for number in range(40):
                with transaction(database):
                    put_text(database, f"{who}{number}", "x")
            database.close()
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(who,)) for who in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not errors
    assert connect(tmp_path / "s.db").execute("SELECT count(*) FROM source_text").fetchone()[0] == 120


@pytest.mark.parametrize("text", ["", "é \udc80 \x00", "x" * 100_000])
def test_texts_come_back_as_they_were(tmp_path, text):
    database = connect(tmp_path / "s.db")
    put_text(database, "a", text)
    assert text_of(database, "a") == text


@pytest.mark.parametrize("table", QUERIES)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_table_exports(tmp_path, table, form):
    assert export(connect(tmp_path / "s.db"), table, tmp_path / "out", form) == 0


def test_a_spreadsheet_gets_no_formula(tmp_path):
    database = connect(tmp_path / "s.db")
    database.execute("INSERT INTO repository (name, path, url) VALUES ('=cmd()', 'p', NULL)")
    export(database, "repositories", tmp_path / "out.csv", "csv")
    assert "\n'=cmd()," in (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_parquet_says_what_it_needs(tmp_path, monkeypatch, missing):
    pytest.importorskip("pandas")  # which looks for pyarrow once, when it is imported
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ExportError, match="pip install"):
        export(connect(tmp_path / "s.db"), "repositories", tmp_path / "out.parquet", "parquet")
    with pytest.raises(ExportError, match="give --out"):
        export(connect(tmp_path / "s.db"), "repositories", None, "parquet")


def test_parquet_holds_what_the_table_holds(tmp_path, study_file):
    parquet = pytest.importorskip("pyarrow.parquet")
    database = connect(study_file)
    for table, query in QUERIES.items():
        cursor = database.execute(query)
        names, rows = [column[0] for column in cursor.description], [tuple(row) for row in cursor]
        assert export(database, table, tmp_path / f"{table}.parquet", "parquet") == len(rows)
        found = parquet.read_table(tmp_path / f"{table}.parquet")
        assert found.column_names == names
        assert [tuple(row.values()) for row in found.to_pylist()] == rows
    commits = frame(database, "commits")
    assert commits["subject"][0] == "Speed up step"
    assert commits["is_bug_fix"].sum() == 4
    assert frame(database, "suggestions")["confidence"].between(0, 1).all()


def test_parquet_types_do_not_depend_on_the_rows(tmp_path, study_file):
    parquet = pytest.importorskip("pyarrow.parquet")
    for table in QUERIES:
        export(connect(study_file), table, tmp_path / "full.parquet", "parquet")
        export(connect(tmp_path / "empty.db"), table, tmp_path / "empty.parquet", "parquet")
        assert parquet.read_schema(tmp_path / "full.parquet") == parquet.read_schema(tmp_path / "empty.parquet")


def test_parquet_takes_half_characters(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    database = connect(tmp_path / "s.db")
    database.execute("INSERT INTO repository (name, path) VALUES (?, 'p')", ("caf\u00e9 \x00",))
    export(database, "repositories", tmp_path / "out.parquet", "parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["name"].to_pylist() == ["caf\u00e9 \x00"]
    with pytest.raises(ExportError, match="cannot write"):
        export(database, "repositories", tmp_path / "no" / "out.parquet", "parquet")
