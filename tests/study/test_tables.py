"""Tables and findings: the published counts give the paper's numbers, and a database's own rows the same way."""

from __future__ import annotations

import csv
import html.parser
import io
import sqlite3
import sys
from collections.abc import Iterator

import pytest

from hybridize.study import codebook, codebook_store, tables
from hybridize.study.counts import Where
from hybridize.study.findings import findings, percent, unanswered
from hybridize.study.published import published
from hybridize.study.store import connect, now
from hybridize.study.tally import Problem, Tally, from_database

TABLE_2 = {
    "PRF": (74, 37, 111),
    "APM": (23, 30, 53),
    "INC": (16, 33, 49),
    "TFB": (4, 18, 22),
    "OTH": (14, 2, 16),
    "UKN": (10, 0, 10),
    "TST": (8, 0, 8),
    "DBG": (4, 2, 6),
    "EVS": (1, 1, 2),
    "CMP": (1, 0, 1),
    "NME": (1, 0, 1),
    "SEG": (1, 0, 1),
}
TABLE_3 = [61, 20, 9, 8, 4, 5, 2, 2]
TABLE_4 = [20, 14, 8, 7, 2, 1, 1]


def named(name: str) -> tables.Table:
    return next(table for table in tables.all_tables(published()) if table.name == name)


def test_table_1_as_published() -> None:
    rows = {row[0]: row[1:] for row in named("table1").rows}
    assert rows["fixes"] == (122, 10879, "2015-11-06 to 2021-01-14", 199140, 470, 470)
    assert rows["reports"] == (167, 17378, "2012-05-07 to 2021-08-11", 237232, 704, 446)
    assert rows["total"] == (250, 19677, "2012-05-07 to 2021-08-11", 436372, 1174, 916)


def test_table_2_as_published_with_its_totals() -> None:
    rows = named("table2").rows
    assert {row[1]: row[2:] for row in rows[:-1]} == TABLE_2
    assert rows[-1] == ("Total", "", 157, 123, 280)


def test_tables_3_and_4_as_published() -> None:
    third, fourth = named("table3").rows, named("table4").rows
    assert [row[1] for row in third[:-1]] == TABLE_3
    assert third[-1] == ("Total", 111, "100.00%")
    assert [row[1] for row in fourth[:-1]] == TABLE_4
    assert fourth[-1][1] == 53


def test_every_sum_of_the_published_counts_holds() -> None:
    checks = published().checks()
    assert len(checks) > 30
    assert [check for check in checks if not check.holds] == []


def test_findings_print_what_the_counts_give_and_mark_what_the_paper_prints_otherwise() -> None:
    found = {finding.number: finding for finding in findings(published())}
    assert sorted(found) == list(range(1, 12))
    assert found[1].shares == ((111, 280),)
    assert found[8].shares == ((15, 53), (7, 15), (5, 8))
    assert "39.64% (111/280), performance was the largest" in found[1].text
    assert "18.93% (53/280)" in found[6].text
    assert "2nd largest" in found[6].text
    assert "3rd largest" in found[9].text
    assert found[4].shares == ((29, 111),)
    assert "25.23%" in " ".join(found[4].notes)
    assert found[1].notes == ("Against API misuse (53): p < 0.0001 (exact binomial test, two-sided).",)
    assert "Against Incompatibility (49): p = 0.7666 (exact binomial test, two-sided)." in found[6].notes
    printed_otherwise = [n for n, finding in found.items() if any("The text prints" in note for note in finding.notes)]
    assert printed_otherwise == [4]


def test_known_inconsistencies_are_printed_with_the_tables_they_concern() -> None:
    assert "460.21 over the 250 subjects is 1.84" in tables.markdown(named("table1"))
    assert "80% of TensorFlow bugs" in tables.markdown(named("table2"))
    assert "28 of 111" in tables.markdown(named("table3"))


def test_what_the_paper_does_not_say_stays_unknown() -> None:
    assert published().count(Where("Debuggability", fix=frozenset({"Other"}))) is None
    assert published().breakdown("Debuggability", "fix") is None
    assert published().count(Where("API misuse", symptom=frozenset({"Lower performance"}))) is None
    assert published().count(Where("Incompatibility", symptom=frozenset({"Runtime error"}))) is None


def test_percentages_round_half_up() -> None:
    assert percent(1, 32) == "3.13%"
    assert percent(8, 111) == "7.21%"
    assert percent(0, 0) == "undefined"


HOSTILE = 'a|b <script>alert(1)</script> & "c" 100% $x_1$ \\'


def hostile_table() -> tables.Table:
    return tables.Table(
        "table9", HOSTILE, ("name", "count"), ((HOSTILE, 1234), ("Total", None)), 1, (HOSTILE,), (HOSTILE,)
    )


