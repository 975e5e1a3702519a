"""What comes behind a call that surely ends the program, or refuses its arguments, does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize import api

BEHIND = """
import argparse
import contextlib
import functools
import sys

import tensorflow as tf


def behind():
    return 1


def two(a, b=0):
    return a + b


class Made:
    def __init__(self, width):
        self.width = width

    def method(self, a, *, b):
        return a


class Loose(Made):
    def __init__(self, *args, **kwargs):
        super().__init__(3)


def leaves(code):
    if code:
        sys.exit(1)
    raise SystemExit(code)


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(1, 2)

    return wrapper


@decorate
def wrapped(a, b):
    return a


def call(function):
    return function()


def chosen(more):
    def one(a):
        return a

    return one


def asks(code):
    if code is None:
        raise ValueError(code)
    return code


def passes_over(code):
    with contextlib.suppress(ValueError):
        raise ValueError(code)


def raises(code):
    if code:
        raise ValueError(code)
    raise NotImplementedError


class Unfinished:
    def __init__(self):
        raise NotImplementedError


@tf.function
def graph(a, b):
    return a


@decorate
@tf.function
def guarded(a, b):
    return a


class Step:
    @tf.function
    def run(self, a):
        return a


def main(flag, more, names):
    {}
    behind()


main(len(sys.argv) > 1, sys.argv, dict(a=1))
"""

ENDS = (
    "sys.exit(0)",
    "two()",
    "two(1, 2, 3)",
    "two(1, c=3)",
    "two(1, a=3)",
    "x = two(b=1) + 1",
    "Made()",
    "Made(1).method(2)",
    "Made(width=3, height=4)",
    "leaves(3)",
    "argparse.ArgumentParser().error('no')",
    "raises(3)",
    "x = raises(3) + 1",
    "Unfinished()",
    "graph(1)",
    "graph(1, 2, 3)",
    "Step().run(1, 2)",
    "tf.function(two)(1, 2, 3)",
    "for i in range(3):\n        two()",
    "for i in (1, 2):\n        if flag:\n            break_it = 1\n        raise ValueError(i)",
    "if flag:\n        sys.exit()\n    else:\n        two()",
    "def inner(a):\n        return a\n\n    inner()",
    "def inner(a):\n        return a\n\n    call(inner)",
)
GOES_ON = (
    "two(1)",
    "two(1, b=3)",
    "two(*more)",
    "two(**names)",
    "Made(1).method(2, b=1)",
    "Loose(1, 2, c=3)",
    "wrapped()",
    "flag or sys.exit()",
    "try:\n        raises(3)\n    except NotImplementedError:\n        pass",
    "asks(None)",  # what a library has given may be known wrongly
    "passes_over(3)",
    "graph(1, 2)",
    "guarded()",
    "Step().run(1)",
    "for each in more:\n        raise ValueError(each)",
    "for each in (1, 2):\n        if flag:\n            break\n        raise ValueError(each)",
    "x = 1 if flag else two()",
    "[two() for _ in more]",
    "if flag:\n        sys.exit(1)",
    "with contextlib.suppress(TypeError):\n        two()",
    "try:\n        two()\n    except TypeError:\n        pass",
    "for each in more:\n        if each == 'a':\n            continue\n        two(each)",
    "(two if flag else Made)(1)",
    "def inner(a=1):\n        return a\n\n    call(inner)",
    "chosen(more)()",
)


def _is_reached(tmp_path: Path, statement: str) -> bool:
    (tmp_path / "program.py").write_text(BEHIND.replace("{}", statement), encoding="utf-8")
    report = api.check([tmp_path])
    return any(f.facts.reached for f in report.functions if f.facts.qualname == "behind")


@pytest.mark.parametrize("statement", ENDS)
def test_nothing_runs_behind_what_does_not_come_back(tmp_path: Path, statement: str) -> None:
    assert not _is_reached(tmp_path, statement)


@pytest.mark.parametrize("statement", GOES_ON)
def test_what_may_come_back_is_followed(tmp_path: Path, statement: str) -> None:
    assert _is_reached(tmp_path, statement)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    """What a module defines behind an exit is still told of."""
    (tmp_path / "program.py").write_text("import sys\nsys.exit(0)\ndef late(x):\n    return x\n", encoding="utf-8")
    report = api.check([tmp_path])
    assert [f.facts.qualname for f in report.functions] == ["late"]
