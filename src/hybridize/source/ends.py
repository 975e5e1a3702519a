"""What two sequences have in common at both ends: what is between is all that differs."""

from __future__ import annotations

from collections.abc import Sequence


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many items two sequences begin with that are the same, and how many of the others they end with."""
    head = _alike(old, new, range(min(len(old), len(new))))
    return head, _alike(old, new, range(-1, head - min(len(old), len(new)) - 1, -1))


def _alike(old: Sequence[object], new: Sequence[object], places: range) -> int:
    """How many of some places, one after the other, hold the same in both."""
    return next((number for number, at in enumerate(places) if old[at] != new[at]), len(places))
