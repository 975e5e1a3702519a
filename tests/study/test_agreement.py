"""Our coefficients against scikit-learn, statsmodels and krippendorff on random data, and their edges."""

from __future__ import annotations

import math
import random
import warnings

import pytest

from hybridize.study.agreement import (
    bootstrap,
    cohen,
    cohen_interval,
    cohen_value,
    fleiss,
    krippendorff,
    landis_koch,
    patterns,
    rater_pairs,
)

CLASSES = ["performance", "misuse", "incompatible", "not a fix"]
SEEDS = range(25)


def random_units(seed: int, raters: int, items: int, classes: int = 4, missing: float = 0.0) -> list[list[str | None]]:
    """Raters who mostly see the truth and otherwise guess, so that coefficients spread over their range."""
    generator = random.Random(seed)
    skill = generator.random()
    units: list[list[str | None]] = []
    for _ in range(items):
        truth = generator.choice(CLASSES[:classes])
        units.append(
            [
                None
                if generator.random() < missing
                else (truth if generator.random() < skill else generator.choice(CLASSES[:classes]))
                for _ in range(raters)
            ]
        )
    return units


def given(units: list[list[str | None]]) -> list[list[str]]:
    return [[label for label in unit if label is not None] for unit in units]


@pytest.mark.parametrize("seed", SEEDS)
def test_cohen_equals_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    units = random_units(seed, raters=2, items=5 + 20 * seed, classes=2 + seed % 3)
    ours = cohen(patterns(given(units))).kappa
    assert ours == pytest.approx(metrics.cohen_kappa_score([u[0] for u in units], [u[1] for u in units]), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_cohen_and_its_interval_equal_statsmodels(seed: int) -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    units = random_units(seed, raters=2, items=40 + 10 * seed)
    table = [[0] * 4 for _ in range(4)]
    for first, second in given(units):
        table[CLASSES.index(first)][CLASSES.index(second)] += 1
    theirs = rater.cohens_kappa(table)
    ours = cohen(patterns(given(units)))
    interval = cohen_interval(ours)
    assert ours.kappa == pytest.approx(theirs.kappa, abs=1e-12)
    assert ours.error == pytest.approx(theirs.std_kappa, abs=1e-12)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_equals_statsmodels(seed: int) -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    units = given(random_units(seed, raters=2 + seed % 5, items=10 + 10 * seed))
    table = [[unit.count(label) for label in CLASSES] for unit in units]
    assert fleiss(patterns(units)) == pytest.approx(rater.fleiss_kappa(table), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_equals_krippendorff_with_missing_labels(seed: int) -> None:
    package = pytest.importorskip("krippendorff")
    units = random_units(seed, raters=2 + seed % 4, items=20 + 10 * seed, missing=0.3)
    counts = [[unit.count(label) for label in CLASSES] for unit in given(units)]
    theirs = package.alpha(value_counts=counts, level_of_measurement="nominal")
    assert krippendorff(patterns(given(units))) == pytest.approx(theirs, abs=1e-9)


def test_perfect_agreement_is_one() -> None:
    table = patterns([("a", "a"), ("b", "b")])
    assert (cohen(table).kappa, fleiss(table), krippendorff(table)) == (1, 1, 1)


def test_a_single_class_in_use_leaves_every_coefficient_undefined() -> None:
    table = patterns([("a", "a")] * 7)
    assert (cohen(table).kappa, fleiss(table), krippendorff(table)) == (None, None, None)
    assert cohen(table).observed == 1
    assert cohen_interval(cohen(table)) is None
    assert bootstrap(table, cohen_value, resamples=50) is None


def test_nothing_rated_is_undefined_and_no_crash() -> None:
    assert cohen({}).kappa is None
    assert fleiss({}) is None
    assert krippendorff({}) is None
    assert krippendorff(patterns([("a",), ()])) is None
    assert bootstrap({}, cohen_value) is None


def test_wrong_shapes_are_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="exactly two"):
        cohen(patterns([("a", "b", "c")]))
    with pytest.raises(ValueError, match="same number"):
        fleiss(patterns([("a", "b"), ("a", "b", "c")]))


def test_bootstrap_is_seeded_and_blind_to_order() -> None:
    units = given(random_units(3, raters=2, items=120))
    forward = bootstrap(patterns(units), cohen_value, resamples=300, seed=11)
    backward = bootstrap(patterns(units[::-1]), cohen_value, resamples=300, seed=11)
    other = bootstrap(patterns(units), cohen_value, resamples=300, seed=12)
    assert forward == backward
    assert forward != other


def test_bootstrap_and_analytic_intervals_tell_the_same_story() -> None:
    units = given(random_units(5, raters=2, items=500))
    result = cohen(patterns(units))
    drawn, derived = bootstrap(patterns(units), cohen_value, seed=1), cohen_interval(result)
    assert drawn is not None
    assert derived is not None
    assert result.kappa is not None
    assert drawn.low < result.kappa < drawn.high
    assert math.isclose(drawn.high - drawn.low, derived.high - derived.low, rel_tol=0.15)


def test_only_raters_with_shared_items_are_paired() -> None:
    ratings = {"1": {"ana": "x", "bo": "x"}, "2": {"cy": "x"}, "3": {"cy": "y", "ana": "x"}}
    assert rater_pairs(ratings) == [("ana", "bo"), ("ana", "cy")]


@pytest.mark.parametrize(
    ("value", "word"), [(-0.1, "poor"), (0.57, "moderate"), (0.8, "substantial"), (0.81, "almost perfect")]
)
def test_words_for_sizes(value: float, word: str) -> None:
    assert landis_koch(value, 50) == word
    assert landis_koch(value, 3) == "fewer than 10 items"


def test_three_items_give_no_interval_and_many_give_one_within_bounds() -> None:
    few = patterns([("a", "a"), ("b", "b"), ("a", "b")])
    assert cohen_interval(cohen(few)) is None
    assert bootstrap(few, cohen_value) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor a word from SciPy about resamples of one class
        bootstrap(patterns([("a", "a")] * 15 + [("b", "b")] * 4), cohen_value)
    many = patterns([("a", "a")] * 8 + [("b", "b")] * 3 + [("a", "b")])
    interval = cohen_interval(cohen(many))
    assert interval is not None
    assert -1 <= interval.low < interval.high <= 1
