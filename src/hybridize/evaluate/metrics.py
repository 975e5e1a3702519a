"""Losses, accuracies and the like: read from what a program prints, and compared between two programs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

#: The values of each metric, in the order in which they were printed.
Series: TypeAlias = Mapping[str, tuple[float, ...]]

_NUMBER: Final = r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b"
#: `loss: 0.5`, `val_loss=0.5`, `test accuracy 93.1%`, `loss is tf.Tensor(0.5, ...)`, `'loss': 0.5`.
_PAIR: Final = re.compile(
    rf"(?P<name>[A-Za-z_][\w]*(?:[ \-/][A-Za-z_]\w*){{0,3}})[\"'\])]*\s*[:=]?\s*"
    rf"(?:tf\.Tensor\(|np\.float\d+\()?(?P<value>{_NUMBER})(?P<percent>\s?%)?",
)
#: A name is a metric's if one of its words begins so; those of _LOSS and _ACCURACY get columns of their own in tables.
_LOSS: Final = ("loss", "error", "mse", "mae", "rmse", "cost", "perplexity", "ppl", "nll", "entropy")
_ACCURACY: Final = ("acc", "auc", "precision", "recall", "f1", "iou", "map", "bleu")
_OTHER: Final = ("elbo", "reward", "return", "score", "norm", "kl", "ssim", "psnr", "brightness", "r2", "likelihood")
_NEVER: Final = ("time", "sec", "second", "seconds", "elapsed", "took", "ms", "step", "epoch", "batch", "iteration")
_COPULAS: Final = frozenset({"is", "was", "of", "at", "to"})
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: Values are compared by ratio, down to this size.
_TINY: Final = 1e-3


def read(text: str) -> dict[str, tuple[float, ...]]:
    """The metrics that a program printed, by name as printed (in lower case); percentages as they stand."""
    found: dict[str, list[float]] = {}
    for line in _lines(text):
        for pair in _PAIR.finditer(line):
            name = _name(pair["name"])
            if name is not None:
                found.setdefault(name, []).append(float(pair["value"]))
    return {name: tuple(values) for name, values in found.items()}


def _lines(text: str) -> list[str]:
    """Lines as a terminal shows them in the end: progress bars overwrite themselves."""
    lines = []
    for line in _ESCAPES.sub("", text).split("\n"):
        parts = [part for part in re.split(r"[\r\x08]+", line) if part.strip()]
        if parts:
            lines.append(parts[-1])
    return lines


def _name(label: str) -> str | None:
    """The metric that a label ends in, without words before it that are none (`step 3 loss` was two pairs)."""
    words = label.lower().replace("-", " ").replace("/", " ").split()
    while words and words[-1] in _COPULAS:
        words.pop()
    if not words:
        return None
    kind = words[-1].split("_")
    if any(word in _NEVER for word in kind):
        return None
    if not any(
        word.startswith(start) for w in words for word in w.split("_") for start in (*_LOSS, *_ACCURACY, *_OTHER)
    ):
        return None
    return " ".join(words)


def is_loss(name: str) -> bool:
    """Whether less of a metric is better."""
    return _has(name, _LOSS)


def is_accuracy(name: str) -> bool:
    """Whether a metric is a share of what is right."""
    return not is_loss(name) and _has(name, _ACCURACY)


def _has(name: str, starts: Sequence[str]) -> bool:
    return any(word.startswith(start) for word in re.split(r"[ _]", name) for start in starts)


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric in two programs.

    Attributes:
        name: as printed.
        original, refactored: the last value of the series.
        largest: the largest difference between values at the same place of the series, relative to their size (that of
            an accuracy: to the whole).
        spread: the same between runs of the original alone (0.0 for one run).
        same_length: whether both printed it as often.
    """

    name: str
    original: float
    refactored: float
    largest: float
    spread: float
    same_length: bool

    def equal(self, tolerance: float) -> bool:
        """Whether the difference is within a (relative) tolerance, or no larger than what runs of the original show."""
        return self.same_length and self.largest <= max(tolerance, 2 * self.spread)


def compare(originals: Sequence[Series], refactored: Sequence[Series]) -> list[Difference]:
    """Each metric of the first run of both; the spread is that among the original's runs."""
    if not originals or not refactored:
        return []
    first, second = originals[0], refactored[0]
    differences = []
    for name in first:
        scale = _scale(name, first[name])
        spread = max((_largest(first[name], other.get(name, ()), scale) for other in originals[1:]), default=0.0)
        if name in second:
            largest = _largest(first[name], second[name], scale)
            same = len(first[name]) == len(second[name])
            differences.append(Difference(name, first[name][-1], second[name][-1], largest, spread, same))
    return differences


def missing(original: Series, refactored: Series) -> list[str]:
    """The metrics that only one of two programs printed."""
    return sorted(set(original) ^ set(refactored))


def _scale(name: str, values: Sequence[float]) -> float:
    """What differences are are relative to at least: for shares the whole, 1 or 100."""
    if not is_accuracy(name):
        return _TINY
    return 1.0 if all(abs(value) <= 1 for value in values) else 100.0


def _largest(first: Sequence[float], second: Sequence[float], scale: float) -> float:
    return max((_relative(a, b, scale) for a, b in zip(first, second, strict=False)), default=0.0)


def _relative(a: float, b: float, scale: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b), scale)
