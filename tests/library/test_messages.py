"""Protocol buffers: what changes a part changes the message, and a field may be any plain value."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """
import tensorflow as tf
from google.protobuf import message, reflection
Boxes = reflection.GeneratedProtocolMessageType("Boxes", (message.Message,), {})
FIRST = Boxes.FIRST
log = []
def noisy(x):
    log.append(1)
    return tf.math.sin(x)
"""


def codes(folder: Path, text: str) -> dict[str, set[str]]:
    """The statuses of the functions of a program, by name."""
    (folder / "main.py").write_text(HEAD + text, "utf-8")
    return {f.facts.qualname: {s.code for s in f.statuses} for f in analyze([folder], Config()).functions}


def test_what_is_added_to_an_argument_outlives_the_call(tmp_path: Path) -> None:
    text = """
def fill(boxes, x):
    boxes.box.add(score=1)
    return tf.math.sin(x)
fill(Boxes(), tf.ones(2))
"""
    assert "HY003" in codes(tmp_path, text)["fill"]


def test_a_message_of_its_own_is_no_side_effect(tmp_path: Path) -> None:
    text = """
def fresh(x):
    boxes = Boxes()
    boxes.box.add(score=1)
    return tf.math.sin(x)
fresh(tf.ones(2))
"""
    assert not codes(tmp_path, text)["fresh"] & {"HY003", "HY006"}


def test_a_field_may_be_true_or_false(tmp_path: Path) -> None:
    text = """
def when_set(x, boxes):
    return noisy(x) if boxes.flag else x
def when_not(x, boxes):
    return x if boxes.flag else noisy(x)
def when_first(x, boxes):
    if boxes.kind not in [FIRST]:
        raise ValueError
    return noisy(x) if boxes.kind == FIRST else x
boxes = Boxes()
when_set(tf.ones(2), boxes), when_not(tf.ones(2), boxes), when_first(tf.ones(2), boxes)
"""
    found = codes(tmp_path, text)
    assert all("HY003" in found[name] for name in ("when_set", "when_not", "when_first"))
