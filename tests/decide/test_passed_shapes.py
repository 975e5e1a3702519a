"""A helper of a library that gets `tf.shape(x)` as an argument: as a graph it gives results of unknown dims.

What is lost and what is not was measured with TensorFlow 2.15 and 2.21, in a graph of a signature with one open dim.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

_LAYER = """import tensorflow as tf

class Positions(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.table = tf.Variable(tf.ones([5, 3]))

    def call(self, x):
        return x + self._spread({passed})

    def _spread(self, shape):
        table = tf.sin(self.table) * tf.cos(self.table) + tf.exp(self.table)
        return {made}
"""


@pytest.mark.parametrize(
    ("passed", "made", "hybrid"),
    [
        ("tf.shape(x)", "tf.broadcast_to(table, shape)", False),
        ("tf.shape(x)", "tf.broadcast_to(table, [shape[0], shape[1], 3])", False),
        ("tf.concat([tf.shape(x)[:-1], [3]], 0)", "tf.broadcast_to(table, shape)", False),
        ("tf.shape(x)", "table * tf.cast(tf.reduce_prod(shape), tf.float32)", True),
        ("tf.shape(x)[1]", "tf.tile(table, [shape, 1])", True),
        ("x", "tf.broadcast_to(table, tf.shape(shape))", True),
    ],
)
def test_a_graph_does_not_know_the_shape_that_it_is_given(tmp_path: Path, passed: str, made: str, hybrid: bool) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "spread"\nversion = "1"\n', "utf-8")
    (tmp_path / "spread").mkdir()
    (tmp_path / "spread" / "__init__.py").write_text(_LAYER.format(passed=passed, made=made), "utf-8")
    test = (
        "import tensorflow as tf\nfrom spread import Positions\ndef test_it():\n    Positions()(tf.ones([2, 5, 3]))\n"
    )
    (tmp_path / "test_spread.py").write_text(test, "utf-8")
    report = analyze([tmp_path], Config(all_safe=True))
    (helper,) = [f for f in report.functions if f.facts.qualname == "Positions._spread"]
    assert (helper.decision.action is Action.CONVERT_TO_HYBRID) is hybrid
