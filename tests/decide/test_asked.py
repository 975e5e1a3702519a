"""Of which functions the rules are asked: in large programs not of those that nobody knows to compute on tensors."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config

PROGRAM = """\
import tensorflow as tf
level = 0
def read(thing):
    return thing.part(level)
def computes(thing):
    return tf.sin(1.0 * level) if thing.part(level) else None
def certain(x):
    return tf.sin(x) * level
def everything(given):
    read(given), computes(given), certain(tf.ones([2]))
def turn(given):
    global level
    for level in range(3):
        everything(given)
"""
MANY = "".join(f"def filler{i}():\n    return {i}\n" for i in range(130))


def test_what_keeps_a_function_eager_is_told_where_it_may_be_a_graph(tmp_path: Path) -> None:
    told = {}
    for size, text in (("small", PROGRAM), ("large", PROGRAM + MANY)):
        (tmp_path / "main.py").write_text(text, encoding="utf-8")
        report = analyze([tmp_path], Config())
        told[size] = {f.facts.qualname: {s.code for s in f.statuses} for f in report.functions}
    assert "HY602" in told["small"]["read"]
    assert "HY602" not in told["large"]["read"], "nobody knows that it has anything to do with TensorFlow"
    assert told["large"]["read"], "it is said what is not known"
    for name in ("computes", "certain"):
        assert "HY602" in told["large"][name]
        assert told["large"][name] == told["small"][name]
