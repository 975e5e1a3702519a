"""Public functions of a library: called from elsewhere again and again, where what authors declare is enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

LIBRARY = '''\
import tensorflow as tf
def declared(x: tf.Tensor):
    for _ in range(40):
        x = tf.tanh(x) * 2.0
    return x
def told(x):
    """Args:
      x: A `Tensor` of shape [n].
    """
    for _ in range(40):
        x = tf.tanh(x) * 2.0
    return x
def _private(x: tf.Tensor):
    for _ in range(40):
        x = tf.tanh(x) * 2.0
    return x
def operand(x):
    for _ in range(40):
        x = tf.tanh(x) * 2.0
    return x
'''


@pytest.mark.parametrize(
    ("confidence", "converted"),
    [("seen", set()), ("declared", {"declared", "told"}), ("assumed", {"declared", "told", "operand"})],
)
def test_the_levels(tmp_path: Path, confidence: str, converted: set[str]) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "p"\ndependencies = ["tensorflow>=2.15"]\n')
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text("")
    (tmp_path / "p/m.py").write_text(LIBRARY)
    report = analyze([tmp_path], Config(confidence=confidence), repairs=False)
    assert {f.facts.qualname for f in report.functions if f.decision.action == "convert_to_hybrid"} == converted
