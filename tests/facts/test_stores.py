"""A field holds what was stored in it last: a list of the call's own is not the one that the constructor has made.

Each program keeps in `shown` what its three calls give. Where a graph gives the same as eager code, the list that it
fills is a new one each time; where it does not, some other list may be there, and is told.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from hybridize.api import analyze
from hybridize.config import Config

PROGRAM = """\
import tensorflow as tf
log = ["first"]
class Net:
    def __init__(self, rows):
        self.rows = rows
        self.flag = True
        self.next = None
    def begin(self):
        self.rows = []
    def note(self, word):
        self.rows.append(word)
    def relog(self):
        self.rows = log
    @tf.function
    def step(self, x):
{body}
        return x + float(len(self.rows))
    @tf.function
    def total(self, x):
        return x + float(len(log))
net, other = Net(log), Net(log)
shown = [net.step(tf.constant(1.0)) for _ in range(3)]
"""
NEW = {
    "stored": "self.rows = []\nself.rows.append('a')",
    "stored by a callee": "self.begin()\nself.rows.append('a')",
    "filled by a callee": "self.rows = []\nself.note('a')",
    "both by callees": "self.begin()\nself.note('a')",
    "in a loop": "self.rows = []\nfor word in ('a', 'b'):\n    self.note(word)",
    "in each branch": "if self.flag:\n    self.rows = []\nelse:\n    self.rows = ['z']\nself.note('a')",
    "in a handler": "self.rows = []\ntry:\n    self.note('a')\nexcept ValueError:\n    self.note('b')",
    "emptied": "self.rows.clear()\nself.rows.append('a')",
    "another's is stored": "self.rows = []\nother.begin()\nself.note('a')",
}
SHARED = {
    "not stored": "self.rows.append('a')",
    "stored too late": "self.note('a')\nrows, self.rows = self.rows, []\nself.rows = rows",
    "in one branch": "if not self.flag:\n    self.rows = []\nself.note('a')",
    "once": "if self.flag:\n    self.begin()\n    self.flag = False\nself.note('a')",
    "of another object": "other.rows = []\nself.note('a')",
    "stored again by a callee": "self.rows = []\nself.relog()\nself.note('a')",
    "stored again by a turn": "self.rows = []\nfor _ in range(2):\n    self.note('a')\n    self.rows = log",
    "stored again before leaving": (
        "self.rows = []\nfor k in range(3):\n    if k == 1:\n        self.rows = log\n        break\nself.note('a')"
    ),
    "by another name": "me = self\nself.rows = []\nme.rows = log\nself.note('a')",
}


def severities(body: str, folder: Path) -> set[str]:
    """How loudly changes of lists are told."""
    (folder / "main.py").write_text(PROGRAM.format(body=indent(body, " " * 8)), "utf-8")
    found = (f for f in analyze([folder], Config()).findings if f.code == "HY206" and "a list" in f.message)
    return {each.severity.value for each in found}


def seen(body: str, *, eager: bool) -> list[float]:
    """What the calls give, eager or as a graph."""
    tf = pytest.importorskip("tensorflow")
    tf.config.run_functions_eagerly(eager)
    try:
        space: dict[str, list[float]] = {}
        exec(PROGRAM.format(body=indent(body, " " * 8)), space)  # the program is one of this file's
        return [float(each) for each in space["shown"]]
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize("body", NEW.values(), ids=NEW)
def test_what_is_stored_first_is_what_is_filled(body: str, tmp_path: Path) -> None:
    assert not severities(body, tmp_path) - {"info"}
    assert seen(body, eager=False) == seen(body, eager=True)


@pytest.mark.parametrize("body", SHARED.values(), ids=SHARED)
def test_where_another_list_may_be_stored_it_is_told(body: str, tmp_path: Path) -> None:
    assert "error" in severities(body, tmp_path)
    assert seen(body, eager=False) != seen(body, eager=True)
