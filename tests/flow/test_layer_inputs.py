"""What a layer makes of its input before its `call` sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

#: `{given}` is what the model is called with, `{taken}` takes it apart.
PROGRAM = """\
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = tf.keras.layers.Dense(4), tf.keras.layers.Dense(4)
    def call(self, inputs, level=0):
        {taken}
        kept = None if level >= 3 else self.first(x)
        return self.second(x) if kept is None else kept
net = Net()
def step(x, level):
    return net({given})
step(tf.ones([2, 4]), 1)
"""


@pytest.mark.parametrize(
    ("given", "taken", "symbolic"),
    [
        ("[level, x]", "level, x = inputs", True),
        ("(level / 4, x)", "level, x = inputs", True),
        ("{'level': level, 'x': x}", "level, x = inputs['level'], inputs['x']", True),
        ("x, level", "x = inputs", False),
        ("x, level=level", "x = inputs", False),
    ],
)
def test_numbers_in_the_first_argument_are_tensors(given: str, taken: str, symbolic: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("{given}", given).replace("{taken}", taken), "utf-8")
    (found,) = [f for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "step"]
    assert any("symbolic tensor" in status.message for status in found.statuses) is symbolic
