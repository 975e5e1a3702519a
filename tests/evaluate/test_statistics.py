"""Small samples: exact probabilities, careful words."""

import itertools
import math

import pytest

from hybridize.evaluate.statistics import Times, judge, rank_sum, ratio_of


def test_the_probability_of_ranks_is_counted_exactly() -> None:
    """Against all ways to deal six ranks to two hands of three."""
    first, second = (1.0, 2.0, 4.0), (3.0, 5.0, 6.0)
    wins = sum(a < b for a in first for b in second)
    hands = list(itertools.combinations(range(1, 7), 3))
    as_extreme = 0
    for hand in hands:
        others = [rank for rank in range(1, 7) if rank not in hand]
        u = sum(a < b for a in hand for b in others)
        as_extreme += u >= wins or u <= 9 - wins
    assert rank_sum(first, second) == pytest.approx(as_extreme / len(hands))


def test_rank_sum_is_symmetric_and_at_most_one() -> None:
    assert rank_sum([1, 2, 3], [4, 5, 6]) == rank_sum([4, 5, 6], [1, 2, 3]) == pytest.approx(0.1)
    assert rank_sum([1, 1, 1], [1, 1, 1]) == 1.0


@pytest.mark.parametrize(
    ("original", "refactored", "word"),
    [
        ([10, 11, 10.5, 10.2], [5, 5.2, 5.1, 5.3], "faster"),
        ([5, 5.2, 5.1, 5.3], [10, 11, 10.5, 10.2], "slower"),
        ([5, 6, 7, 8], [5.5, 6.5, 6.6, 7.5], "no difference"),
        ([10, 10], [5, 5], "too few runs"),
        ([], [], "too few runs"),
    ],
)
def test_words(original: list[float], refactored: list[float], word: str) -> None:
    assert judge(original, refactored).word == word


def test_the_range_is_that_of_rounds() -> None:
    verdict = judge([10.0, 12.0], [5.0, 4.0])
    assert verdict.ratio == pytest.approx(11 / 4.5)
    assert (verdict.low, verdict.high) == (2.0, 3.0)


def test_medians_and_means() -> None:
    assert Times((3.0, 1.0, 2.0)).median == 2.0
    assert Times((3.0, 1.0, 2.0)).spread == 2.0
    assert math.isnan(Times(()).median)
    assert ratio_of([1.0, 4.0]).value == pytest.approx(2.0)
