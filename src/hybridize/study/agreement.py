"""Agreement between raters: Cohen's kappa, Fleiss' kappa and Krippendorff's alpha, with confidence intervals.

The coefficients are those of statsmodels and krippendorff, the bootstrap is SciPy's (all of the extra `study`). Labels
are plain texts and nominal: two labels agree or they don't. Every coefficient takes *patterns*: how often each
combination of labels was given to one item.

A coefficient is `None` where it is not defined: no item, or only one class in use, so that chance alone agrees always.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import permutations
from statistics import NormalDist
from typing import Any, Final

Pattern = tuple[str, ...]
"""The labels that one item got, one per rater."""

Patterns = Mapping[Pattern, int]
"""Pattern -> number of items with it."""

Statistic = Callable[[Patterns], "float | None"]

DEFAULT_RESAMPLES: Final = 2000
DEFAULT_LEVEL: Final = 0.95
FEWEST_ITEMS: Final = 10
"""With fewer items neither an interval nor a word for the coefficient's size means anything."""
# Below this share of usable resamples an interval would describe the lucky ones only.
_USABLE_SHARE: Final = 0.9


class MissingStatistics(RuntimeError):
    """Agreement needs the `study` extra; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval at `level` (0 to 1) within [-1, 1], by `method`: "analytic" or "bootstrap"."""

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Cohen:
    """Cohen's kappa of two raters; `error` is the standard error for intervals (Fleiss, Cohen and Everitt 1969)."""

    kappa: float | None
    observed: float
    error: float | None
    items: int


def require() -> None:
    """See that the libraries are there.

    Raises:
        MissingStatistics: one is not installed.
    """
    for name in ("krippendorff", "scipy", "statsmodels"):
        if find_spec(name) is None:
            raise MissingStatistics(f"agreement needs {name}: pip install 'hybridize[study]'")


def patterns(units: Iterable[Sequence[str]]) -> Counter[Pattern]:
    """Count equal units; a unit is the sequence of labels of one item, without the missing ones."""
    return Counter(tuple(unit) for unit in units)


def _classes(table: Patterns) -> list[str]:
    return sorted({label for pattern in table for label in pattern})


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
    observed = sum(n for (a, b), n in table.items() if a == b) / total if total else math.nan
    if len(_classes(table)) < 2:
        return Cohen(None, observed, None, total)
    from statsmodels.stats.inter_rater import cohens_kappa

    result = cohens_kappa(_square(table))
    return Cohen(float(result.kappa), observed, float(result.std_kappa), total)


def cohen_value(table: Patterns) -> float | None:
    """Cohen's kappa alone, as a statistic for `bootstrap`."""
    if len(_classes(table)) < 2:
        return None
    from statsmodels.stats.inter_rater import cohens_kappa

    return float(cohens_kappa(_square(table), return_results=False))


def _square(table: Patterns) -> list[list[int]]:
    names = _classes(table)
    return [[table.get((first, second), 0) for second in names] for first in names]


def cohen_interval(result: Cohen, level: float = DEFAULT_LEVEL) -> Interval | None:
    """The normal-approximation interval around Cohen's kappa; `None` where kappa is not defined or items are few."""
    if result.kappa is None or result.error is None or result.items < FEWEST_ITEMS:
        return None
    half = NormalDist().inv_cdf(0.5 + level / 2) * result.error
    return Interval(max(result.kappa - half, -1.0), min(result.kappa + half, 1.0), level, "analytic")


def fleiss(table: Patterns) -> float | None:
    """Fleiss' kappa of a fixed number of raters, two or more, who need not be the same people for every item.

    Raises:
        ValueError: items have different numbers of labels, or fewer than two.
    """
    sizes = {len(pattern) for pattern in table}
    if sizes and (len(sizes) > 1 or min(sizes) < 2):
        raise ValueError("Fleiss' kappa needs the same number of labels, at least two, for every item")
    if len(_classes(table)) < 2:
        return None
    from statsmodels.stats.inter_rater import fleiss_kappa

    return float(fleiss_kappa(_votes(table)))


def krippendorff(table: Patterns) -> float | None:
    """Krippendorff's alpha for nominal labels: any number of raters, missing labels allowed.

    A pattern holds only the labels that were given; items with fewer than two can't be paired and are left out.
    """
    paired = {pattern: count for pattern, count in table.items() if len(pattern) > 1}
    if len(_classes(paired)) < 2:
        return None
    from krippendorff import alpha

    return float(alpha(value_counts=_votes(paired), level_of_measurement="nominal"))


def _votes(table: Patterns) -> list[list[int]]:
    """One row per item: how often it got each class."""
    names = _classes(table)
    return [row for pattern, n in table.items() for row in [[pattern.count(name) for name in names]] * n]


def bootstrap(
    table: Patterns,
    statistic: Statistic,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    level: float = DEFAULT_LEVEL,
    seed: int = 0,
) -> Interval | None:
    """Percentile bootstrap over items, the same for the same seed and the same counts, whatever their order.

    Returns `None` when items are few, or the statistic is not defined on nearly all resamples.
    """
    # Sorted, for then the draws don't depend on the order of insertion.
    population = sorted(table)
    if sum(table.values()) < FEWEST_ITEMS or resamples < 1:
        return None
    import numpy as np
    from scipy import stats

    def of(drawn: object) -> float:
        counts = np.bincount(drawn, minlength=len(population)).tolist()
        value = statistic({pattern: n for pattern, n in zip(population, counts, strict=True) if n})
        return math.nan if value is None else value

    places: Any = np.repeat(np.arange(len(population)), [table[pattern] for pattern in population])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # resamples that have no value: see below
        drawn = stats.bootstrap(
            (places,), of, n_resamples=resamples, vectorized=False, method="percentile", confidence_level=level,
            rng=np.random.default_rng(seed),
        )  # fmt: skip
    values = drawn.bootstrap_distribution[~np.isnan(drawn.bootstrap_distribution)]
    if len(values) < _USABLE_SHARE * resamples:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(max(float(low), -1.0), min(float(high), 1.0), level, "bootstrap")


def rater_pairs(ratings: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The pairs of raters, in name order, that share at least one item of `ratings` (item -> rater -> label)."""
    shared = {pair for labels in ratings.values() for pair in permutations(sorted(labels), 2) if pair[0] < pair[1]}
    return sorted(shared)


def landis_koch(value: float | None, items: int) -> str:
    """The customary word for a coefficient's size (Landis and Koch 1977); a habit of the field, not a test."""
    if value is None:
        return "undefined"
    if items < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items"
    for limit, word in ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial")):
        if value <= limit:
            return word
    return "almost perfect"
