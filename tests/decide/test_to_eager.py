"""Which hybrid functions become eager (P2, P6), and which something keeps hybrid."""

from __future__ import annotations

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport

PROGRAM = """\
import numpy as np
import tensorflow as tf
@tf.function
def used_as_tensor(n):
    return n * 2
used_as_tensor(3).numpy()
@tf.function
def used_in_a_list():
    return [1.0, 2.0]
for each in used_in_a_list():
    each.numpy()
@tf.function
def only_computed_with(n):
    return n * 2
only_computed_with(3) + 1
@tf.function
def hands_back(x):
    return {"a": x}
hands_back(tf.ones([2]))["a"].numpy()
@tf.function
def does_nothing(x):
    pass
does_nothing(tf.ones([2]))
@tf.function
def array_as_tensor(x):
    return x
array_as_tensor(np.ones([2])).numpy()
@tf.function
def computes(x):
    return x + 1
computes(tf.ones([2]))
@tf.function
def prints(x):
    print("tracing")
    return x
prints(tf.ones([2]))
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FunctionReport]:
    path = tmp_path_factory.mktemp("project") / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return {f.facts.qualname: f for f in analyze([path], Config()).functions}


@pytest.mark.parametrize(
    ("name", "precondition", "status"),
    [
        ("used_as_tensor", None, "graph-dependants"),
        ("used_in_a_list", None, "graph-dependants"),
        ("only_computed_with", "P2", None),
        ("hands_back", "P6", None),
        ("does_nothing", "P6", None),
        ("array_as_tensor", None, "graph-dependants"),
        ("computes", None, "no-primitive-parameter"),
        ("prints", None, "python-side-effects"),
    ],
)
def test_decision(
    functions: dict[str, FunctionReport], name: str, precondition: str | None, status: str | None
) -> None:
    found = functions[name]
    assert found.decision.precondition == precondition
    assert status is None or status in [each.name for each in found.statuses]
