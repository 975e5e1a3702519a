"""Medians, spread, and whether two sets of times differ by more than chance: small samples, no assumptions."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median as _median
from typing import Any, Final

SIGNIFICANT: Final = 0.05
_SAME: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Times:
    """Several measurements of one thing, in seconds."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one; nan if there is none."""
        return _median(self.values) if self.values else math.nan

    @property
    def spread(self) -> float:
        """The distance from the least to the greatest."""
        return max(self.values) - min(self.values) if self.values else math.nan


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the refactored program is faster.

    Attributes:
        ratio: median of original divided by median of refactored: above 1 is faster.
        low, high: the least and the greatest ratio within a round.
        probability: that the order of the times is chance (two-sided rank-sum test, exact).
        word: `faster`, `slower`, `no difference`, or `too few runs`.
    """

    ratio: float
    low: float
    high: float
    probability: float
    word: str


def judge(original: Sequence[float], refactored: Sequence[float]) -> Verdict:
    """Compares times of interleaved runs; the i-th of both belong to one round."""
    if not original or not refactored:
        return Verdict(math.nan, math.nan, math.nan, 1.0, "too few runs")
    ratio = _median(original) / _median(refactored)
    rounds = [a / b for a, b in zip(original, refactored, strict=False)]
    probability = rank_sum(original, refactored)
    if 2 / math.comb(len(original) + len(refactored), len(original)) > SIGNIFICANT:
        word = "too few runs"
    elif probability > SIGNIFICANT:
        word = "no difference"
    else:
        word = "faster" if ratio > 1 else "slower"
    return Verdict(ratio, min(rounds), max(rounds), probability, word)


def rank_sum(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided probability of a rank sum at least as extreme (Wilcoxon, Mann and Whitney), by counting all orders.

    Ties take middle ranks; the count is then of the nearest orders without ties, which is exact enough for times.
    """
    n, m = len(first), len(second)
    wins = sum(1.0 if a < b else 0.5 if a == b else 0.0 for a in first for b in second)
    extreme = math.floor(min(wins, n * m - wins))
    total = math.comb(n + m, n)
    return min(1.0, 2 * sum(_orders(n, m, u) for u in range(extreme + 1)) / total)


@cache
def _orders(n: int, m: int, u: int) -> int:
    """In how many orders of n and m values exactly u pairs have the first before the second."""
    if u < 0:
        return 0
    if n == 0 or m == 0:
        return int(u == 0)
    return _orders(n - 1, m, u - m) + _orders(n, m - 1, u)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its 95% interval, and how likely it would be so far from 1 by chance (nan where there is one value).

    Logarithms of ratios are taken for normal (Student's t, two-sided): what disturbs a run multiplies its time.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    probability: float = math.nan


def ratio_of(ratios: Sequence[float]) -> Ratio:
    """The geometric mean of ratios, each of a pair (a round, a program), with its interval and the paired test."""
    if not ratios:
        return Ratio(math.nan)
    logs = [math.log(each) for each in ratios]
    mean = sum(logs) / len(logs)
    if len(logs) < 2 or max(logs) - min(logs) < _SAME:
        return Ratio(math.exp(mean))
    stats: Any = importlib.import_module("scipy.stats")  # costs more to import than all else here
    test = stats.ttest_1samp(logs, 0.0)
    low, high = test.confidence_interval(0.95)
    return Ratio(math.exp(mean), math.exp(low), math.exp(high), float(test.pvalue))
