"""HY103: shapes as arguments. TensorFlow is asked how often it traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config

CALLS = [
    "x = tf.ones([2, 3]) + i; target(x, x.shape)",
    "x = tf.ones([2, 3]) + i; target(x, x.shape[:1])",
    "x = tf.ones([2, 3]) + i; target(x, (x.shape, 3))",
    "x = tf.ones([2, 3]) + i; target(x, x.shape[0])",
    "x = tf.ones([2, 3]) + i; target(x, x.shape.as_list())",
    "x = tf.ones([2, 3]) + i; target(x, list(x.shape))",
    "x = tf.ones([2, 3]) + i; target(x, tuple(x.shape[:1]))",
    "target(old, old.shape)",
    "target(old, old.shape[:1])",
    "target(old, kept)",
    "target(old, variable.shape)",
    "target(old, tf.TensorShape([2]))",
]
BEFORE = "old = tf.ones([2, 3])\nkept = old.shape[:1]\nvariable = tf.Variable([1.0])\n"


@pytest.mark.tensorflow
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("hybrid", [True, False])
def test_a_new_shape_is_traced_anew(call: str, hybrid: bool, tmp_path: Path) -> None:
    tf: Any = pytest.importorskip("tensorflow")
    traces: list[int] = []
    target = tf.function(lambda x, shape: traces.append(1) or x)
    space = {"tf": tf, "target": target}
    exec(f"{BEFORE}for i in range(4):\n    {call}", space)
    decorator = "@tf.function\n" if hybrid else ""
    source = f"import tensorflow as tf\n{decorator}def target(x, shape):\n    return x * 2.0\n{BEFORE}"
    (tmp_path / "program.py").write_text(f"{source}for i in range(4):\n    {call.replace('+ i', '+ float(i)')}\n")
    report = analyze([tmp_path], Config(all_safe=True), repairs=False)
    told = {f.code for f in report.findings} | {s.code for s in report.functions[0].statuses}
    assert ("HY103" in told) == (len(traces) > 1)
