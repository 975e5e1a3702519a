"""Ratings: the rules of a valid form, drafts, blindness, conflicts, reconciling, and the kappa that comes out."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from hybridize.study import agree, codebook, codebook_store, tally
from hybridize.study.counts import Where
from hybridize.study.label import items as views
from hybridize.study.label import ratings, reconcile, rounds
from hybridize.study.label.forms import Form, FormError, parse, problems
from hybridize.study.label.ratings import Conflict, Invalid, Refused
from hybridize.study.store import connect

BOOK = codebook.built_in()


def form(is_fix: bool | None = True, **labels: Any) -> Form:
    """`category="Test"` chooses, `category_new="x"` types."""
    data: dict[str, Any] = {"is_fix": is_fix, "discuss": labels.pop("discuss", False)}
    data["comment"] = labels.pop("comment", "")
    for name, value in labels.items():
        facet, _, typed = name.partition("_")
        data.setdefault(facet, {})["new" if typed else "choice"] = value
    return parse(data)


FULL = form(category="Performance", cause="Unknown", symptom="Lower performance", fix="Add tf.function decorator")
TEST = form(category="Test")
NO = form(False)


def broken(tried: Form) -> set[str]:
    return {problem.field for problem in problems(tried, BOOK)}


@pytest.mark.parametrize(
    ("tried", "fields"),
    [
        (form(None), {"is_fix"}),
        (NO, set()),
        (FULL, set()),
        (TEST, set()),
        (form(category="Unknown"), set()),
        (form(category="Other"), set()),
        (form(), {"category"}),
        (form(category="Performance"), {"cause", "symptom", "fix"}),
        (form(False, category="Test"), {"category"}),
        (form(False, fix_new="Wait"), {"fix"}),
        (form(None, category="Test"), {"is_fix"}),
        (form(category="Test", category_new="Mine"), {"category"}),
        (form(category="Input shapes"), {"category", "cause", "symptom", "fix"}),
        (form(category="No such"), {"category", "cause", "symptom", "fix"}),
        (form(category_new="Mine"), {"cause", "symptom", "fix"}),
        (form(category_new="  performance "), {"category", "cause", "symptom", "fix"}),
        (form(category="Test", fix_new="two\nlines"), {"fix"}),
        (form(category="Creating tf.Variables", cause="Unknown", symptom="None", fix="Other"), set()),
    ],
)
def test_rules_of_a_valid_form(tried: Form, fields: set[str]) -> None:
    assert broken(tried) == fields


@pytest.mark.parametrize(
    "data",
    [None, [], {"is_fix": 1}, {"x": 1}, {"fix": []}, {"fix": {"choice": 3}}, {"comment": "x" * 20_001},
     {"discuss": "no"}, {"comment": "\ud800"}, {"fix": {"new": "n" * 121}}],
)  # fmt: skip
def test_what_is_no_form_is_refused(data: object) -> None:
    with pytest.raises(FormError):
        parse(data)


def test_a_draft_comes_back_as_it_was_half_typed_names_included(study: sqlite3.Connection, items: list[str]) -> None:
    half = form(None, category_new="Tra", comment="not sure")
    stored = ratings.save(study, items[0], "ana", half, 0)
    assert (stored.form, stored.state, stored.revision) == (half, "draft", 1)
    assert ratings.load(study, items[0], "ana") == stored
    assert codebook_store.read(study).get("category", "Tra") is None
    assert agree.load(study) == []


def test_a_save_over_another_revision_is_a_conflict_that_shows_what_is_stored(
    study: sqlite3.Connection, items: list[str]
) -> None:
    first = ratings.save(study, items[0], "ana", NO, 0)
    for stale in (0, 2):
        with pytest.raises(Conflict) as caught:
            ratings.save(study, items[0], "ana", TEST, stale)
        assert caught.value.current == first
    assert ratings.save(study, items[0], "ana", TEST, 1).revision == 2


def test_two_raters_never_conflict(study: sqlite3.Connection, items: list[str], study_file: Any) -> None:
    other = connect(study_file)
    ratings.save(study, items[0], "ana", NO, 0)
    ratings.save(other, items[0], "bo", TEST, 0)
    other.close()
    assert ratings.load(study, items[0], "bo") is not None


def test_submitting_checks_the_rules_and_stores_nothing_broken(study: sqlite3.Connection, items: list[str]) -> None:
    with pytest.raises(Invalid) as caught:
        ratings.save(study, items[0], "ana", form(category="Performance"), 0, submit=True)
    assert {problem.field for problem in caught.value.problems} == {"cause", "symptom", "fix"}
    assert ratings.load(study, items[0], "ana") is None


def test_a_new_name_enters_the_codebook_once_and_the_next_rater_must_choose_it(
    study: sqlite3.Connection, items: list[str]
) -> None:
    done = ratings.save(study, items[0], "ana", form(category="Test", fix_new=" Use  a  lock "), 0, submit=True)
    assert done.form.answers["fix"].choice == "Use a lock"
    code = codebook_store.read(study).get("fix", "Use a lock")
    assert code is not None
    assert code.added_by == "ana"
    with pytest.raises(Invalid, match="exists already"):
        ratings.save(study, items[1], "bo", form(category="Test", fix_new="use a lock"), 0, submit=True)


def test_a_submitted_rating_must_be_withdrawn_before_it_changes(study: sqlite3.Connection, items: list[str]) -> None:
    done = ratings.save(study, items[0], "ana", NO, 0, submit=True)
    with pytest.raises(Refused, match="withdraw"):
        ratings.save(study, items[0], "ana", TEST, done.revision)
    draft = ratings.withdraw(study, items[0], "ana", done.revision)
    assert draft.state == "draft"
    assert ratings.save(study, items[0], "ana", TEST, draft.revision).form == TEST


def test_history_has_every_form_for_undo(study: sqlite3.Connection, items: list[str]) -> None:
    revision = 0
    for step in (NO, TEST, FULL):
        revision = ratings.save(study, items[0], "ana", step, revision).revision
    assert [parse(past) for past in ratings.history(study, items[0], "ana")] == [NO, TEST, FULL]


def test_blind_until_both_have_submitted_and_locked_once_compared(study: sqlite3.Connection, items: list[str]) -> None:
    mine = ratings.save(study, items[0], "ana", NO, 0, submit=True)
    with pytest.raises(Refused, match="Blind"):
        reconcile.reveal(study, items[0], "ana", 2)
    ratings.save(study, items[0], "bo", TEST, 0)
    with pytest.raises(Refused, match="Blind"):
        reconcile.reveal(study, items[0], "rec", 2)
    ratings.save(study, items[0], "bo", TEST, 1, submit=True)
    assert ratings.withdraw(study, items[0], "ana", mine.revision).state == "draft"
    ratings.save(study, items[0], "ana", NO, 2, submit=True)
    assert [(one.rater, one.form) for one in reconcile.reveal(study, items[0], "ana", 2)] == [("ana", NO), ("bo", TEST)]
    with pytest.raises(Refused, match="compared"):
        ratings.withdraw(study, items[0], "ana", 3)


def test_who_has_not_rated_may_not_look_and_a_reconciler_may_not_rate(
    study: sqlite3.Connection, items: list[str]
) -> None:
    for rater in ("ana", "bo"):
        ratings.save(study, items[0], rater, NO, 0, submit=True)
    ratings.add_rater(study, "late")
    with pytest.raises(Refused, match="your own"):
        reconcile.reveal(study, items[0], "late", 2)
    assert len(reconcile.reveal(study, items[0], "rec", 2)) == 2
    with pytest.raises(Refused, match="blind"):
        ratings.save(study, items[0], "rec", NO, 0)


def test_the_queue_tells_how_many_rated_but_not_what(study: sqlite3.Connection, items: list[str]) -> None:
    ratings.save(study, items[0], "bo", form(category="Test", discuss=True), 0, submit=True)
    row = views.queue(study, "ana", "one", 2)[0]
    assert (row["submitted"], row["own"], row["ready"], row["discuss"], row["is_fix"]) == (1, None, False, None, None)


def submit_all(study: sqlite3.Connection, item: str, **answers: Form) -> None:
    for rater, answer in answers.items():
        ratings.save(study, item, rater, answer, 0, submit=True)


def test_a_round_draws_unassigned_items_at_random_and_again_the_same(
    study: sqlite3.Connection, items: list[str]
) -> None:
    def order(name: str) -> list[str]:
        rows = study.execute("SELECT id FROM item WHERE round = ? ORDER BY queue_position", (name,))
        return [row[0] for row in rows]

    draws = []
    for _ in range(2):
        study.execute("UPDATE item SET round = NULL, queue_position = NULL")
        assert rounds.make_round(study, "a", 2, seed=3) == 2
        assert rounds.make_round(study, "b", seed=3) == 3
        assert rounds.make_round(study, "b", seed=3) == 0
        draws.append((order("a"), order("b")))
    assert draws[0] == draws[1]
    assert sorted(draws[0][0] + draws[0][1]) == sorted(items)
    with pytest.raises(Refused):
        rounds.make_round(study, " ")


def test_reconciling_stores_one_or_several_problems(study: sqlite3.Connection, items: list[str]) -> None:
    submit_all(study, items[0], ana=FULL, bo=TEST)
    tag = reconcile.final(study, items[0]).tag
    done = reconcile.reconcile(study, items[0], "ana", [FULL, TEST], tag, 2)
    assert (len(done.rows), done.reconciler) == (2, "ana")
    with pytest.raises(Conflict):
        reconcile.reconcile(study, items[0], "bo", [TEST], tag, 2)
    with pytest.raises(Refused, match="one row"):
        reconcile.reconcile(study, items[0], "bo", [TEST, NO], done.tag, 2)
    with pytest.raises(Invalid) as caught:
        reconcile.reconcile(study, items[0], "bo", [TEST, form()], done.tag, 2)
    assert caught.value.problems[0].field == "2.category"
    assert tally.from_database(study).count(Where()) == 2


def test_accepting_what_is_agreed_leaves_the_rest(study: sqlite3.Connection, items: list[str]) -> None:
    submit_all(study, items[0], ana=FULL, bo=FULL)
    submit_all(study, items[1], ana=FULL, bo=TEST)
    submit_all(study, items[2], ana=NO)
    submit_all(study, items[3], ana=form(False, discuss=True), bo=NO)
    assert reconcile.accept_agreed(study, "ana", 2) == 1
    assert reconcile.accept_agreed(study, "ana", 2) == 0
    assert tally.from_database(study).count(Where("Performance")) == 1


def test_agreement_with_and_without_not_a_fix(study: sqlite3.Connection, items: list[str]) -> None:
    submit_all(study, items[0], ana=FULL, bo=FULL)
    submit_all(study, items[1], ana=FULL, bo=TEST)
    submit_all(study, items[2], ana=NO, bo=NO)
    submit_all(study, items[3], ana=NO, bo=TEST)
    ratings.save(study, items[4], "ana", NO, 0)
    found = agree.report(study, resamples=100)
    value = {(one.question, one.classes, one.statistic): (one.items, one.value) for one in found.coefficients}
    assert value["identification", "all", "Cohen's kappa"] == (4, pytest.approx(0.5))
    # Pairs: PRF-PRF, PRF-TST, no-no, no-TST; chance: (2*1 + 0*2 + 2*1) / 16.
    assert value["category", "all", "Cohen's kappa"] == (4, pytest.approx((0.5 - 0.25) / 0.75))
    assert value["category", "fixes only", "Cohen's kappa"] == (2, pytest.approx(0.0))
    listed = [(one.item, one.question) for one in found.disagreements]
    assert (items[1], "category") in listed
    assert (items[3], "identification") in listed
    assert (items[3], "category") not in listed
    assert "identification: ana: (not a fix); bo: fix" in agree.as_text(found)
    assert found == agree.report(study, resamples=100)


def test_three_raters_get_fleiss_and_alpha(study: sqlite3.Connection, items: list[str]) -> None:
    ratings.add_rater(study, "cy")
    submit_all(study, items[0], ana=NO, bo=NO, cy=NO)
    submit_all(study, items[1], ana=TEST, bo=TEST, cy=NO)
    submit_all(study, items[2], ana=TEST, cy=TEST)
    found = {(c.question, c.statistic): c for c in agree.report(study, resamples=0).coefficients if c.classes == "all"}
    assert found["identification", "Fleiss' kappa"].items == 2
    assert found["identification", "Krippendorff's alpha"].items == 3
    assert agree.as_csv(agree.report(study, resamples=0)).count("\n") > 10


def test_one_rater_alone_is_told_that_agreement_needs_two(study: sqlite3.Connection, items: list[str]) -> None:
    submit_all(study, items[0], ana=NO)
    assert "agreement needs two" in agree.as_text(agree.report(study))
