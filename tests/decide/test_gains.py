"""Which calls count as eager ones, by which a graph may win back what tracing it costs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

NET = """
import sys
import tensorflow as tf

class Block(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.a = tf.keras.layers.Dense(units, activation="relu")
        self.b = tf.keras.layers.Dense(units)
    def call(self, x):
        y = self.b(self.a(x))
        for _ in range(4):
            y = tf.nn.relu(y) * 0.5 + tf.tanh(y) * 0.5
        return y

class Net(tf.keras.Model):
    def __init__(self, depth):
        super().__init__()
        self.blocks = [Block(16) for _ in range(depth)]
        self.out = tf.keras.layers.Dense(1)
    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x)

def error(truth, made):
    e = tf.square(truth - made) + tf.abs(truth - made)
    for _ in range(8):
        e = tf.tanh(e) * 0.5 + tf.sin(e)
    return tf.reduce_mean(e, axis=-1)

x, y = tf.random.normal([512, 16]), tf.random.normal([512, 1])
net = Net(int(sys.argv[1]))
"""
FUNCTIONAL = """
def make():
    inputs = tf.keras.Input([16])
    z = inputs
    for units in (8, 8, 8):
        z = Block(units)(z)
    return tf.keras.Model(inputs, z)
model = make()
"""


def functions(tmp_path: Path, source: str) -> dict[str, FunctionReport]:
    (tmp_path / "program.py").write_text(NET + textwrap.dedent(source))
    (tmp_path / "other.py").write_text("import program\n")
    report = analyze([tmp_path], Config(tensorflow_version="2.15"))
    return {f.facts.qualname: f for f in report.functions}


def chosen(found: dict[str, FunctionReport]) -> set[str]:
    return {name for name, f in found.items() if f.decision.action is Action.CONVERT_TO_HYBRID}


COMPILE = "net.compile('adam', loss=error, metrics=[error])\n"


@pytest.mark.parametrize(
    "calls",
    [
        "net.fit(x, y, epochs=10)\nnet.evaluate(x, y)\nprint(net.predict(x))\n",
        "for i in range(99):\n    net.train_on_batch(x, y)\n    net.test_on_batch(x, y)\n    net.predict_on_batch(x)\n",
        "net.build([None, 16])\nnet(x[:1])\nnet.summary()\nnet.fit(x, y)\n",
        "for fold in range(10):\n    net = Net(3)\n    net.compile('adam', loss=error)\n    net.fit(x, y)\n",
    ],
)
def test_the_loops_of_keras_run_graphs(calls: str, tmp_path: Path) -> None:
    found = functions(tmp_path, COMPILE + calls)
    assert chosen(found) == set()
    assert {found[name].statuses[-1].code for name in ("Net.call", "Block.call", "error")} <= {"HY010", "HY026"}


def test_who_asks_keras_to_run_eagerly_has_its_steps_run_eagerly(tmp_path: Path) -> None:
    compiled = (
        "net.compile('adam', loss=error, run_eagerly=True)\nfor i in range(1000):\n    net.train_on_batch(x, y)\n"
    )
    assert "Net.call" in chosen(functions(tmp_path, compiled))


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("model.compile('adam', 'mse')\nmodel.fit(x, y)\n", set()),
        ("for i in range(1000):\n    print(model(x))\n", {"Block.call"}),
        ("print(model(x))\n", set()),
    ],
)
def test_a_functional_model_calls_the_layers_that_it_keeps(calls: str, expected: set[str], tmp_path: Path) -> None:
    assert chosen(functions(tmp_path, FUNCTIONAL + calls)) == expected


@pytest.mark.parametrize(
    "calls", ["net(x)\n", "for i in range(3):\n    net(x)\n", "for n in [1, 2, 3]:\n    net(x[:n])\n"]
)
def test_each_layer_of_a_list_has_graphs_of_its_own(calls: str, tmp_path: Path) -> None:
    assert chosen(functions(tmp_path, calls)) == set()


def test_often_is_worth_it(tmp_path: Path) -> None:
    assert chosen(functions(tmp_path, "for i in range(5000):\n    print(net(x))\n")) == {"Net.call"}


HEAVY = """
    e = tf.square(truth - made)
    for _ in range(8):
        e = tf.tanh(e) * 0.5 + tf.sin(e)
    return tf.reduce_mean(e)
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("losses = [make_loss(k) for k in range(3)]", True),  # once for each scale, called at every batch
        ("losses = [make_loss(k) for k in map(int, sys.argv)]", True),  # how many is not known
        (None, False),  # made for the call
    ],
)
def test_what_a_factory_makes_is_called_as_often_as_those_call_it_who_keep_it(
    made: str | None, expected: bool, tmp_path: Path
) -> None:
    loss = textwrap.indent(HEAVY, "    ")
    kept = "for loss in losses:\n            total = loss(x, y)"
    source = f"def make_loss(k):\n    def loss(truth, made):{loss}    return loss\n{made or ''}\n"
    batches = "tf.data.Dataset.from_tensor_slices(x).batch(2)"
    source += f"for epoch in range(int(sys.argv[2])):\n    for batch in {batches}:\n        "
    source += kept if made else "total = make_loss(1)(x, y)"
    assert ("make_loss.loss" in chosen(functions(tmp_path, source))) is expected


