"""What errors and warnings rest on: graphs that no switch touches, layers that surely run, loops that turn long."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config


def _told(code: str, text: str, folder: Path) -> list[str]:
    """How loudly findings of a rule are told of a program."""
    (folder / "main.py").write_text("import sys\nimport tensorflow as tf\n" + text)
    return [f.severity.value for f in analyze([folder], Config()).findings if f.code == code]


_SERVING = """\
tf.config.run_functions_eagerly(True)
model = tf.saved_model.load("exported")
serve = model.signatures["serving_default"]


{decorator}def detect(image):
    return serve(tf.cast(image, tf.float32))["boxes"]


for _ in range(10):
    print(detect(tf.ones([1, 4, 4, 3])))
"""


@pytest.mark.parametrize(("decorator", "told"), [("", "info"), ("@tf.function\n", "warning")])
def test_no_switch_touches_a_saved_model(decorator: str, told: str, tmp_path: Path) -> None:
    # With TensorFlow 2.15 and 2.21 `RestoredFunction` runs its graphs, whatever the switch says.
    assert _told("HY501", _SERVING.format(decorator=decorator), tmp_path) == [told]


_STEP = """\
from data import reader


class Trainer:
    def __init__(self, model):
        self.model = model
        self.mean = 0.0

    @tf.function
    def step(self, x):
        loss = tf.reduce_mean(self.model(x))
        return loss - self.mean if self.mean > 0 else loss

    def train(self):
        loss = self.step(tf.io.parse_tensor(reader.read(), tf.float32))
        self.mean = 0.9 * self.mean + 0.1 * float(loss)


trainer = Trainer(tf.keras.layers.Dense(1))
{loop}:
    trainer.train()
"""


@pytest.mark.parametrize(
    ("loop", "told"),
    [("while True", "warning"), ("for _ in range(5000)", "warning"), ("for _ in range(3)", "info")],
)
def test_some_turns_of_a_long_loop_have_arguments_of_one_size(loop: str, told: str, tmp_path: Path) -> None:
    assert _told("HY602", _STEP.format(loop=loop), tmp_path) == [told]


_NESTED = """\
def scaled(x, power):
    @tf.function
    def raised():
        return tf.cond(power > 1.0, lambda: x ** power, lambda: x)
    return raised()


def energy(x):
    total = 0.0
    for power in [tf.constant(float(p)) for p in range(100)]:
        total += tf.reduce_sum(scaled(x, power))
    return total


@tf.function
def compiled(x):
    return energy(x)


def look(x):
    return energy(x)


print(compiled(tf.ones([3])))
{look}
"""


@pytest.mark.parametrize(("look", "told"), [("", False), ("print(look(tf.ones([3])))", True)])
def test_what_is_made_in_graphs_is_wasted_where_a_program_runs_it_eagerly(
    look: str, told: bool, tmp_path: Path
) -> None:
    assert ("warning" in _told("HY102", _NESTED.format(look=look), tmp_path)) is told


_LAYERS = """\
class Plain(tf.keras.layers.Layer):
    def call(self, x):
        return x * 2.0


class Sparse(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(tf.abs(x)))
        return x * 2.0


LAYERS = {{"plain": Plain, "sparse": Sparse}}


class Net(tf.keras.Model):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    @tf.function
    def call(self, x):
        return self.layer(x)


net = Net({layer})
for _ in range(10):
    print(net(tf.ones([2, 2])), net.losses)
"""


@pytest.mark.parametrize(("layer", "told"), [("Sparse()", "warning"), ("LAYERS[sys.argv[1]]()", "info")])
def test_a_loss_is_told_of_layers_that_surely_run(layer: str, told: str, tmp_path: Path) -> None:
    assert set(_told("HY603", _LAYERS.format(layer=layer), tmp_path)) == {told}


_TWO = """\
class Pair:
    def __init__(self, conditional):
        self.conditional = conditional
        self.left, self.right = tf.Variable([1.0]), tf.Variable([[2.0]])
        self.first = tf.keras.optimizers.{kind}(0.1)
        self.second = tf.keras.optimizers.{kind}(0.1)

    @tf.function
    def step(self, x, variable, optimizer, scale=None):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(variable * x)
            if scale is not None:
                loss *= scale
        optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
        return loss

    def train(self, x):
        {calls}


