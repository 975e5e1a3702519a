"""How much longer a call takes: what is noise, and words that can be read one way only."""

from __future__ import annotations

import pytest

from hybridize.decide.model import Action, Decision
from hybridize.records import replace
from hybridize.runtime.launch import Ended
from hybridize.runtime.speed import compare, times_as_long
from hybridize.runtime.verify import Verdict, judge

from .test_verdicts import functions, told

FAST, SLOW = [0.0101, 0.0100, 0.0102, 0.0100, 0.0103], [0.101, 0.100, 0.103, 0.102, 0.100]


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (FAST, SLOW, "slower"),
        (SLOW, FAST, "faster"),
        (FAST, FAST, "no difference"),
        (FAST, [t * 1.02 for t in FAST], "no difference"),  # within what measuring cannot tell
        ([1.0, 9.0, 2.0, 8.0, 3.0], [2.0, 9.5, 3.0, 8.5, 4.0], "no difference"),  # within how far they spread
        (FAST[:2], SLOW[:2], "too few calls"),
    ],
)
def test_what_times_say(before: list[float], after: list[float], word: str) -> None:
    speed = compare(before, after)
    assert speed is not None
    assert speed.word == word
    assert speed.low <= speed.ratio <= speed.high


def test_without_calls_nothing_is_said() -> None:
    assert compare([], FAST) is None
    assert compare(FAST, [0.0]) is None


def test_words() -> None:
    assert times_as_long(0.42) == "0.42 times as long (2.38 times as fast)"
    assert times_as_long(78.0) == "78 times as long"


def verdict(tmp_path: object, action: Action, eager: list[float], graph: list[float]) -> Verdict:
    f, g = functions(tmp_path)
    event = told(1, eager_times=eager, graph_times=graph)
    changed = replace(g, decision=Decision(action))
    return judge((f, changed), Ended(0, 1.0, "exit", (event,)))[1]


def test_a_removal_is_compared_the_right_way_round(tmp_path: object) -> None:
    removed = verdict(tmp_path, Action.CONVERT_TO_EAGER, eager=SLOW, graph=FAST)
    assert (removed.kind, removed.slower) == ("equal", True)
    assert removed.speed_told.startswith(
        "slower than it is now: without the graph a call takes 10 times as long (10.1 ms before, 101 ms after; 95%: "
    )
    assert removed.objection == removed.speed_told
    good = verdict(tmp_path, Action.CONVERT_TO_EAGER, eager=FAST, graph=SLOW)
    assert (good.slower, good.objection) == (False, None)
    assert good.speed_told.startswith("faster: without the graph a call takes 0.1 times as long (10 times as fast) (")


def test_a_conversion_is_compared_with_eager_code(tmp_path: object) -> None:
    assert verdict(tmp_path, Action.CONVERT_TO_HYBRID, eager=FAST, graph=SLOW).slower
    assert not verdict(tmp_path, Action.CONVERT_TO_HYBRID, eager=SLOW, graph=FAST).slower
    assert verdict(tmp_path, Action.RECONFIGURE, eager=FAST, graph=SLOW).speed is None
