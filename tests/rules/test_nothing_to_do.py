"""What is true and leaves nothing to do is information: nobody could see a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import check
from hybridize.config import Config

_GRAPH_FOR_EACH_MODEL = """\
import tensorflow as tf


def show(models):
    for model in models:

        @tf.function
        def graph(x):
            return {body}

        graph(tf.zeros([1, 4]))


show([{models}])
"""
_MODELS = ", ".join(["tf.keras.layers.Dense(2)"] * 12)

_ENVIRONMENT = """\
import gym
import tensorflow as tf


class Agent:
    def __init__(self):
        self.env = gym.make("CartPole-v0")

    @tf.function
    def update(self, actions):
        return tf.one_hot(actions, self.env.{what})

    def run(self):
        for _ in range(100):
            self.env.step(0)
            self.update(tf.constant([0, 1]))


Agent().run()
"""

_SWITCH = """\
import tensorflow as tf

tf.config.run_functions_eagerly(True)


@tf.function
def apply(x):
    for _ in range(20):
        x = tf.sin(x) + 1.0
    return x


{use}
"""


@pytest.mark.parametrize(
    ("program", "told"),
    [
        # Each model needs a graph of its own; a number could be passed as a tensor.
        (_GRAPH_FOR_EACH_MODEL.format(body="model(x)", models=_MODELS), []),
        (_GRAPH_FOR_EACH_MODEL.format(body="x * model", models=", ".join(map(str, range(12)))), ["HY102"]),
        # What a step changes is not what the environment was made as.
        (_ENVIRONMENT.format(what="action_space.n"), []),
        (_ENVIRONMENT.format(what="unwrapped.steps"), ["HY602"]),
        # A graph that is asked for is made whatever is switched; who stops in a debugger debugs.
        (_SWITCH.format(use="graph = apply.get_concrete_function(tf.ones([2]))"), []),
        (_SWITCH.format(use="breakpoint()\napply(tf.ones([2]))"), []),
        (_SWITCH.format(use="apply(tf.ones([2]))"), ["HY501"]),
    ],
)
def test_what_leaves_nothing_to_do(tmp_path: Path, program: str, told: list[str]) -> None:
    (tmp_path / "main.py").write_text(program)
    found = check([tmp_path], Config(jobs=1, cache=False)).findings
    assert [each.code for each in found if each.severity != "info"] == told