def test_a_library_trains_for_many_steps_in_a_loop_of_its_own(tmp_path: Path) -> None:
    """A step that the function around it makes and calls: each call of that trains for many batches."""
    step = """
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x) - y))
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss
    """
    cast = "tf.cast(x, tf.float32), tf.cast(y, tf.float32)"
    loop = f"for x, y in data:\n        print(step({cast}))\n"
    once = f"x, y = data\n    print(step({cast}))\n"
    head = "import tensorflow as tf\ndef train(data):\n    net = tf.keras.Sequential([tf.keras.layers.Dense(4)])\n"
    head += "    net.build([None, 16])\n    opt = tf.keras.optimizers.SGD()\n"
    (tmp_path / "lib").mkdir()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'lib'\ndependencies = ['tensorflow==2.15']\n")
    use = "import tensorflow as tf\nfrom lib.a import train\nx, y = tf.ones([8, 16]), tf.ones([8, 4])\n"
    (tmp_path / "lib" / "__init__.py").write_text("")
    for calls, given, expected in ((loop, "[(x, y)] * 9000", True), (once, "(x, y)", False)):
        (tmp_path / "lib" / "a.py").write_text(head + step + "\n    " + calls)
        (tmp_path / "run.py").write_text(f"{use}train({given})\n")
        found = {f.facts.qualname: f for f in analyze([tmp_path], Config()).functions}
        assert (found["train.step"].decision.action is Action.CONVERT_TO_HYBRID) is expected


def test_what_is_left_out_because_of_its_sizes_covers_nothing(tmp_path: Path) -> None:
    """Functions that only such a one calls are asked themselves."""
    source = """
    def inner(x):
        for _ in range(9):
            x = tf.tanh(x) * 0.5 + tf.sin(x)
        return x
    def outer(x):
        rows = x.shape[0] * 2
        return tf.reduce_sum(tf.reshape(inner(x), [rows, -1]))
    for line in open("lines.txt"):
        outer(tf.ones([len(line), 4]))
    """
    found = functions(tmp_path, source)
    assert found["outer"].statuses[-1].code == "HY021"
    assert "sizes" in found["outer"].statuses[-1].message
    assert "inner" in chosen(found)


RECEIVERS = """
class Truth:
    def __init__(self, rows):
        self.rows = rows
    def spread(self, z):
        for _ in range(8):
            z = tf.tanh(z) * 0.5 + tf.sin(z)
        return z
    def all(self):
        for i in {loop}:
            print(self.spread(self.rows[i % len(self.rows)]))
def train(batches):
    for i in range(len(batches)):
        Truth(batches[i]).all()
train([tf.random.normal([len(sys.argv), 16]) for _ in sys.argv])
"""


