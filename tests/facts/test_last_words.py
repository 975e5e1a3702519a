"""What is printed before an exception is said by a graph at each call that fails, too, unless somebody catches it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

MODULE = """\
import contextlib
import logging
import tensorflow as tf

def check(x):
    if x.shape.rank != 1:
        logging.error("no vector")
        raise ValueError("no vector")

def target(x: tf.Tensor):
{body}
    for _ in range(9):
        x = tf.tanh(x)
    return x
"""
FINE = {
    "before a raise": "    if x.shape.rank != 1:\n        print('no vector')\n        raise ValueError",
    "in a handler that raises again": (
        "    try:\n        x.shape.assert_has_rank(1)\n"
        "    except ValueError as error:\n        logging.error('%s', error)\n        raise"
    ),
    "in a function that is called": "    check(x)",
}
KEPT = {
    "a handler that goes on": (
        "    try:\n        x.shape.assert_has_rank(1)\n    except ValueError:\n        print('no vector')"
    ),
    "an exception that is caught": (
        "    try:\n        check(x)\n    except ValueError:\n        x = tf.reshape(x, [-1])"
    ),
    "an exception that is suppressed": "    with contextlib.suppress(ValueError):\n        check(x)",
    "a condition on values": "    if tf.reduce_any(x < 0.0):\n        print('negative')\n        raise ValueError",
    "more than words": "    if x.shape.rank != 1:\n        FAILED.append(x)\n        raise ValueError",
}


def codes(tmp_path: Path, body: str) -> set[str]:
    """What keeps the function `target` as it is."""
    (tmp_path / "m.py").write_text(MODULE.format(body=body) + "\nFAILED = []\n", encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True), repairs=False).functions
    return {each.code for each in next(f for f in found if f.facts.qualname == "target").statuses}


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_words_before_an_exception_are_no_effect(body: str, tmp_path: Path) -> None:
    assert not codes(tmp_path, body)


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_words_after_which_the_call_goes_on_are_one(body: str, tmp_path: Path) -> None:
    assert codes(tmp_path, body) & {"HY003", "HY313"}