def test_html_escapes_everything() -> None:
    tags: list[str] = []

    class Seen(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    Seen().feed(tables.page(HOSTILE, [tables.html_fragment(hostile_table())]))
    assert "td" in tags
    assert "script" not in tags


def test_markdown_keeps_its_columns_whatever_a_name_holds() -> None:
    lines = [line for line in tables.markdown(hostile_table()).splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {3}
    assert "<script" not in tables.markdown(hostile_table())


def test_latex_escapes_its_own_characters() -> None:
    text = tables.latex(hostile_table())
    assert r"100\% \$x\_1\$ \textbackslash{}" in text
    assert r"1,234 \\" in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1


def test_csv_is_for_machines() -> None:
    rows = list(csv.reader(io.StringIO(tables.comma_separated(hostile_table()))))
    assert rows == [["name", "count"], [HOSTILE, "1234"], ["Total", ""]]


def problem(number: int, category: str, **more: str) -> Problem:
    source = "issue" if number % 3 == 0 else "commit"
    return Problem(f"i{number}", source, "p/q", category, more.get("cause"), more.get("symptom"), more.get("fix"))


def test_the_same_tables_come_from_rows() -> None:
    add, removed = "Add tf.function decorator", "Remove tf.function decorator"
    rows = (
        problem(1, "Performance", fix=add),
        problem(2, "Unspecified input signature", fix="Add input_signature argument to tf.function"),
        problem(3, "Creating tf.Variables", cause="API confusion", symptom="Runtime error", fix=removed),
        problem(4, "Unknown"),
    )
    tally = Tally("mine", codebook.built_in(), rows, ())
    second = {row[0]: row[2:] for row in tables.categories_table(tally).rows}
    assert second["Performance"] == (2, 0, 2)
    assert second["API misuse"] == (0, 1, 1)
    assert second["Total"] == (3, 1, 4)
    assert tally.count(Where("Performance", own=True)) == 1
    found = {finding.number: finding for finding in findings(tally)}
    assert found[5].shares == ((1, 2),)
    assert found[8].shares == ((1, 1), (1, 1), (1, 1))
    assert 10 in unanswered(tally)  # no incompatibility: nothing to say, and no share of nothing
    assert all(check.holds for check in tally.checks())


def test_details_that_nobody_gave_are_a_row_of_their_own_so_that_sums_hold() -> None:
    tally = Tally("mine", codebook.built_in(), (problem(1, "Performance"), problem(2, "Performance", fix="Other")), ())
    table = tables.breakdown_table(tally, "Performance", "fix", "x", "x")
    assert [row[:2] for row in table.rows] == [("Other", 1), ("(none given)", 1), ("Total", 2)]


def test_a_codebook_without_the_papers_roles_leaves_findings_out() -> None:
    book = codebook.Codebook("other", "jax.jit", (codebook.Code("category", "Leak"),))
    tally = Tally("other", book, (problem(1, "Leak"),), ())
    assert findings(tally) == ()
    assert unanswered(tally) == tuple(range(1, 12))
    assert "Not answered by these counts: 1, 2" in tables.markdown(tables.findings_table(tally))


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = connect(":memory:")
    codebook_store.save(connection, codebook.built_in())
    yield connection
    connection.close()


def test_a_database_counts_reconciled_rows_and_says_what_waits(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO repository (id, name, path, commits, state) VALUES (1, 'o/r', '/x', 90, 'done')")
    db.execute("INSERT INTO rater VALUES ('ana', 'A', 'rater', ?)", (now(),))
    number = codebook_store.code_id(db, "category", "Performance")
    for place, day in ((1, "2020-02-03"), (2, "2021-04-05")):
        db.execute(
            "INSERT INTO changeset (id, repository_id, sha, author, authored_at, subject, body, is_bug_fix,"
            " touches_use, state) VALUES (?, 1, ?, 'x', ?, 's', '', 1, 1, 'done')",
            (place, f"{place:040d}", f"{day}T00:00:00Z"),
        )
        db.execute(
            "INSERT INTO item (id, kind, changeset_id, project, title) VALUES (?, 'commit', ?, 'o/r', 't')",
            (f"commit:{place}", place),
        )
        db.execute(
            "INSERT INTO rating (item, rater, state, is_fix, category_id, created_at, updated_at)"
            " VALUES (?, 'ana', 'submitted', 1, ?, '', '')",
            (f"commit:{place}", number),
        )
    db.execute(
        "INSERT INTO reconciled (item, is_fix, category_id, reconciler, updated_at)"
        " VALUES ('commit:1', 1, ?, 'ana', '')",
        (number,),
    )
    tally = from_database(db)
    assert tally.count(Where("Performance", source="commit")) == 1
    assert tables.subjects_table(tally).rows[0] == ("fixes", 1, None, "2020-02-03 to 2021-04-05", 90, 2, 2)
    assert "1 rated items are not reconciled" in tables.markdown(tables.categories_table(tally))
    assert from_database(db, rater="ana").count(Where()) == 2


def test_nothing_rated_names_no_largest() -> None:
    nothing = Tally("mine", codebook.built_in(), (), ())
    assert findings(nothing) == ()
    written = "".join(tables.markdown(table) for table in tables.all_tables(nothing))
    assert "undefined" not in written
    assert "| **Total** | **0** | **–** |" in written


def test_commits_and_issues_are_compared_by_fishers_test_with_holms_correction() -> None:
    pytest.importorskip("scipy")
    rows = {row[0]: row[1:] for row in named("comparison").rows}
    assert rows["Performance"][:2] == ("74/157 (47.13%)", "37/123 (30.08%)")
    assert float(str(rows["Performance"][2])) == pytest.approx(0.0046, abs=0.0015)
    assert all(float(str(row[3])) >= float(str(row[2])) for row in rows.values())


def test_without_scipy_nothing_is_tested_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert "not tested" in " ".join(findings(published())[0].notes)
    comparison = named("comparison")
    assert comparison.rows == ()
    assert "Not compared" in comparison.notes[0]