pair = Pair(sys.argv[1])
for _ in range(10):
    pair.train(tf.ones([1]))
"""
_BOTH = "self.step(x, self.left, self.first); self.step(x, self.right, self.second)"
_STEPPED = "self.second.apply_gradients([(tf.zeros([1, 1]), self.right)]); " + _BOTH
_ONE_OF = """if self.conditional == "a":
            self.step(x, self.left, self.first)
        else:
            self.step(x, self.right, self.second)"""


@pytest.mark.parametrize(
    ("kind", "calls", "told"),
    [
        ("Adam", _BOTH, {"error"}),
        ("Adam", _ONE_OF, {"info"}),
        ("Adam", _STEPPED, {"info"}),
        ("Adam", _BOTH.replace("second", "first"), set()),
        ("SGD", _BOTH, {"info"}),  # Keras 3 makes no variable at the first step
    ],
)
def test_one_graph_is_called_with_two_optimizers(kind: str, calls: str, told: set[str], tmp_path: Path) -> None:
    assert set(_told("HY256", _TWO.format(kind=kind, calls=calls), tmp_path)) == told


_CROP = """\
import numpy as np


class Trainer:
    def __init__(self, crop):
        self.crop = crop

    @tf.function
    def step(self, x):
        if self.crop:
            start = np.random.randint(0, x.shape[1] - 4)
            x = x[:, start : start + 4]
        return tf.reduce_sum(x)


trainer = Trainer({crop})
for _ in range(100):
    print(trainer.step(tf.ones([2, 10])))
"""


@pytest.mark.parametrize(("crop", "told"), [("True", ["error"]), ("'--crop' in sys.argv", ["warning"]), ("False", [])])
def test_no_run_shows_that_a_draw_is_frozen(crop: str, told: list[str], tmp_path: Path) -> None:
    # Who runs it with the setting sees no error, and the same crop at each step.
    assert _told("HY203", _CROP.format(crop=crop), tmp_path) == told


_KEPT = """\
import os
import numpy as np


def sample(i):
    {keeps}
    return tf.data.Dataset.from_tensor_slices(chosen).filter(lambda n: n % 10 == i)


for element in tf.data.Dataset.range(10).interleave(sample):
    print(element)
"""
_ONCE = """if not os.path.exists("chosen.npy"):
        np.save("chosen.npy", np.random.choice(1000, 50))
    chosen = np.load("chosen.npy")"""


@pytest.mark.parametrize(("keeps", "told"), [(_ONCE, "info"), ("chosen = np.random.choice(1000, 50)", "error")])
def test_what_is_drawn_where_there_is_no_file_is_drawn_once_in_any_case(keeps: str, told: str, tmp_path: Path) -> None:
    assert set(_told("HY203", _KEPT.format(keeps=keeps), tmp_path)) <= {told}


_AGENT = """\
import numpy as np


class Agent:
    def __init__(self, model):
        self.model, self.states, self.size = model, np.zeros([100, 4], np.float32), 0

    def store(self, state):
        self.states[self.size % 100] = state
        self.size = min(self.size + 1, 100)

    @tf.function
    def learn(self, batch=32):
        if self.size < batch:
            return
        self.model.fit(self.states[:batch])


agent = Agent(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
for _ in range(1000):
    agent.store(np.ones([4]))
    if sys.argv[1] == "train":
        agent.learn(32)
"""


def test_what_follows_an_early_return_may_never_be_traced(tmp_path: Path) -> None:
    # The first call returns while it is traced, and so does the graph for ever: `fit` raises never.
    assert _told("HY301", _AGENT, tmp_path) == ["info"]
    assert sorted(_told("HY602", _AGENT, tmp_path)) == ["error", "info"]  # `size`, `states`
