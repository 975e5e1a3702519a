"""HY349: a learning rate that nothing changes is as good as its value, where a caller keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

AGENT = """\
import tensorflow as tf
class Agent:
    def __init__(self):
        self.optimizer = tf.keras.optimizers.Adam(0.1)
        self.extra = tf.Variable(1.0)
    def target(self, x):
        loss = tf.reduce_sum(tf.exp(x) * 2.0)
        return {{"loss": loss, "rate": {rate}}}
    def fit(self, x):
        logs = {{}}
        logs.update(self.target(x))
        {more}
        return logs
print(Agent().fit(tf.ones([3])))
"""


@pytest.mark.parametrize(
    ("rate", "more", "kept"),
    [
        ("self.optimizer.learning_rate", "", False),
        ("self.extra", "", True),
        ("self.optimizer.learning_rate", "self.optimizer.learning_rate.assign(0.01)", True),
        ("self.optimizer.learning_rate", "self.optimizer.learning_rate = 0.01", True),
        ("self.optimizer.learning_rate", "tf.keras.backend.set_value(self.optimizer.learning_rate, 0.01)", True),
    ],
)
def test_a_learning_rate_that_nothing_changes(rate: str, more: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(AGENT.format(rate=rate, more=more), encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True), repairs=False).functions
    codes = {each.code for each in next(f for f in found if f.facts.qualname == "Agent.target").statuses}
    assert ("HY349" in codes) is kept


LOGS = """\
import tensorflow as tf
def target(x):
    logs = {{"loss": tf.reduce_sum(tf.exp(x) * 2.0)}}
    {inside}
    return logs
def fit(x):
    logs = target(x)
    logs["seen"] = 3
    print(logs["loss"])
    return logs["seen"] + 1
fit(tf.ones([3]))
"""


@pytest.mark.parametrize(("inside", "kept"), [("pass", False), ('logs["seen"] = 2', True)])
def test_what_the_caller_puts_into_a_result_is_none_of_it(inside: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(LOGS.format(inside=inside), encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True), repairs=False).functions
    codes = {each.code for each in next(f for f in found if f.facts.qualname == "target").statuses}
    assert ("HY349" in codes) is kept
