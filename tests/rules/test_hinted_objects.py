"""Objects of library classes that only a type hint tells of: nobody in the program calls these functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

PROGRAM = """\
from typing import Optional
import tensorflow as tf
def put(xs: tf.TensorArray, i: tf.Tensor, x: tf.Tensor):
    return xs.write(i, x * 2.0)
def first(xs: tf.TensorArray, x: tf.Tensor):
    return xs.read(0) + x
def stacked(xs: Optional["tf.TensorArray"], x: tf.Tensor):
    return tf.nn.softmax(xs.stack() + x) if xs is not None else x
"""


def test_an_eager_tensor_array_from_outside_is_a_list(tmp_path: Path) -> None:
    """`list[symbolic]` raises in the graph; places that Python knows, and `stack`, are fine (TensorFlow 2.15, 2.21)."""
    (tmp_path / "main.py").write_text(PROGRAM, encoding="utf-8")
    report = analyze([tmp_path], Config(all_safe=True))
    found = {f.facts.qualname: f for f in report.functions}
    assert "HY341" in {s.code for s in found["put"].statuses}
    assert found["put"].decision.action is Action.KEEP
    for name in ("first", "stacked"):
        assert found[name].decision.action is Action.CONVERT_TO_HYBRID, name


OVERRIDING = """\
from dataclasses import dataclass
from typing import List
import tensorflow as tf
@dataclass(frozen=True)
class Guess:
    rows: List[List[float]]
class Metric:
    def add(self, guess: Guess, weights: tf.Tensor):
        raise NotImplementedError
class Mean(Metric):
    def add(self, guess, weights):
        return tf.reduce_mean(guess.rows, axis=0) * weights
class Count(Metric):
    def add(self, {name}, weights):
        return tf.reduce_sum(weights)
KNOWN = Guess([[1.0]])
"""


@pytest.mark.parametrize(("name", "converted"), [("guess", False), ("other", True)])
def test_what_a_method_overrides_says_what_its_arguments_are(name: str, converted: bool, tmp_path: Path) -> None:
    """An object that hashes a list raises in front of a graph (TensorFlow 2.15, 2.21)."""
    (tmp_path / "main.py").write_text(OVERRIDING.format(name=name), encoding="utf-8")
    found = {f.facts.qualname: f for f in analyze([tmp_path], Config(all_safe=True)).functions}
    assert "HY260" in {s.code for s in found["Mean.add"].statuses}
    assert (found["Count.add"].decision.action is Action.CONVERT_TO_HYBRID) is converted
