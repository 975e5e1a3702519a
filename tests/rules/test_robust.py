"""A rule that raises costs its own hits, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.program.ir import Op
from hybridize.rules import scan
from hybridize.rules.model import Hit
from hybridize.rules.registry import all_rules

PROGRAM = """\
import tensorflow as tf
@tf.function
def shown(x):
    return tf.constant(x.numpy())
shown(tf.ones(3))
"""


def broken(*_: object) -> Iterator[Hit]:
    raise KeyError("no such thing")
    yield


def test_a_rule_that_raises_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = replace(all_rules()[0], code="HY999", triggers={Op.CALL: broken}, frame=broken, root=broken, project=broken)
    monkeypatch.setattr(scan, "all_rules", lambda: (bad, *all_rules()))
    (tmp_path / "main.py").write_text(PROGRAM)
    assert "HY301" in {f.code for f in analyze([tmp_path], Config()).findings}


UNPACKED = """\
import tensorflow as tf
@tf.function
def target(x, f):
    return f(x)
def pair():
    return tf.ones(2), tf.abs
x, f = pair()
target(x, f)
"""


def test_no_rule_raises_for_arguments_that_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[Exception] = []
    monkeypatch.setattr(scan.Scanner, "_failed", lambda self, rule, error: failed.append(error))
    (tmp_path / "main.py").write_text(UNPACKED)
    analyze([tmp_path], Config())
    assert not failed
