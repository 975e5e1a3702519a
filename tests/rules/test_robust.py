"""A rule that raises costs its own hits, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action
from hybridize.program import ir
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
    bad = replace(all_rules()[0], code="HY999", triggers={ir.Call: broken}, frame=broken, root=broken, project=broken)
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
    monkeypatch.setattr(scan.Scanner, "_failed", lambda self, rule, code, error: iter(failed.append(error) or ()))
    (tmp_path / "main.py").write_text(UNPACKED)
    analyze([tmp_path], Config())
    assert not failed


TRAINING = """\
import tensorflow as tf
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD()
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
for _ in range(1000):
    step(tf.ones(3))
"""


def test_what_a_broken_rule_might_have_found_keeps_a_function_eager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text(TRAINING)
    converted = [f.decision.action for f in analyze([tmp_path], Config()).functions]
    assert converted == [Action.CONVERT_TO_HYBRID]
    blocking = next(rule for rule in all_rules() if rule.blocks)
    bad = replace(blocking, code="HY999", triggers={}, frame=None, root=broken, project=None)
    monkeypatch.setattr(scan, "all_rules", lambda: (bad, *all_rules()))
    report = analyze([tmp_path], Config()).functions[0]
    assert report.decision.action is Action.KEEP
    assert "HY999" in {status.code for status in report.statuses}


SCALAR = """\
import tensorflow as tf
layer = tf.keras.layers.Dense(3)
layer(tf.constant(1.0))
print(layer.kernel.shape)
def double(x):
    return x * 2
double(tf.ones(3))
"""


def test_a_layer_that_no_shape_rule_foresaw_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SCALAR)
    assert [f.facts.id for f in analyze([tmp_path], Config()).functions] == ["main:double"]
