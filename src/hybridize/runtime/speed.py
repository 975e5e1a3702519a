"""How much longer a call takes after a change, with an interval, in words that cannot be read the wrong way round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

#: A change makes a call slower, or faster, by this part at least: below lies what measuring cannot tell from no change.
NOISE: Final = 0.03
#: Orders of times that are less likely than this without any difference are none by chance.
_CHANCE, _Z = 0.05, 1.96


@dataclass(frozen=True, slots=True)
class Speed:
    """Calls before and after a change, that took turns in one process.

    Attributes:
        before, after: medians, in seconds.
        low, high: an interval (95%) of how many times as long a call takes after the change.
        word: `slower`, `faster`, `no difference` (the interval has 1, or lies within NOISE of it), `too few calls`.
    """

    before: float
    after: float
    low: float
    high: float
    word: str

    @property
    def ratio(self) -> float:
        """How many times as long a call takes after the change."""
        return self.after / self.before


def compare(before: Sequence[float], after: Sequence[float]) -> Speed | None:
    """Compares durations (seconds) that do not depend on each other; None where there is none of one kind.

    The interval is that of Hodges and Lehmann for the rank-sum test, of logarithms: of how times vary nothing is
    assumed but that both vary alike.
    """
    if not before or not after or min(before) <= 0 or min(after) <= 0:
        return None
    ratios = sorted(b / a for a in before for b in after)
    n, m = len(before), len(after)
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    place = max(math.floor(n * m / 2 - _Z * spread), 1) - 1
    low, high = ratios[place], ratios[-1 - place]
    if 2 / math.comb(n + m, n) > _CHANCE:
        word = "too few calls"
    elif low > 1 and median(after) > median(before) * (1 + NOISE):
        word = "slower"
    elif high < 1 and median(after) < median(before) / (1 + NOISE):
        word = "faster"
    else:
        word = "no difference"
    return Speed(median(before), median(after), low, high, word)


def times_as_long(ratio: float) -> str:
    """`0.42 times as long (2.4 times as fast)`; where it is longer, that alone."""
    faster = f" ({1 / ratio:.3g} times as fast)" if 0 < ratio < 1 else ""
    return f"{ratio:.3g} times as long{faster}"
