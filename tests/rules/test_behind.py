"""What a program never comes to is information: it raises before, whatever the function would do then."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from hybridize.api import analyze
from hybridize.config import Config

PROGRAM = """\
import argparse
import contextlib
import tensorflow as tf

SETTINGS = {{"rate": 0.1}}

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_subparsers(dest="command").add_parser("train").add_argument("--steps", type=int)
    return parser.parse_args()

class Run:
    def __init__(self):
        self.rate = 0.1
    @tf.function
    def loss(self, x):
        return x.numpy()
    def missing(self):
        return self.nothing + 1
    def passes_over(self):
        with contextlib.suppress(ValueError):
            raise ValueError
    def start(self):
{body}
        return self.loss(tf.ones(2))

if __name__ == "__main__":
    Run().start()
"""
RAISES = (
    "k = self.nothing",
    "self.prepare()",
    "self.missing()",
    "k = SETTINGS['epochs']",
    "k = options().epochs",
    "k = undefined_name + 1",
    "k = tf.ones([2, 3]) @ tf.ones([2, 3])",
    "k = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))",
    "if options().rate:\n    self.prepare()\nelse:\n    self.missing()",
    "with tf.device('/cpu:0'):\n    self.prepare()",
)
GOES_ON = (
    "k = self.rate",
    "k = SETTINGS['rate']",
    "k = options().rate",
    "k = options().command",
    "k = options().steps",
    "k = tf.ones([2, 3]) @ tf.ones([3, 2])",
    "k = tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]), transpose_b=True)",
    "if options().rate:\n    self.prepare()",
    "try:\n    self.prepare()\nexcept AttributeError:\n    pass",
    "with contextlib.suppress(AttributeError):\n    self.prepare()",
    "self.passes_over()",
    "for _ in options().rate:\n    self.prepare()",
    "k = lambda: self.prepare()",
    "SETTINGS['epochs'] = 3\nk = SETTINGS['epochs']",
)


def severities(body: str, folder: Path) -> set[str]:
    """How loudly it is told that the function works only eagerly."""
    (folder / "main.py").write_text(PROGRAM.format(body=indent(body, " " * 8)), "utf-8")
    return {found.severity.value for found in analyze([folder], Config()).findings if found.code == "HY301"}


@pytest.mark.parametrize("body", RAISES)
def test_what_stands_behind_an_error_is_information(body: str, tmp_path: Path) -> None:
    assert severities(body, tmp_path) <= {"info"}


@pytest.mark.parametrize("body", GOES_ON)
def test_what_may_be_come_to_is_told(body: str, tmp_path: Path) -> None:
    assert severities(body, tmp_path) == {"error"}
