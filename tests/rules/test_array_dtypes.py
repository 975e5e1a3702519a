"""Arrays that meet tensors of another dtype (HY348): what TensorFlow does, and what is assumed where nobody knows."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Confidence, FunctionReport
from hybridize.tracing.shapes import meetings

#: Shapes of operands that suit a function of the tables; `v` where nothing is said.
SHAPES = {
    "tf.linalg.solve": "mc",
    "tf.linalg.triangular_solve": "mc",
    "tf.linalg.lstsq": "mc",
    "tf.linalg.cholesky_solve": "mc",
    "tf.linalg.cross": "vv",
    "tf.matmul": "mm",
    "tf.linalg.matmul": "mm",
    "tf.tensordot": "mm",
    "tf.scalar_mul": "sv",
    "tf.math.scalar_mul": "sv",
    "tf.pad": "vs",
    "tf.linspace": "ss",
    "tf.nn.bias_add": "mv",
    "tf.nn.conv2d": "ik",
    "tf.nn.conv2d_transpose": "ik",
    "tf.nn.conv3d": "jl",
    "tf.clip_by_value": "vss",
}
DIMS = {"v": (3,), "m": (3, 3), "c": (3, 1), "s": (), "i": (1, 4, 4, 1), "k": (2, 2, 1, 1)} | {
    "j": (1, 4, 4, 4, 1),
    "l": (2, 2, 2, 1, 1),
}
#: What else a function must be given.
REST: dict[str, dict[str, Any]] = {
    "tf.where": {"condition": [True, False, True]},
    "tf.pad": {"paddings": [[1, 1]]},
    "tf.linspace": {"num": 3},
    "tf.tensordot": {"axes": 1},
    "tf.nn.conv2d": {"strides": 1, "padding": "SAME"},
    "tf.nn.conv3d": {"strides": [1] * 5, "padding": "SAME"},
    "tf.nn.conv2d_transpose": {"strides": 1, "output_shape": [1, 4, 4, 1]},
    **{name: {"indices": [[0], [1], [2]]} for name in meetings._GROUPS if "scatter" in name},
}


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", sorted(meetings._GROUPS))
def test_the_table_is_what_tensorflow_does(name: str) -> None:
    """An array that yields is converted eagerly and refused as an argument; one that does not is refused by both."""
    np, tf = pytest.importorskip("numpy"), pytest.importorskip("tensorflow")
    function: Any = tf
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    names = [each for each in meetings._GROUPS[name] if each]
    ones = {}
    for parameter, letter in zip(names, SHAPES.get(name, "v" * len(names)), strict=True):
        ones[parameter] = np.full(DIMS[letter], 0.5, np.float32)
        if letter == "m":
            ones[parameter] += np.eye(3, dtype=np.float32)
    yields = {m.slot: m.yields for m in meetings._alike(list(range(len(names))), name)}
    for place, parameter in enumerate(names):
        given = {each: tf.constant(value) for each, value in ones.items()}
        given[parameter] = ones[parameter].astype(np.float64) + 1e-9
        assert _works(tf, lambda given=given: function(**given, **REST.get(name, {}))) is yields[place]
        if yields[place]:
            alike = {**given, parameter: tf.convert_to_tensor(given[parameter], tf.float32)}
            results = [tf.nest.flatten(function(**each, **REST.get(name, {}))) for each in (given, alike)]
            assert all(a.numpy().tobytes() == b.numpy().tobytes() for a, b in zip(*results, strict=True))
        traced = tf.function(lambda **kept: function(**kept, **REST.get(name, {})))
        assert not _works(tf, lambda given=given, traced=traced: traced(**given))


STRANGE = [1e-310, 1e-42, 1e300, float("nan"), float("inf"), -0.0, 0.1, 16777217.0]


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", sorted(meetings.OPERATORS - {"@"}))
@pytest.mark.parametrize("dtype", ["bool", "int64", "float64"])
def test_operators_convert_as_convert_to_tensor_does(name: str, dtype: str) -> None:
    """What HY821 rests on: on either side of a tensor or variable an array, or a scalar, becomes the same number."""
    np, tf = pytest.importorskip("numpy"), pytest.importorskip("tensorflow")
    compute = eval(f"lambda x, y: x {name} y")
    data = np.array(STRANGE if dtype == "float64" else [0, 1, 2, 3, 4, 5, 2**53 + 1, 2**62 + 1]).astype(dtype)
    for tensor in (tf.linspace(0.1, 2.0, 8), tf.Variable(tf.linspace(0.1, 2.0, 8))):
        for array in (data, *data):
            alike = tf.convert_to_tensor(array, tf.float32)
            for one, other in (((tensor, array), (tensor, alike)), ((array, tensor), (alike, tensor))):
                np.testing.assert_array_equal(compute(*one).numpy(), compute(*other).numpy())


def _works(tf: Any, run: Any) -> bool:
    try:
        run()
    except (TypeError, ValueError, tf.errors.InvalidArgumentError):
        return False
    return True


def step(tmp_path: Path, body: str, data: str) -> FunctionReport:
    """A training step of a program that is given some data in a loop."""
    text = f"""\
