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

_NUMBER_WITH_MODEL = """\
import tensorflow as tf


def build():
    return tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(16)])


@tf.function
def loss_of(model, x, index):
    return tf.reduce_mean(model(x)[:, index])


{shared}
for index in range(12):
    {each}
    for _ in range(3):
        loss_of(model, tf.ones([2, 4]), index)


def look(index):
    other = {other}
    for _ in range(3):
        loss_of(other, tf.ones([2, 4]), index)


for index in range(12):
    look(index)
"""

_LEFT = """\
import sys
import tensorflow as tf


class Solver:
    def __init__(self, parts):
        self.part = None
        self.parts = parts

    @tf.function
    def step(self, x):
        total = 0.0
        for part in range(self.parts):
            self.part = part
            total += self.loss(x)
        {end}
        return total

    def loss(self, x):
        return tf.reduce_sum(x if self.part is None else x[self.part :])

    def reset(self, part):
        self.part = part


solver = Solver(len(sys.argv))
for turn in range(10):
    solver.step(tf.ones([3]))
    print(solver.part)
    solver.reset(turn)
"""

_MARK = """\
import uuid
import tensorflow as tf


@tf.function
def words(text):
    mark = str(uuid.uuid4())
    joined = {joined}
    return {given}


for _ in range(10):
    print(words(tf.constant(["a", "b"])))
"""

_SET_VALUE = """\
import tensorflow as tf

rate = tf.Variable(0.1)


@tf.function
def step(x, decay=1.0):
    tf.keras.backend.set_value(rate, 0.1 * decay)
    return x * rate


for _ in range(10):
    step(tf.ones([2]), {decay})
"""


@pytest.mark.parametrize(
    ("program", "told"),
    [
        # Who sets a variable to a number assigns it at each call; of a tensor no array can be made.
        (_SET_VALUE.format(decay="0.5"), []),
        (_SET_VALUE.format(decay="tf.constant(0.5)"), ["HY301"]),
        # A model for each number has a graph of its own in any case.
        (_NUMBER_WITH_MODEL.format(shared="", each="model = build()", other="build()"), []),
        (_NUMBER_WITH_MODEL.format(shared="model = build()", each="pass", other="build()"), ["HY101"]),
        # What the call overwrites before it ends is left for nobody.
        (_LEFT.format(end="self.part = None"), []),
        (_LEFT.format(end="pass"), ["HY206"]),
        # What stands between words does so as well the second time.
        (_MARK.format(joined="tf.strings.reduce_join(text, separator=mark)", given="tf.strings.length(joined)"), []),
        (_MARK.format(joined="text + mark", given="tf.strings.split(joined, mark)"), []),
        (_MARK.format(joined="text + mark", given="joined"), ["HY203"]),
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


def test_what_no_run_shows_is_a_warning_under_a_setting(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        """\
import sys
import tensorflow as tf


class Packed:
    def __init__(self, packed):
        self.packed = packed

    @tf.function
    def total(self, x):
        rows = tf.TensorArray(x.dtype, size=3)
        for i in range(3):
            if self.packed:
                rows.write(i, x * float(i))
            else:
                rows = rows.write(i, x)
        return tf.reduce_sum(rows.stack())


packed = Packed(len(sys.argv) > 1)
for _ in range(10):
    print(packed.total(tf.ones([2])))
"""
    )
    found = check([tmp_path], Config(jobs=1, cache=False)).findings
    assert [(each.code, each.severity) for each in found if each.severity != "info"] == [("HY252", "warning")]