@pytest.mark.parametrize(("loop", "expected"), [("range(len(self.rows))", set()), ("range(5000)", {"Truth.spread"})])
def test_a_batch_is_too_short_for_a_trace_by_each_new_receiver(loop: str, expected: set[str], tmp_path: Path) -> None:
    assert chosen(functions(tmp_path, RECEIVERS.format(loop=loop))) & {"Truth.spread"} == expected


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for a, b in data:\n    print(error(a, b))", {"error"}),
        ("for a, b in data.take(1):\n    print(error(a, b))", set()),
        ("for a, b in data.shuffle(9).take(2):\n    print(error(a, b))", set()),
        ("for a, b in data.take(100000):\n    print(error(a, b))", {"error"}),
        ("for a, b in data:\n    print(error(a, b))\n    break", set()),
        ("for a, b in data:\n    if len(sys.argv) > 2:\n        break\n    print(error(a, b))", {"error"}),
        (
            "for a, b in data:\n    print(error(a, b))\n    if len(sys.argv) > 2:\n        continue\n    break",
            {"error"},
        ),
    ],
)
def test_a_loop_that_is_left_in_its_first_turns_is_short(loop: str, expected: set[str], tmp_path: Path) -> None:
    found = functions(
        tmp_path,
        f"import tensorflow_datasets as tfds\ndata = tfds.load('pairs', as_supervised=True)['train']\n{loop}\n",
    )
    assert chosen(found) == expected


@pytest.mark.parametrize(("default", "expected"), [("default=3", set()), ("default=5000", {"error"}), ("", {"error"})])
def test_a_loop_is_as_long_as_the_command_line_has_it_by_default(
    default: str, expected: set[str], tmp_path: Path
) -> None:
    source = f"""
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--turns", type=int, {default})
args = parser.parse_args()
for _ in range(args.turns):
    error(y, y)
"""
    assert chosen(functions(tmp_path, source)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("step % N == 0", {"train"}),
        ("step % N == 0 or step % 500 == 0", {"train"}),
        ("step % N == 0 or step > N", {"train", "test"}),
        ("step != N", {"train", "test"}),
    ],
)
def test_what_every_nth_step_does_is_not_noticed(condition: str, expected: set[str], tmp_path: Path) -> None:
    source = f"""
    import tensorflow as tf
    N = 1000
    model = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(64), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    def test(x, y):
        return tf.reduce_mean(tf.square(model(x) - y))
    def train(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    step = 0
    for epoch in range(100):
        for x, y in tf.data.Dataset.from_tensor_slices((tf.ones([1024, 8]), tf.ones([1024, 1]))).batch(16):
            train(x, y)
            step += 1
            if {condition}:
                print(test(x, y))
    """
    (tmp_path / "main.py").write_text(textwrap.dedent(source), "utf-8")
    found = analyze([tmp_path], Config()).functions
    assert {f.facts.qualname for f in found if f.decision.action is Action.CONVERT_TO_HYBRID} == expected


AGENT = """
class Agent:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(16), tf.keras.layers.Dense(2)])
        self.net.compile("adam", "mse")
    def step(self, state):
        values = self.net.{method}(state)
        return values, error(y, state)

agent = Agent()
for i in range(5000):
    agent.step(x)
"""


@pytest.mark.parametrize(
    ("method", "expected"),
    [("predict", set()), ("evaluate", set()), ("predict_on_batch", {"error"}), ("__call__", {"Agent.step"})],
)
def test_what_keras_does_around_its_own_loops_is_part_of_a_run(method: str, expected: set[str], tmp_path: Path) -> None:
    found = functions(tmp_path, AGENT.replace("{method}", method))
    assert chosen(found) == expected
    assert expected or found["error"].statuses[-1].code == "HY026"


LEARNER = """
class Learner:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(16), tf.keras.layers.Dense(2)])
        self.opt = tf.keras.optimizers.Adam()
    def train(self, state, goal):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(state) - goal))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

learner = Learner()
for i in range(5000):
    learner.net.{method}(x)
    {step}
"""


@pytest.mark.parametrize(
    ("method", "step", "expected"),
    [
        ("predict", "if i % 5 == 0:\n        learner.train(x, y)", set()),
        ("predict", "for _ in range(10):\n        learner.train(x, y)", {"Learner.train"}),
        ("predict_on_batch", "if i % 5 == 0:\n        learner.train(x, y)", {"Learner.train"}),
    ],
)
def test_a_step_of_training_beside_loops_of_keras_must_be_noticed(
    method: str, step: str, expected: set[str], tmp_path: Path
) -> None:
    assert chosen(functions(tmp_path, LEARNER.replace("{method}", method).replace("{step}", step))) == expected


