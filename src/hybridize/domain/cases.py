"""The cases of a test: with which arguments its runner calls it."""

from __future__ import annotations

from hybridize.domain.objects import BOTTOM, Value
from hybridize.records import dataclass


@dataclass(frozen=True, slots=True)
class Cases:
    """What a decorator has a test called with: an iterable of rows, each the values of some parameters.

    Where there are no `names`, a row names its values itself, as a dictionary, or has them in the order of the
    parameters; the first one of a row that is `labelled` is no value, but the name of the row.
    """

    rows: Value
    names: Value = BOTTOM
    labelled: bool = False
