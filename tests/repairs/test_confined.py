"""HY820 and whose eyes it sees: a field that somebody may read behind the call stays the call's own no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, Report
from hybridize.facts.model import Ternary

CODE = """\
import copy, pickle
import tensorflow as tf
class Layer(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]))
        self.kept = None
    def call(self, x):
        for _ in range(6):
            x = tf.tanh(tf.matmul(x, self.w)) + x * 0.5
        self.kept = tf.nn.softmax(x)
        return tf.matmul(self.kept, self.w)
    def get_kept(self):
        return self.kept
def run(layer):
    return layer.call(tf.ones([2, 4]))
layer = Layer()
for _ in range(3):
    r = run(layer)
"""


def report(folder: Path, code: str, **files: str) -> Report:
    (folder / "program.py").write_text(code, encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_dot_", ".")).write_text(text, encoding="utf-8")
    return analyze([folder], Config())


def is_offered(found: Report) -> bool:
    return any(
        each.code == "HY820" for b in found.repairs if b.qualname == "Layer.call" and b.complete for each in b.repairs
    )


def test_a_getter_that_nobody_calls_is_named(tmp_path: Path) -> None:
    found = report(tmp_path, CODE)
    (bundle,) = (b for b in found.repairs if b.qualname == "Layer.call")
    (repair,) = bundle.repairs
    assert repair.doubt is not None
    assert "`get_kept`" in repair.doubt


@pytest.mark.parametrize(
    "line",
    [
        "layer.get_kept()",
        "layer.kept",
        'getattr(layer, "kept")',
        "getattr(layer, input())",
        "vars(layer)",
        "layer.__dict__",
        "copy.copy(layer)",
        "copy.deepcopy([layer])",
        'pickle.dump({"layer": layer}, open("f", "wb"))',
        "print(run(layer), layer.kept)",
        "[each.kept for each in [layer]]",
        "for each in unheard_of: each.kept",
        "layer.kept += 1",
        "layer.kept.copy()",
    ],
)
def test_who_reads_it_behind_the_call(line: str, tmp_path: Path) -> None:
    assert not is_offered(report(tmp_path, CODE + line + "\n"))


def test_tests_and_notebooks_read_too(tmp_path: Path) -> None:
    reads = "from program import Layer\ndef test_kept():\n    one = Layer()\n    one.call(1)\n    assert one.kept\n"
    (tmp_path / "a").mkdir()
    assert not is_offered(report(tmp_path / "a", CODE, test_layer_dot_py=reads))
    (tmp_path / "b").mkdir()
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = ["from program import layer\n", "print(layer.kept)\n"]
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert not is_offered(report(tmp_path / "b", CODE, look_dot_ipynb=notebook))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return tf.matmul(self.kept", "return tf.matmul(self.kept if x is None else self.kept"),
        ("get_kept(self)", "last(self)"),
    ],
)
def test_it_is_offered_all_the_same(old: str, new: str, tmp_path: Path) -> None:
    assert is_offered(report(tmp_path, CODE.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for _ in range(6):", "for _ in range(6 if self.kept is None else 3):"),  # of the call before
        ("self.kept = tf.nn.softmax(x)", "self.kept = tf.nn.softmax(x) + (0.0 if self.kept is None else self.kept)"),
        ("        self.kept = tf", "        if tf.reduce_sum(x) > 0:\n            self.kept = tf"),
        ("        self.kept = tf", "        if len(x.shape) > 1:\n            self.kept = tf"),
        ("def get_kept(self)", "def __repr__(self)"),
        ("def get_kept(self)", "def get_kept(self, x)"),
        ("class Layer(tf.Module):", "class Layer(tf.Module):\n    __slots__ = ('kept', 'w')"),
        ("class Layer(tf.Module):", "import dataclasses\n@dataclasses.dataclass\nclass Layer(tf.Module):"),
        ("class Layer(tf.Module):", "class Layer(unheard_of.Base):"),
        ("def run(layer):\n", "def run(layer):\n    other = layer.kept\n"),
        ("    return layer.call(tf.ones([2, 4]))", "    y = layer.call(tf.ones([2, 4]))\n    return y + layer.kept"),
    ],
)
def test_it_is_not_offered(old: str, new: str, tmp_path: Path) -> None:
    assert old in CODE
    assert not is_offered(report(tmp_path, CODE.replace(old, new)))


def test_the_comment_answers_for_one_line(tmp_path: Path) -> None:
    said = CODE.replace("tf.nn.softmax(x)\n", "tf.nn.softmax(x)  # hybridize: ignore[HY206] -- nobody looks\n")
    (call,) = (f for f in report(tmp_path, said).functions if f.facts.qualname == "Layer.call")
    assert call.decision.action is Action.CONVERT_TO_HYBRID
    assert call.facts.python_side_effects.value is Ternary.YES
    assert any("as a comment says" in each.message for each in call.facts.assumptions)
    more = said.replace("        return tf.matmul", "        self.count = self.count + 1\n        return tf.matmul")
    more = more.replace("self.kept = None", "self.kept = None\n        self.count = 0")
    (call,) = (f for f in report(tmp_path, more).functions if f.facts.qualname == "Layer.call")
    assert call.decision.action is Action.KEEP


def test_a_comment_for_all_of_a_file_answers_for_nothing(tmp_path: Path) -> None:
    (call,) = (
        f for f in report(tmp_path, "# hybridize: ignore[HY206]\n" + CODE).functions if f.facts.qualname == "Layer.call"
    )
    assert call.decision.action is Action.KEEP


def test_the_comment_is_used_in_hybrid_functions(tmp_path: Path) -> None:
    said = CODE.replace("tf.nn.softmax(x)\n", "tf.nn.softmax(x)  # hybridize: ignore[HY206]\n")
    said = said.replace("    def call", "    @tf.function\n    def call")
    assert not report(tmp_path, said).findings