@pytest.mark.parametrize(("size", "code"), [(3000, "HY026"), (3, "HY027")])
def test_a_loss_that_keras_also_runs_is_a_part_of_the_eager_run(size: int, code: str, tmp_path: Path) -> None:
    program = f"""
    def long(truth, made):
        for _ in range(40):
            made = tf.tanh(made) * 0.5 + tf.sin(made)
        return tf.reduce_mean(tf.square(truth - made), axis=-1)
    dense = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    dense.compile('adam', loss=long)
    dense.fit(x, y)
    much = tf.ones([{size}, {size}])
    for i in range(1000):
        print(long(y, x[:, :1]), much @ much)
    """
    assert functions(tmp_path, program)["long"].statuses[-1].code == code  # not seen to pay; that, but Keras keeps it


@pytest.mark.parametrize(
    ("rest", "chooses"),
    [
        ("", True),
        ("print(wave(x))\n", True),
        ("print(wave(x[:400]))\n", False),
        ("print(wave(x, 2))\n", False),
        ("for turns in (1, 2, 3):\n    print(wave(x * 2.0, turns))\n", False),
        ("def test_wave():\n    wave(x[:400])\n", True),
    ],
)
def test_each_kind_of_arguments_is_a_trace_to_win_back(rest: str, chooses: bool, tmp_path: Path) -> None:
    wave = """
def wave(x, turns=1):
    for _ in range(40):
        x = tf.tanh(x) * 0.5 + tf.sin(x)
    return tf.reduce_sum(x * turns)
"""
    loop = "for i in range(150):\n    print(float(wave(x)))\n"
    tests = rest.startswith("def test")
    (tmp_path / "test_waves.py").write_text("from program import wave, x\n" + rest if tests else "")
    found = functions(tmp_path, wave + loop + ("" if tests else rest))
    assert ("wave" in chosen(found)) is chooses


@pytest.mark.parametrize(
    ("sizes", "layer", "chooses"), [("32", "Dense(32", True), ("None, None, 3", "Conv2D(32, 3", False)]
)
def test_what_saves_little_beside_images_of_any_size_is_left(
    sizes: str, layer: str, chooses: bool, tmp_path: Path
) -> None:
    source = f"""
def overlap(a, b):
    for _ in range(60):
        a = tf.maximum(a, b) - tf.minimum(a, b) * 0.5
    return tf.reduce_mean(a)

inputs = z = tf.keras.Input([{sizes}])
for _ in range(12):
    z = tf.keras.layers.{layer}, activation="relu")(z)
net = tf.keras.Model(inputs, z)
for path in sys.stdin:
    made = tf.reshape(net(tf.io.parse_tensor(path, tf.float32)), [-1, 32])[0]
    print(float(overlap(made, tf.ones([32]))))
"""
    assert ("overlap" in chosen(functions(tmp_path, source))) is chooses


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("VGG19(include_top=False)", set()),
        ("VGG19(include_top=False, input_shape=(32, 32, 3))", {"describe"}),
        ("MobileNetV2(include_top=False)", {"describe"}),
    ],
)
@pytest.mark.parametrize("inputs", ["whole.input", "[whole.input]", "whole.inputs"])
def test_a_model_over_the_inputs_of_a_ready_one_computes_what_that_does(
    made: str, expected: set[str], inputs: str, tmp_path: Path
) -> None:
    source = f"""
whole = tf.keras.applications.{made}
part = tf.keras.Model({inputs}, [whole.get_layer(name).output for name in sys.argv])
def describe(image):
    return [tf.reduce_mean(features) for features in part(image)]
image = tf.io.decode_jpeg(tf.io.read_file(sys.argv[1]))[tf.newaxis]
for _ in range(1000):
    print(describe(image))
"""
    assert chosen(functions(tmp_path, source)) == expected
    topped = source.replace(
        "[whole.get_layer(name).output for name in sys.argv]", "[tf.keras.layers.Dense(9)(whole.output)]"
    )
    assert chosen(functions(tmp_path, topped)) == expected


