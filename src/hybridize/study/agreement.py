"""Agreement between raters: Cohen's kappa, Fleiss' kappa and Krippendorff's alpha, with confidence intervals.

Labels are plain texts and nominal: two labels agree or they don't. Every coefficient takes *patterns*: how often each
combination of labels was given to one item. Resampling then costs one pass over distinct patterns, not over items.

A coefficient is `None` where it is not defined: no item, or only one class in use, so that chance alone agrees always.

Sources: Cohen 1960; Fleiss, Cohen and Everitt 1969 (standard error of Cohen's kappa); Fleiss 1971; Krippendorff 2011
(alpha by coincidences); Efron 1979 (percentile bootstrap).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations
from statistics import NormalDist
from typing import Final

Pattern = tuple[str, ...]
"""The labels that one item got, one per rater."""

Patterns = Mapping[Pattern, int]
"""Pattern -> number of items with it."""

Statistic = Callable[[Patterns], "float | None"]

DEFAULT_RESAMPLES: Final = 2000
DEFAULT_LEVEL: Final = 0.95
_DEGENERATE: Final = 1e-12
# Below this share of usable resamples an interval would describe the lucky ones only.
_USABLE_SHARE: Final = 0.9


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval at `level` (0 to 1), by `method`: "analytic" or "bootstrap"."""

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Cohen:
    """Cohen's kappa of two raters with what it is made of; `error` is the standard error for intervals."""

    kappa: float | None
    observed: float
    expected: float
    error: float | None
    items: int


def patterns(units: Iterable[Sequence[str]]) -> Counter[Pattern]:
    """Count equal units; a unit is the sequence of labels of one item, without the missing ones."""
    return Counter(tuple(unit) for unit in units)


def cohen(table: Patterns) -> Cohen:
    """Cohen's kappa of two raters.

    Args:
        table: pairs (first rater's label, second rater's label) -> number of items.

    Raises:
        ValueError: a pattern is not a pair.
    """
    if any(len(pattern) != 2 for pattern in table):
        raise ValueError("Cohen's kappa compares exactly two raters")
    total = sum(table.values())
    if total == 0:
        return Cohen(None, math.nan, math.nan, None, 0)
    rows: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    agreed = 0
    for (first, second), count in table.items():
        rows[first] += count
        columns[second] += count
        agreed += count if first == second else 0
    observed = agreed / total
    expected = sum(rows[label] * columns[label] for label in rows) / total**2
    if 1 - expected < _DEGENERATE:
        return Cohen(None, observed, expected, None, total)
    kappa = (observed - expected) / (1 - expected)
    return Cohen(kappa, observed, expected, _cohen_error(table, rows, columns, kappa, expected, total), total)


def _cohen_error(
    table: Patterns, rows: Counter[str], columns: Counter[str], kappa: float, expected: float, total: int
) -> float:
    """Large-sample standard error of kappa (Fleiss, Cohen and Everitt 1969, formula 13)."""
    agreeing = 0.0
    differing = 0.0
    for (first, second), count in table.items():
        share = count / total
        if first == second:
            agreeing += share * (1 - (rows[first] + columns[first]) / total * (1 - kappa)) ** 2
        else:
            differing += share * ((columns[first] + rows[second]) / total) ** 2
    correction = (kappa - expected * (1 - kappa)) ** 2
    variance = (agreeing + (1 - kappa) ** 2 * differing - correction) / ((1 - expected) ** 2 * total)
    return math.sqrt(max(variance, 0.0))


def cohen_interval(result: Cohen, level: float = DEFAULT_LEVEL) -> Interval | None:
    """The normal-approximation interval around Cohen's kappa; `None` where kappa is not defined."""
    if result.kappa is None or result.error is None:
        return None
    half = NormalDist().inv_cdf(0.5 + level / 2) * result.error
    return Interval(result.kappa - half, result.kappa + half, level, "analytic")


def fleiss(table: Patterns) -> float | None:
    """Fleiss' kappa of a fixed number of raters, two or more, who need not be the same people for every item.

    Raises:
        ValueError: items have different numbers of labels, or fewer than two.
    """
    sizes = {len(pattern) for pattern in table}
    if not sizes:
        return None
    if len(sizes) > 1 or min(sizes) < 2:
        raise ValueError("Fleiss' kappa needs the same number of labels, at least two, for every item")
    raters = sizes.pop()
    total = sum(table.values())
    classes: Counter[str] = Counter()
    agreement = 0.0
    for pattern, count in table.items():
        votes = Counter(pattern)
        for label, number in votes.items():
            classes[label] += number * count
        agreement += count * sum(number * (number - 1) for number in votes.values()) / (raters * (raters - 1))
    expected = sum((number / (total * raters)) ** 2 for number in classes.values())
    if 1 - expected < _DEGENERATE:
        return None
    return (agreement / total - expected) / (1 - expected)


def krippendorff(table: Patterns) -> float | None:
    """Krippendorff's alpha for nominal labels: any number of raters, missing labels allowed.

    A pattern holds only the labels that were given; items with fewer than two can't be paired and are left out.
    """
    marginals: Counter[str] = Counter()
    agreeing = 0.0
    for pattern, count in table.items():
        size = len(pattern)
        if size < 2:
            continue
        for label, number in Counter(pattern).items():
            marginals[label] += number * count
            agreeing += count * number * (number - 1) / (size - 1)
    pairable = sum(marginals.values())
    by_chance = pairable**2 - sum(number**2 for number in marginals.values())
    if by_chance == 0:
        return None
    return 1 - (pairable - 1) * (pairable - agreeing) / by_chance


def cohen_value(table: Patterns) -> float | None:
    """Cohen's kappa alone, as a statistic for `bootstrap`."""
    return cohen(table).kappa


def bootstrap(
    table: Patterns,
    statistic: Statistic,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    level: float = DEFAULT_LEVEL,
    seed: int = 0,
) -> Interval | None:
    """Percentile bootstrap over items, the same for the same seed and the same counts, whatever their order.

    Returns `None` when the statistic is not defined on nearly all resamples.
    """
    # Sorted, for then the draws don't depend on the order of insertion.
    population = sorted(table)
    weights = [table[pattern] for pattern in population]
    total = sum(weights)
    if total == 0 or resamples < 1:
        return None
    generator = random.Random(seed)
    # Numbers instead of patterns: hashing those would cost more than drawing.
    places, borders = range(len(population)), list(accumulate(weights))
    values: list[float] = []
    for _ in range(resamples):
        drawn = Counter(generator.choices(places, cum_weights=borders, k=total))
        value = statistic({population[place]: count for place, count in drawn.items()})
        if value is not None:
            values.append(value)
    if len(values) < _USABLE_SHARE * resamples:
        return None
    values.sort()
    tail = (1 - level) / 2
    return Interval(_quantile(values, tail), _quantile(values, 1 - tail), level, "bootstrap")


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics, as NumPy's default does."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def rater_pairs(ratings: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The pairs of raters, in name order, that share at least one item of `ratings` (item -> rater -> label)."""
    shared = {pair for labels in ratings.values() for pair in permutations(sorted(labels), 2) if pair[0] < pair[1]}
    return sorted(shared)


def landis_koch(value: float | None) -> str:
    """The customary word for a coefficient's size (Landis and Koch 1977); a habit of the field, not a test."""
    if value is None:
        return "undefined"
    for limit, word in ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial")):
        if value <= limit:
            return word
    return "almost perfect"
