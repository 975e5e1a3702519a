"""HY380, HY347, HY358: the dtype, the shape and the attributes of an array, which are others once it is a tensor."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

#: With what callers pass, and a function that asks something of it.
PASSED = """\
import numpy as np
import tensorflow as tf
def target(x):
    return {expression}
for _ in range(100):
    target(np.ones(3, np.float32))
"""
OPEN = """\
import numpy as np
import tensorflow as tf
def target(x: tf.Tensor, scale):
    for _ in range(9):
        x = tf.tanh(x)
    return {expression}
"""


def codes(tmp_path: Path, text: str) -> set[str]:
    """What keeps the function `target` as it is."""
    (tmp_path / "m.py").write_text(text, encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True), repairs=False).functions
    return {each.code for each in next(f for f in found if f.facts.qualname == "target").statuses}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("tf.tanh(x) + np.finfo(x.dtype).eps", "HY380"),
        ("tf.tanh(x) * np.dtype(x.dtype).itemsize", "HY380"),
        ("tf.tanh(x) if isinstance(x.dtype, np.dtype) else tf.identity(x)", "HY380"),
        ("tf.tanh(x) * np.zeros(3).astype(x.dtype)", "HY380"),
        ("tf.tanh(x) * x.shape.index(3)", "HY380"),
        ("tf.tanh(x) if x.shape < (4,) else tf.identity(x)", "HY380"),
        ("tf.tanh(x) if x.shape == [3] else tf.identity(x)", "HY380"),
        ("tf.identity(divmod(x, 2)[0])", "HY347"),
        ("tf.tanh(x) * getattr(x, 'size', 1)", "HY347"),
    ],
)
def test_what_numpy_says_of_an_array_is_not_asked_of_a_tensor(expression: str, code: str, tmp_path: Path) -> None:
    assert code in codes(tmp_path, PASSED.format(expression=expression))


@pytest.mark.parametrize(
    "expression",
    [
        "tf.tanh(x) if x.dtype in (np.float32, np.float64) else tf.cast(x, tf.float32)",
        "tf.tanh(x) if x.shape in [(3,), (4,)] else tf.identity(x)",
        "tf.cast(x, x.dtype) + tf.zeros([3], x.dtype)",
        "tf.tanh(x) if hasattr(x, 'shape') else tf.identity(x)",
    ],
)
def test_what_both_have_is_asked_of_either(expression: str, tmp_path: Path) -> None:
    assert not codes(tmp_path, PASSED.format(expression=expression)) & {"HY380", "HY347"}


@pytest.mark.parametrize(
    ("expression", "refused"),
    [
        ("x * np.ones(3, scale.dtype)", True),
        ("x if scale.dtype.kind == 'f' else x * 2.0", True),
        ("x if str(scale.dtype) == 'float32' else x * 2.0", True),
        ("x * (2.0 if scale.kind == 'large' else 1.0)", False),  # of an object of one's own
        ("x if scale.dtype == tf.float32 else x * 2.0", False),
    ],
)
def test_what_only_the_dtype_of_an_array_answers_is_not_asked_of_what_nobody_knows(
    expression: str, refused: bool, tmp_path: Path
) -> None:
    assert ("HY358" in codes(tmp_path, OPEN.format(expression=expression))) == refused