@pytest.mark.parametrize(("side", "expected"), [(16, {"train"}), (256, set())])
def test_what_convolutions_of_large_images_take_leaves_nothing_to_gain(
    side: int, expected: set[str], tmp_path: Path
) -> None:
    # The layers are called with images of two sizes: the larger one counts. All images at once come only once.
    source = f"""
def load(path):
    image = tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), [{side + 8}, {side + 8}])
    return tf.image.random_crop(image, [{side}, {side}, 3])
images = tf.data.Dataset.from_tensor_slices(sys.argv).map(load).batch(32)
whole = tf.zeros([32, {side + 8}, {side + 8}, 3])
layers = [tf.keras.layers.Conv2D(128, 3) for _ in range(4)]
model = tf.keras.Sequential([*layers, tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
def train(model, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x)))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
for epoch in range(100):
    for x in images:
        train(model, x)
    print(tf.reduce_mean(model(whole)))
    print(tf.reduce_mean(model(tf.zeros([9_000, {side}, {side}, 3]))))
"""
    assert chosen(functions(tmp_path, source)) & {"train"} == expected


@pytest.mark.parametrize(
    ("loaded", "expected"),
    [
        ("split='train'", {"shift"}),
        ("split='train[:5]'", set()),
        ("split='train[:5]+test'", {"shift"}),
        ("split='train[-5:]'", set()),
        ("split=['train[:5]', 'test'])[0].skip(0", set()),
        ("split=['train[:5]', 'test'])[1].skip(0", {"shift"}),
        ("split=sys.argv[1]", {"shift"}),
    ],
)
def test_a_data_set_of_a_known_name_has_as_many_examples_as_it_has(
    loaded: str, expected: set[str], tmp_path: Path
) -> None:
    source = f"""
import tensorflow_datasets as tfds
def shift(image):
    for step in range(20):
        image = tf.roll(image, step, 0) + tf.roll(image, step, 1)
    return image
for example in tfds.load("mnist", {loaded}):
    print(shift(example["image"]))
"""
    assert chosen(functions(tmp_path, source)) == expected


def test_a_file_that_does_not_parse_is_no_second_program(tmp_path: Path) -> None:
    shown = """
    import tensorflow as tf
    def smooth(x):
        for _ in range(5):
            x = tf.nn.softmax(tf.tanh(x) * 2.0) + tf.sqrt(tf.abs(x))
        return x
    print(smooth(tf.ones([10, 10])))
    print(smooth(tf.ones([10, 10])))
    """
    (tmp_path / "shown.py").write_text(textwrap.dedent(shown))
    decided = []
    for other in ("print 'of Python 2'\n", "import sys\nprint(sys.argv)\n"):
        (tmp_path / "other.py").write_text(other)
        decided += [f.decision.action for f in analyze([tmp_path], Config()).functions]
    assert decided == [Action.CONVERT_TO_HYBRID, Action.KEEP]


TRAINED = """
import numpy as np
import tensorflow as tf
from tqdm import tqdm, trange
import settings
model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(32), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
x = np.random.rand({rows}, 8).astype("float32")
y = np.random.rand({rows}, 1).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
"""
LOOPS = (
    "for i, (a, b) in tqdm(enumerate(data)):\n    step(a, b)\n",
    "for i, (a, b) in enumerate(tqdm(data, desc='x')):\n    step(a, b)\n",
    "bar = tqdm(range(len(x) // 16))\nfor i in bar:\n    step(x[:16], y[:16])\n",
    "for i in trange(len(x) // 16):\n    step(x[:16], y[:16])\n",
    "for (a, b), i in tqdm(zip(data, range(10**6))):\n    step(a, b)\n",
)


@pytest.mark.parametrize("rows", [64, 16 * 5000])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_behind_a_progress_bar_is_as_long_as_what_it_goes_over(loop: str, rows: int, tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("other = 1\n")  # not a program of one file that shows its functions
    expected = {"step"} if rows > 64 else set()
    assert chosen(functions(tmp_path, TRAINED.format(rows=rows) + loop)) == expected
