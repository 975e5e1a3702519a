"""What holds the same things in many places is looked at once: there are more ways through it than steps."""

from __future__ import annotations

import time

from hybridize.domain.objects import BOTTOM, Container, Value, literal
from hybridize.rules.performance.retracing_argument import _is_python
from hybridize.tracing.keras.modal import is_modal

WIDE, DEEP = 80, 6


def lists(inside: list[Value]) -> list[Value]:
    """So many lists, each of which holds all of these."""
    made = [Container("list", (None, i), 0) for i in range(WIDE)]
    for each in made:
        for i, value in enumerate(inside):
            each.cell(i).value = value
    return [each.value for each in made]


def test_each_thing_is_asked_once() -> None:
    level = [literal(None).value]
    for _ in range(DEEP):
        level = lists(level)
    value, begun = BOTTOM.union(*level), time.process_time()
    assert not is_modal(value)
    assert not _is_python(value)
    assert time.process_time() - begun < 5.0
