"""Graphs that a library exports: their callers are elsewhere, and call as often and with what they like."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

SETUP = "from setuptools import find_packages, setup\nsetup(name='lib', packages=find_packages())\n"
HEAD = "from typing import Optional, Union\nimport tensorflow as tf\n"
GRAPH = """\
class Gen:
    @tf.function{}
    def make(self, n{}):
        return tf.random.uniform([4]) * tf.cast(n, tf.float32)
"""
MANY = """\
class Flow:
    def __init__(self):
        self.v = tf.Variable(1.0)
    @tf.function
    def prob(self, x):
        return x * self.v
class Flows:
    def __init__(self, count):
        self.flows = [Flow() for _ in range(count)]
    def prob(self, x):
        found = []
        for flow in self.flows:
            found.append(flow.prob(x).numpy())
        return found
"""
USE = "import numpy as np\nfrom lib import {0}\ndef test():\n    {0}(4).prob(np.ones(3, 'float32'))\n"


def _codes(tmp_path: Path, files: dict[str, str]) -> set[str]:
    for name, text in {"setup.py": SETUP, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return {finding.code for finding in analyze([tmp_path], Config()).findings}


@pytest.mark.parametrize(
    ("arguments", "hint", "expected"),
    [
        ("", ": Union[int, tf.Tensor, tf.Variable]", {"HY101"}),
        ("", ": float | tf.Tensor", {"HY101"}),
        ("", ": Optional[tf.Tensor] = None", set()),
        ("", ": tf.Tensor", set()),
        ("(input_signature=[tf.TensorSpec([], tf.int32)])", ": Union[int, tf.Tensor]", set()),
    ],
)
def test_numbers_beside_tensors_by_a_hint(arguments: str, hint: str, expected: set[str], tmp_path: Path) -> None:
    files = {"lib/__init__.py": "from .gen import Gen\n", "lib/gen.py": HEAD + GRAPH.format(arguments, hint)}
    assert _codes(tmp_path, files) & {"HY101"} == expected


def test_objects_that_are_kept_have_a_graph_each(tmp_path: Path) -> None:
    files = {
        "lib/__init__.py": "from .gen import Flows\n",
        "lib/gen.py": HEAD + MANY,
        "tests/test_flows.py": USE.format("Flows"),
    }
    assert "HY103" not in _codes(tmp_path, files)
