"""Patterns of well-tested libraries that once were reported, and what they are not to be mistaken for."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config


def lines(source: str, code: str, folder: Path) -> set[int]:
    """The lines of a program at which a rule reports something."""
    (folder / "main.py").write_text(source, "utf-8")
    return {found.line for found in analyze([folder], Config()).findings if found.code == code}


def test_what_unknown_code_runs_is_not_its_result(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
import somewhere
replicator = somewhere.find()
@tf.function
def forward(x):
    return replicator.run(lambda: x + 1)
@tf.function
def named(x):
    def step():
        return x + 1
    return somewhere.run(step)
@tf.function
def bad(x):
    return lambda: x
@replicator.wraps
def main():
    forward(tf.ones(3)); named(tf.ones(3)); bad(tf.ones(3))
main()
"""
    assert lines(source, "HY350", tmp_path) == {14}


def test_a_function_made_by_the_call_that_writes_its_variable_sees_no_other_value(tmp_path: Path) -> None:
    source = """\
import tensorflow as tf
class Sampler:
    def closure(self, y):
        kept = [y]
        if self.split:
            kept = tf.split(y, 2)
        @tf.function
        def gradient(dy):
            return dy * len(kept)
        return y * 2, gradient
    @tf.function
    def scaled(self, y):
        return y * self.scale
    def slower(self):
        self.scale = tf.ones(2)
    def faster(self):
        self.scale = 2 * tf.ones(3)
"""
    assert lines(source, "HY602", tmp_path) == {13}
