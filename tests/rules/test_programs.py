"""Scripts and notebooks are programs of their own: what two of them make never meets in one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

STEP = """
import tensorflow as tf

def step(model, opt, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
SCRIPT = """
import tensorflow as tf
from steps import step

def main(_=None):
    model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.Adam()
    for _ in range(1000):
        step(model, opt, tf.ones([8, 4]), tf.ones([8, 1]))

if __name__ == "__main__":
    main()
"""


def functions(folder: Path, **files: str) -> dict[str, FunctionReport]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return {f.facts.qualname: f for f in analyze([folder], Config(tensorflow_version="2.15")).functions}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, Action.CONVERT_TO_HYBRID),
        ({"both": "import small\nimport large\nsmall.main()\nlarge.main()\n"}, Action.KEEP),  # two optimizers, then
    ],
)
def test_optimizers_of_two_scripts_do_not_meet(more: dict[str, str], expected: Action, tmp_path: Path) -> None:
    found = functions(tmp_path, steps=STEP, small=SCRIPT, large=SCRIPT, **more)["step"]
    assert found.decision.action is expected
    assert ("HY256" in {s.code for s in found.statuses}) is (expected is Action.KEEP)


POLICY = """
class Policy:
    def __init__(self, scale):
        self.scale = scale
def make(scale):
    return Policy(scale)
"""
TRAIN = """
import tensorflow as tf
from absl import app
from policies import make

net = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
net.build([None, 4])
opt = tf.keras.optimizers.SGD(0.1)

def step(x, policy):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x) * policy.scale))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss

def main(argv):
    policy = make(2.0)
    for _ in range(len(argv) * 1000):
        step(tf.ones([8, 4]), policy)

if __name__ == "__main__":
    app.run(main)
"""


def test_what_other_programs_make_is_no_object_for_each_call(tmp_path: Path) -> None:
    """One script makes many policies to look at them, another one makes one to train with."""
    other = "from policies import make\nfor scale in open('scales.txt'):\n    print(make(float(scale)))\n"
    found = functions(tmp_path, policies=POLICY, train=TRAIN, other=other)["step"]
    assert found.decision.action is Action.CONVERT_TO_HYBRID


def test_a_program_is_started_once(tmp_path: Path) -> None:
    """`app.run(main)` calls `main` once: what it makes, it makes once, and what it calls once is called once."""
    once = TRAIN.replace("for _ in range(len(argv) * 1000):\n        step", "if argv:\n        error")
    source = once.replace("def main", "def error(x, policy):\n    return tf.tanh(tf.sin(x)) * policy.scale\n\ndef main")
    found = functions(tmp_path, policies=POLICY, train=source)["error"]
    assert found.decision.action is Action.KEEP
    assert "HY021" in {s.code for s in found.statuses}


@pytest.mark.parametrize("setting", ["FLAGS.scale", "scale"])
def test_what_a_program_sets_before_its_loop_is_no_change(setting: str, tmp_path: Path) -> None:
    """`app.run(main)` calls `main` once: what that sets first of a flag or variable stays, what its loop sets moves."""
    head = 'from absl import flags\nFLAGS = flags.FLAGS\nscale = 2.0\nflags.DEFINE_float("scale", 2.0, "")\n'
    source = head + TRAIN.replace("policy.scale", setting)
    change = f"{setting} = float(argv[0])\n"
    before = source.replace("policy = make(2.0)\n", f"global scale\n    policy = None\n    if argv:\n        {change}")
    within = source.replace("policy = make(2.0)", "global scale\n    policy = None")
    within = within.replace("policy)\n\nif", f"policy)\n        {change}\nif")
    assert functions(tmp_path, policies=POLICY, train=before)["step"].decision.action is Action.CONVERT_TO_HYBRID
    found = functions(tmp_path, policies=POLICY, train=within)["step"]
    assert "HY602" in {s.code for s in found.statuses}


def test_what_only_tests_make_stands_beside_nothing(tmp_path: Path) -> None:
    test = "import small\ndef test_main():\n    small.main()\n    assert small.step\n"
    found = functions(tmp_path, steps=STEP, small=SCRIPT, test_small=test)["step"]
    assert found.decision.action is Action.CONVERT_TO_HYBRID


MIXED = """
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.a = tf.keras.layers.Dense(4)
        self.b = tf.keras.layers.Dense(1)
    def call(self, x):
        return self.b(tf.nn.relu(self.a(x)))
    def functional(self):
        x = tf.keras.Input([4])
        return tf.keras.Model(x, self.call(x))
    def shown(self):
        return self.call(tf.keras.Input([4]))

class Trainer:
    def __init__(self):
        self.net = Net()
        self.opt = tf.keras.optimizers.SGD()
        self.net.functional().summary()
        print(self.net.shown())
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(x) - y))
        variables = self.net.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

trainer = Trainer()
for _ in range(1000):
    trainer.step(tf.ones([8, 4]), tf.ones([8, 1]))
"""


def test_a_network_that_is_shown_by_a_functional_model_is_trained_as_any_other(tmp_path: Path) -> None:
    found = functions(tmp_path, program=MIXED)
    assert found["Trainer.step"].decision.action is Action.CONVERT_TO_HYBRID
    assert all(found[name].decision.action is Action.KEEP for name in ("Net.shown", "Net.functional"))