import json
import numpy as np
import tensorflow as tf
W = tf.Variable([[0.5], [0.1]])
optimizer = tf.keras.optimizers.SGD(0.01)
def step(x, y):
    with tf.GradientTape() as tape:
        p = tf.matmul(x, W)
{textwrap.indent(body, "        ")}
        loss = tf.reduce_mean(tf.square(p))
    optimizer.apply_gradients(zip(tape.gradient(loss, [W]), [W]))
X = np.ones((3, 2), np.float32)
Y = {data}
for _ in range(1000):
    step(X, Y)
"""
    (tmp_path / "main.py").write_text(text)
    functions = {f.facts.qualname: f for f in analyze([tmp_path], Config()).functions}
    return functions["step"]


UNKNOWN = 'np.vstack([e["y"] for e in json.load(open("data.json"))])'


@pytest.mark.parametrize(
    "body",
    ["p = p - y", "p -= y", "p = tf.where(p > 0, p, y)", "p = tf.concat([p, y], 1)", "p = p * (y / 2.0)"],
)
def test_an_array_of_unknown_dtype_that_meets_a_tensor_is_an_assumption(tmp_path: Path, body: str) -> None:
    found = step(tmp_path, body, UNKNOWN)
    assert found.decision.confidence is Confidence.ASSUMED
    assert any("assumed that an array of unknown dtype is one of" in e.message for e in found.facts.assumptions)


@pytest.mark.parametrize("body", ["p = tf.cast(y, tf.float32) - p", "p = p + tf.keras.losses.MeanSquaredError()(y, p)"])
def test_an_array_that_meets_nothing_may_have_any_dtype(tmp_path: Path, body: str) -> None:
    assert step(tmp_path, body, UNKNOWN).decision.confidence is Confidence.SEEN


def test_float32_is_taken_to_suit_what_is_not_known(tmp_path: Path) -> None:
    body = "p = tf.cast(p, json.loads('1')) * y"
    assert step(tmp_path, body, "np.ones((3, 1), np.float32)").decision.confidence is Confidence.SEEN
    assert step(tmp_path, body, "np.ones((3, 1))").decision.confidence is Confidence.ASSUMED


@pytest.mark.parametrize(
    ("body", "data"),
    [
        ("p -= y", "np.arange(3)"),
        ("p = p + tf.reshape(tf.linspace(0.0, 2, 3) * y, [3, 1])", "np.arange(3)"),
        ("p = sum([p, y])", "np.ones((3, 1))"),
        ("p = tf.einsum('ij,kj->ik', p, y)", "np.ones((3, 1))"),
        ("p = p * tf.random.normal([3, 1], stddev=y)", "np.ones((3, 1))"),
        ("p = p * tf.cast(y * np.array([0.5]), tf.float32)", "np.arange(3)"),
        ("p = tf.where(y < np.array([1.5]), p, -p)", "np.arange(3)[:, None]"),
    ],
)
def test_known_dtypes_that_differ_keep_a_function_eager(tmp_path: Path, body: str, data: str) -> None:
    assert [s.code for s in step(tmp_path, body, data).statuses if s.code == "HY348"]


def test_what_a_nest_holds_is_an_argument(tmp_path: Path) -> None:
    found = step(tmp_path, "p = p - y['t']", f"{{'t': {UNKNOWN}}}")
    assert found.decision.confidence is Confidence.ASSUMED
