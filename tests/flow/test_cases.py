"""What runners of tests call them with: cases that decorators give, and what stands in the place of a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.model import TensorType

ARRAY = TensorType("ndarray", "float64", (3,))

HEAD = """\
import functools
import numpy as np
import pytest
from absl.testing import parameterized
from parameterized import parameterized as expanding
from ops import target
ARRAY = np.ones(3)
def given(f):
    @functools.wraps(f)
    def test():
        return f(ARRAY)
    return test
"""
#: Decorators of a test that takes `x` and more, by what they do.
DECORATORS = {
    "one value a case": ("parameterized.parameters(ARRAY, ARRAY)", "x"),
    "several": ("parameterized.parameters((1, ARRAY), (2, ARRAY))", "n, x"),
    "by name": ("parameterized.parameters({'x': ARRAY, 'n': 1}, dict(n=2, x=ARRAY))", "n, x"),
    "a list of cases": ("parameterized.parameters([(1, ARRAY), (2, ARRAY)])", "n, x"),
    "computed cases": ("parameterized.parameters((n, ARRAY) for n in range(3))", "n, x"),
    "with a name": ("parameterized.named_parameters(('a', ARRAY), ('b', ARRAY))", "x"),
    "named": (
        "parameterized.named_parameters(dict(testcase_name='a', x=ARRAY), dict(testcase_name='b', x=ARRAY))",
        "x",
    ),
    "a product": ("parameterized.product(n=[1, 2], x=[ARRAY])", "n, x"),
    "a product with rows": ("parameterized.product(({'x': ARRAY}, dict(x=ARRAY)), n=[1, 2])", "n, x"),
    "expanded": ("expanding.expand([('a', ARRAY), ('b', ARRAY)])", "name, x"),
}


@pytest.mark.parametrize(
    ("decorator", "parameters"), [pytest.param(*each, id=said) for said, each in DECORATORS.items()]
)
def test_cases_of_a_method_reach_it(decorator: str, parameters: str, tmp_path: Path) -> None:
    method = f"    @{decorator}\n    def test(self, {parameters}): target(x)\n"
    assert arrives(tmp_path, f"class Checks(parameterized.TestCase):\n{method}") == [ARRAY]


@pytest.mark.parametrize(
    "test",
    [
        "@pytest.mark.parametrize('x', [ARRAY])\ndef test(x): target(x)\n",
        "@pytest.mark.parametrize(('n', 'x'), [(1, ARRAY), (2, ARRAY)])\ndef test(n, x): target(x)\n",
        "@expanding([(ARRAY,), (ARRAY,)])\ndef test(x): target(x)\n",
        "@parameterized.parameters(ARRAY, ARRAY)\nclass C(parameterized.TestCase):\n    def test(self, x): target(x)\n",
    ],
)
def test_cases_of_functions_and_classes_reach_them(test: str, tmp_path: Path) -> None:
    assert arrives(tmp_path, test) == [ARRAY]


def test_what_a_decorator_has_put_in_the_place_of_a_test_runs(tmp_path: Path) -> None:
    assert ARRAY in arrives(tmp_path, "@given\ndef test(x): target(x)\n")


def arrives(folder: Path, test: str) -> list[TensorType]:
    """What `target` is called with."""
    (folder / "ops.py").write_text("import tensorflow as tf\ndef target(x):\n    return tf.exp(x)\n")
    (folder / "test_ops.py").write_text(HEAD + test)
    report = analyze([folder], Config())
    found = next(f for f in report.functions if f.facts.qualname == "target")
    return list(found.facts.parameters[0].tensor_types)
