"""What the program demands to fail is left as it is: no findings there, and no repairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

BUGGY = """\
import contextlib, unittest
import pytest
import tensorflow as tf

@tf.function
def target(x):
    y = x
    for i in tf.range(3):
        y = tf.concat([y, x], 0)
    return y
"""
OWN = """\
@contextlib.contextmanager
def awaits(error):
    try:
        yield
    except error as e:
        print("caught", e)
    else:
        raise AssertionError("nothing was raised")
"""
CLASS = """\
class Awaits:
    def __init__(self, error):
        self.error = error
    def __enter__(self):
        return self
    def __exit__(self, kind, value, traceback):
        if kind is None:
            raise AssertionError("nothing was raised")
        return issubclass(kind, self.error)
"""
TEST = "class Tests(unittest.TestCase):\n    def test(self):\n"


@pytest.mark.parametrize(
    ("program", "silent"),
    [
        ("target(tf.ones([1]))\n", False),
        ("with pytest.raises(ValueError):\n    target(tf.ones([1]))\n", True),
        (f"{TEST}        with self.assertRaises(ValueError):\n            target(tf.ones([1]))\n", True),
        (f"{TEST}        self.assertRaises(ValueError, lambda: target(tf.ones([1])))\n", True),
        (f"{OWN}with awaits(ValueError):\n    target(tf.ones([1]))\n", True),
        (f"{CLASS}with Awaits(ValueError):\n    target(tf.ones([1]))\n", True),
        (f"{OWN}with awaits(ValueError):\n    target(tf.ones([1]))\ntarget(tf.ones([2]))\n", False),
        (f"def run():\n    target(tf.ones([1]))\n{OWN}with awaits(ValueError):\n    run()\n", True),
        ("with tf.device('cpu'):\n    target(tf.ones([1]))\n", False),
        ("with contextlib.suppress(ValueError):\n    target(tf.ones([1]))\n", False),
    ],
)
def test_what_is_only_called_where_an_exception_is_awaited_is_left_alone(
    program: str, silent: bool, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(BUGGY + program)
    report = analyze([tmp_path], Config())
    assert (not report.findings, not report.repairs) == (silent, silent)
