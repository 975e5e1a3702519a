"""Branches that are dead for the settings that the program has, and break a graph once a user changes these."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

PROGRAM = """\
import numpy as np
import tensorflow as tf
VERBOSE = False
OPTIONS = {{"trace": 0}}
def show(loss):
    print(float(loss))
class Agent:
    def __init__(self, average=1.0, clip=None):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
        self.model.build((None, 4))
        self.optimizer = tf.keras.optimizers.Adam()
        self.averages = average < 1.0
        self.clip = clip
        self.built = False
    def train(self, x, y, quiet=True):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - y) ** 2)
        grads = tape.gradient(loss, self.model.trainable_variables)
{branch}
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss
agent = Agent()
for i in range(200):
    print(float(agent.train(tf.random.normal([16, 4]), tf.random.normal([16, 1]))))
"""
#: What another setting runs, and what is said of it.
BREAKS = {
    "if self.averages: self.model.set_weights(self.model.get_weights())": "`get_weights`, which works only eagerly",
    "if VERBOSE: print(loss)": "prints once for each trace",
    "if VERBOSE: tf.print(loss.numpy())": "`.numpy()`, which works only eagerly",
    "if OPTIONS['trace']: show(loss)": "calls `show`, which prints once for each trace",
    "if self.clip is not None: self.last = loss": "writes attribute `last`",
    "if self.clip is not None: grads = grads[: np.random.randint(2)]": "draws one number for each trace",
}
#: Nothing of these speaks against a graph: what they run serves, or no setting leads there.
SERVES = [
    "if self.clip is not None: grads = [tf.clip_by_norm(g, self.clip) for g in grads]",
    "if VERBOSE: tf.print(loss)",
    "if self.built: print(loss)",
    "if not quiet: tf.print(loss)",
]


def _decided(folder: Path, branch: str) -> tuple[Action, str]:
    (folder / "main.py").write_text(PROGRAM.format(branch=f"        {branch}"), "utf-8")
    (found,) = [f for f in analyze([folder], Config()).functions if f.facts.qualname == "Agent.train"]
    return found.decision.action, " ".join(s.message for s in found.statuses)


@pytest.mark.parametrize("branch", BREAKS)
def test_what_another_setting_breaks_is_not_converted(tmp_path: Path, branch: str) -> None:
    action, said = _decided(tmp_path, branch)
    assert action is Action.KEEP
    assert "another setting takes a branch" in said
    assert BREAKS[branch] in said


@pytest.mark.parametrize("branch", SERVES)
def test_what_serves_in_a_graph_is_converted(tmp_path: Path, branch: str) -> None:
    action, said = _decided(tmp_path, branch)
    assert action is Action.CONVERT_TO_HYBRID, said
