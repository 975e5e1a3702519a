"""The codebook: the built-in names, a user's extension, what is refused, and its life in the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridize.study import codebook, codebook_store
from hybridize.study.codebook import CodebookError
from hybridize.study.store import connect


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = connect(":memory:")
    yield connection
    connection.close()


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_built_in_book_has_the_papers_shape() -> None:
    book = codebook.built_in()
    top = book.children(None)
    assert len(top) == 12
    abbreviations = " ".join(str(code.abbreviation) for code in top)
    assert abbreviations == "PRF APM INC TFB OTH UKN TST DBG EVS CMP NME SEG"
    assert book.top_of("Using Python iterators and generators") == "API misuse"
    assert len(book.subtree("Performance")) == 5
    # 12 top-level and 24 overall in the paper: it counts what has instances, and one child's name is not in its text.
    assert len([code for code in book.of("category") if not code.abstract]) == 23
    assert all(code.definition for code in book.codes)


def test_details_are_optional_for_unknown_test_and_other_only() -> None:
    book = codebook.built_in()
    free = {code.name for code in book.of("category") if book.details_optional(code.name)}
    assert free == {"Unknown", "Test", "Other"}


def test_a_users_file_adds_changes_and_retires(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        title = "Hybridization bugs in JAX programs"
        keyword = "jax.jit"
        [[category]]
        name = "Tracer leak"
        parent = "API misuse"
        definition = "A traced value escapes."
        [[category]]
        name = "Conversion to TFLite"
        retired = true
        """,
    )
    book = codebook.load(path)
    assert (book.keyword, book.source) == ("jax.jit", "mine.toml")
    leak = book.get("category", "Tracer leak")
    assert leak is not None
    assert leak.parent == "API misuse"
    assert leak.origin == "ours"
    retired = book.get("category", "Conversion to TFLite")
    assert retired is not None
    assert retired.retired
    assert retired.definition
    assert book.get("category", "Deadlock") is not None


def test_a_users_file_may_start_from_nothing(tmp_path: Path) -> None:
    book = codebook.load(write(tmp_path, 'extends = "nothing"\n[[fix]]\nname = "Wait"\n'))
    assert [code.name for code in book.codes] == ["Wait"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[category]]\nname = 3", "needs a name"),
        ('[[category]]\nname = "A"\ncolour = "red"', "unknown key 'colour'"),
        ('[[category]]\nname = "A"\nabstract = "yes"', "abstract must be true or false"),
        ('[[category]]\nname = "A"\nparent = "B"', "there is no parent 'B'"),
        ('[[category]]\nname = "A"\nparent = "A"', "its own ancestor"),
        ('[[category]]\nname = "A"\n[[category]]\nname = "A"', "stands there twice"),
        ('[[category]]\nname = "PERFORMANCE"', "but for case and spaces"),
        ('[[category]]\nname = "A"\nrole = "performance"', "given twice"),
        ('[[fix]]\nname = "A"\nparent = "Performance"', "only categories"),
        ("categories = 1", "unknown key 'categories'"),
        ("= 1", "no valid TOML"),
    ],
)
def test_bad_files_are_refused_with_the_entry(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(CodebookError, match=complaint):
        codebook.load(write(tmp_path, text))


def test_a_book_comes_back_from_the_database_as_it_went_in(db: sqlite3.Connection, tmp_path: Path) -> None:
    book = codebook.load(write(tmp_path, '[[category]]\nname = "Lost"\nrole = "lost"\ndetails_optional = true\n'))
    codebook_store.save(db, book)
    assert codebook_store.read(db) == book
    codebook_store.save(db, book)
    assert db.execute("SELECT count(*) FROM codebook").fetchone()[0] == 1


def test_names_that_raters_add_survive_a_new_version_and_dropped_names_are_retired(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    codebook_store.save(db, codebook.load(write(tmp_path, '[[fix]]\nname = "Short-lived"\n')))
    db.execute("INSERT INTO rater VALUES ('ana', 'A', 'rater', '2024-01-01T00:00:00Z')")
    number = codebook_store.add_code(db, "fix", "Wait a bit", "ana")
    assert codebook_store.add_code(db, "fix", "Wait a bit", "bo") == number
    codebook_store.save(db, codebook.built_in())
    book = codebook_store.read(db)
    waiting, dropped = book.get("fix", "Wait a bit"), book.get("fix", "Short-lived")
    assert waiting is not None
    assert waiting.added_by == "ana"
    assert dropped is not None
    assert dropped.retired
