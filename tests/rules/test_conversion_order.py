"""HY360: the table of operands that a graph converts in order, asked of TensorFlow; and what is a doubt."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport
from hybridize.library.tensorflow.conversion_order import GROUPS

#: What is given besides the operands, and operands of another form than a vector of two.
OTHERS: dict[str, dict[str, Any]] = {
    "tf.where": {"condition": [True, False]},
    "tf.compat.v1.where": {"condition": [True, False]},
    "tf.pad": {"paddings": [[1, 1]]},
    "tf.linalg.banded_triangular_solve": {"bands": [[1, 1]], "rhs": [[1], [1]]},
    "tf.linalg.cross": {"a": [1, 2, 3], "b": [1, 2, 3]},
    "tf.nn.bias_add": {"value": [[1, 1]]},
    "keras.backend.bias_add": {"x": [[1, 1]]},
    "tf.nn.normalize_moments": {"shift": None, "mean_ss": 1, "variance_ss": 1},
    "tf.linalg.diag": {"padding_value": 1},
    "tf.linalg.diag_part": {"input": [[1, 2], [3, 4]], "padding_value": 1},
    **{f"tf.linalg.{name}": {"matrix": [[1, 0], [0, 1]], "rhs": [[1], [1]]} for name in ("solve", "triangular_solve")},
    "keras.ops.scatter_update": {"indices": [[0]], "updates": [1], "inputs": [1, 2]},
    "keras.ops.slice_update": {"start_indices": [0], "updates": [1], "inputs": [1, 2]},
    "tf.linalg.cholesky_solve": {"chol": [[1, 0], [0, 1]], "rhs": [[1], [1]]},
    **{
        f"tf.tensor_scatter_nd_{name}": {"indices": [[0]], "updates": [1], "tensor": [1, 2]}
        for name in "update add sub min max".split()
    },
}
SCALAR = {"constant_values", "padding_value"}
#: Operations on integers, and those that know float64 only beside float32.
INTEGERS = "tf.bitwise."


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", sorted(GROUPS))
def test_a_graph_refuses_what_eager_code_converts(name: str) -> None:
    tf = pytest.importorskip("tensorflow")
    if name.startswith("keras.ops.") and not hasattr(tf.keras, "ops"):
        pytest.skip("Keras 2")
    module: Any = tf.keras if name.startswith("keras.") else tf
    for part in name.split(".")[1:]:
        module = getattr(module, part)
    for first, *others in GROUPS[name]:
        dtype = "int64" if name.startswith(INTEGERS) else "float64"
        given: dict[str, Any] = dict(OTHERS.get(name, {}))
        literal = given.get(first, [1, 1])
        operands = {p: tf.constant(given.get(p, 1 if p in SCALAR else [1, 1]), dtype) for p in others}
        rest = {key: value for key, value in given.items() if key not in (first, *others)}
        rest = {k: tf.constant(v, dtype) if k in ("mean_ss", "variance_ss") else v for k, v in rest.items()}

        run = functools.partial(module, **{**rest, **operands, first: literal})
        run()
        with pytest.raises((TypeError, ValueError)):
            tf.function(run, autograph=False)()


def step(body: str, tmp_path: Path, *, tensor: str = "tf.ones([64])", options: Config | None = None) -> FunctionReport:
    text = f"""\
import numpy as np
import tensorflow as tf
import unknown_package
LEAST = np.zeros(64)
def step(x, n=2):
    for _ in range(20):
        x = tf.sin(x) + x * 0.5
    return {body}
x = {tensor}
for _ in range(1000):
    y = step(x)
"""
    (tmp_path / "program.py").write_text(text)
    report = analyze([tmp_path], options or Config())
    return next(f for f in report.functions if f.facts.qualname == "step")


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("tf.maximum(0, x)", {"HY360"}),
        ("tf.maximum(n, x)", {"HY360"}),
        ("tf.maximum(LEAST, x)", {"HY360"}),
        ("tf.maximum([0] * 64, x)", {"HY360"}),
        ("tf.where(x > 0, True, x)", {"HY360"}),
        ("tf.maximum(0.0, x)", set()),
        ("tf.maximum(x, 0)", set()),
        ("tf.maximum(np.float32(0), x)", set()),
        ("tf.add(1.0, x)", set()),
        ("tf.maximum(0, tf.shape(x)[0])", set()),
        ("tf.where(x > 0, 1, 0)", set()),
    ],
)
def test_literals_and_arrays_in_the_first_place(body: str, codes: set[str], tmp_path: Path) -> None:
    assert {s.code for s in step(body, tmp_path).statuses} & {"HY360"} == codes


def test_an_integer_before_a_tensor_of_unknown_dtype_is_a_doubt(tmp_path: Path) -> None:
    unknown = "tf.cast(tf.ones([64]), unknown_package.DTYPE)"
    found = step("tf.maximum(0, x)", tmp_path, tensor=unknown)
    assert any("of unknown dtype" in e.message or "is of int32" in e.message for e in found.facts.assumptions)
    assert found.decision.action.value == "keep"
    assert not any(
        "is of float32" in e.message for e in step("tf.maximum(0.0, x)", tmp_path, tensor=unknown).facts.assumptions
    )
