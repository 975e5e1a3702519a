"""The expected benefit: what layers compute, what is inside of models, and how careful guesses are."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.calls.callgraph import reachable
from hybridize.facts.calls.work import Counts
from hybridize.facts.gain.benefit import Benefits, Work
from hybridize.flow.solve import FlowOptions, Solver
from hybridize.program.build import build_program
from hybridize.source import ImportTable, discover, find_src_roots

STEP = """
optimizer = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""


def benefit(source: str, tmp_path: Path, name: str = "step") -> float:
    """The benefit of a function of a program."""
    (tmp_path / "program.py").write_text("import tensorflow as tf\nK = tf.keras.layers\n" + source)
    report = analyze([tmp_path], Config(all_safe=True))
    (found,) = [f.decision.benefit for f in report.functions if f.facts.qualname == name]
    assert found is not None
    return found


def convolutions(side: str, examples: int = 8) -> str:
    model = f"model = tf.keras.Sequential([K.Conv2D(64, 3), K.Conv2D(64, 3), K.Conv2D(1, 1)])\n{STEP}"
    shape = f"[{examples}, {side}, {side}, 3]"
    return f"{model}for i in range(100):\n    step(tf.ones({shape}), tf.ones([1]))\n"


def test_where_convolutions_dominate_little_is_gained(tmp_path: Path) -> None:
    small = benefit(convolutions("8"), tmp_path)
    large = benefit(convolutions("256"), tmp_path)
    assert small > 4
    assert 1 < large < 1.2


def test_a_model_asked_by_its_call_computes_what_it_does_when_it_is_called(tmp_path: Path) -> None:
    called = convolutions("64")
    assert benefit(called.replace("model(x)", "model.call(x)"), tmp_path) == benefit(called, tmp_path) < 2


def test_images_of_unknown_size_promise_little(tmp_path: Path) -> None:
    model = f"model = tf.keras.Sequential([K.Conv2D(64, 3), K.Conv2D(64, 3), K.Conv2D(1, 1)])\n{STEP}"
    assert 1.2 < benefit(model.replace("x, y)", "x: tf.Tensor, y: tf.Tensor)", 1), tmp_path) < 4


def test_the_layers_of_a_functional_model_count_where_it_is_called(tmp_path: Path) -> None:
    model = """
def make():
    inputs = tf.keras.Input((128, 128, 3))
    x = K.Conv2D(64, 3)(inputs)
    return tf.keras.Model(inputs, K.Conv2D(64, 3)(x))
model = make()
"""
    calls = "for i in range(100):\n    step(tf.ones([8, 128, 128, 3]), tf.ones([1]))\n"
    assert benefit(model + STEP.replace("(model(x) - y) ** 2", "tf.square(model(x) - y)") + calls, tmp_path) < 1.5


def test_a_graph_that_is_called_keeps_what_it_computes(tmp_path: Path) -> None:
    source = """
w = tf.Variable(tf.ones([2048, 2048]))
@tf.function
def inner(x):
    return tf.matmul(tf.matmul(x, w), w)
def outer(x):
    return inner(x) + 1.0
for i in range(100):
    outer(tf.ones([2048, 2048]))
"""
    assert benefit(source, tmp_path, "outer") == pytest.approx(1.0, abs=0.1)


def test_a_list_of_unknown_length_is_short_whatever_goes_over_it(tmp_path: Path) -> None:
    """Ten turns would promise 3.8 of what two columns make slower: measured under tapes, 3 to 5 operations lose."""
    source = """
import random
def trace(columns):
    return tf.expand_dims(sum([v[:, 0] for {}]), -1)
for i in range(100):
    trace(tf.unstack(tf.ones([5, 1, random.randint(1, 3)]), axis=-1))
"""
    plain = benefit(source.format("v in columns"), tmp_path, "trace")
    assert plain < 2
    for over in ("i, v in enumerate(columns)", "v, w in zip(columns, columns)", "v in reversed(columns)"):
        assert benefit(source.format(over), tmp_path, "trace") == plain


CALLS = """
import tensorflow as tf
def inner(x):
    return tf.nn.relu(x @ x + x)
def step(x):
    for _ in range(3):
        x = inner(x)
    return x
def again(x):
    return again(inner(x)) if x.shape[0] > 2 else step(x)
for i in range(100):
    again(tf.ones([2, 2]))
    print(step(tf.ones([4, 4])))
"""


def test_what_a_graph_changes_is_summed_as_if_nothing_had_been_summed_before(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CALLS)
    found = discover([tmp_path])
    program = build_program(found.files, ImportTable(found.files, find_src_roots(found.root)))
    solver = Solver(program, FlowOptions())
    frames = solver.solve_entries().frames
    with solver.session.active():
        codes = {code.name: code for code in frames}
        every = [frame for some in frames.values() for frame in some]
        plain = Benefits(set(), Counts(), frames)
        eager = [plain.of(frame) for frame in every]
        for hybrid in ({codes["inner"]}, {codes["step"]}, {codes["inner"], codes["again"]}):
            callers = [frame for frame in every if any(callee.code in hybrid for callee in reachable(frame))]
            changed = [plain.where(hybrid, callers).of(frame) for frame in every]
            assert changed == [Benefits(hybrid, Counts(), frames).of(frame) for frame in every]
            assert changed != eager


def test_a_guess_is_shown_with_care() -> None:
    known = Work(dispatches=100, operations=100, elements=1e6)
    guessed = Work(dispatches=100, operations=100, elements=1e6, guessed=1000.0)
    unknown = Work(dispatches=100, operations=100, elements=1e6, unknown=True)
    assert known.cautious == known.benefit
    assert 1 < guessed.cautious < known.benefit
    assert 1 < unknown.cautious < known.benefit
    # Nor is a loss made less by what is not known.
    assert Work(dispatches=1, operations=1, guessed=1e6).cautious < 1


BRANCHES = """
def much(x):
    for _ in range(9):
        x = tf.sin(x) + tf.cos(x) * tf.tanh(x)
    return x
def step(x, chosen):
    return CHOICE
for i in range(100):
    step(tf.ones([4]), tf.constant(i > 3))
"""


@pytest.mark.parametrize(
    "choice",
    [
        "tf.cond(chosen, lambda: much(x), lambda: much(x + 1.0))",
        "tf.case([(chosen, lambda: much(x))], default=lambda: much(x + 1.0))",
        "tf.switch_case(tf.cast(chosen, tf.int32), [lambda: much(x), lambda: much(x + 1.0)])",
    ],
)
def test_one_of_the_branches_is_part_of_the_work(choice: str, tmp_path: Path) -> None:
    once, chosen = (benefit(BRANCHES.replace("CHOICE", each), tmp_path) for each in ("much(x)", choice))
    assert chosen > 0.8 * once


def test_a_graph_squares_where_eager_code_raises_to_a_power(tmp_path: Path) -> None:
    # TensorFlow 2.15: 1.87 and 0.93 times as fast, beside the same two convolutions.
    model = "model = tf.keras.Sequential([K.Conv2D(64, 3), K.Conv2D(64, 3)])\n"
    calls = "for i in range(100):\n    step(tf.ones([8, 128, 128, 3]), tf.ones([1]))\n"
    assert 1.5 < benefit(model + STEP + calls, tmp_path) < 3
    cubes = STEP.replace("** 2", "** 3")
    assert benefit(model + cubes + calls, tmp_path) < benefit(model + STEP + calls, tmp_path)


def test_what_the_context_does_that_does_most_is_promised(tmp_path: Path) -> None:
    calls = "for i in range(100):\n    net(tf.ones([20000, 500]))\nnet(tf.ones([2, 500]))\n"
    net = "w = tf.ones([500, 500])\ndef net(x):\n    return tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, w)), w))\n"
    assert benefit(net + calls, tmp_path, "net") < 1.3


POINTS = """
model = tf.keras.Sequential([K.Dense(20, activation="tanh"), K.Dense(20, activation="tanh"), K.Dense(1)])
def loss(x, t):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            u = model(tf.concat([x, t], 1))
        u_x = inner.gradient(u, x)
    return tf.reduce_mean(tf.square(outer.gradient(u_x, x) - u))
"""


def points(rows: str) -> str:
    """A program that derives twice what a network gives for so many points."""
    return f"{POINTS}for i in range(100):\n    loss(tf.random.uniform(({rows}, 1)), tf.random.uniform(({rows}, 1)))\n"


def test_derivatives_of_derivatives_leave_something_to_gain_however_many_points_there_are(tmp_path: Path) -> None:
    # What graphs leave out is computing, too: TensorFlow 2.15 and 50,000 points, 2 to 3 times.
    few, many = benefit(points("10"), tmp_path, "loss"), benefit(points("200000"), tmp_path, "loss")
    assert few > 8
    assert 1.8 < many < 4


def test_points_of_which_nobody_knows_how_many_promise_a_middle(tmp_path: Path) -> None:
    unknown = benefit("import sys\n" + points("int(sys.argv[1])"), tmp_path, "loss")
    assert benefit(points("200000"), tmp_path, "loss") < unknown < benefit(points("10"), tmp_path, "loss")


def test_the_points_of_a_hypercube_are_known(tmp_path: Path) -> None:
    drawn = "tf.constant(lhs(1, {rows}), tf.float32)"
    for rows in ("10", "200000"):
        uniform = points(rows)
        hypercube = uniform.replace(f"tf.random.uniform(({rows}, 1))", drawn.format(rows=rows))
        found = benefit("from pyDOE import lhs\n" + hypercube, tmp_path, "loss")
        assert found == pytest.approx(benefit(uniform, tmp_path, "loss"), rel=0.1)


def test_a_model_computes_for_as_many_examples_as_it_is_called_with(tmp_path: Path) -> None:
    model = """import sys
model = tf.keras.Sequential()
for width in map(int, sys.argv):
    model.add(K.Dense(width))
def net(x):
    return model(x)
"""
    few = benefit(model + "for i in range(100):\n    net(tf.ones([4, 8]))\n", tmp_path, "net")
    assert benefit(model + "for i in range(100):\n    net(tf.ones([400000, 8]))\n", tmp_path, "net") < few / 2


@pytest.mark.parametrize("slow", ["tf.sort(x)", "tf.cumsum(x)", "tf.random.normal(tf.shape(x))"])
def test_kernels_that_take_long_leave_less_to_gain(slow: str, tmp_path: Path) -> None:
    step = f"""def step(x):
    z = x[0, 0]
    for _ in range(60):
        z = tf.sin(z)
    return z + tf.reduce_sum({slow})
for i in range(100):
    step(tf.ones([300, 1000]))
"""
    assert benefit(step, tmp_path) < 0.8 * benefit(step.replace(slow, "tf.abs(x)"), tmp_path)


NARROW = "model = tf.keras.Sequential([K.Dense(400), K.Dense(400), K.Dense(1)])\n" + STEP
DATA = "import numpy as np\nx = np.zeros((1000, 400), 'float32')\ny = np.zeros((1, 1), 'float32')\n"


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(0, len(x), 64):\n    step(x[i : i + 64], y)\n",
        "size = 64\nfor i in range(0, len(x), size):\n    step(x[i : min(i + size, len(x))], y)\n",
        "size = 64\nfor i in range(len(x) // size):\n    step(x[i * size : (i + 1) * size], y)\n",
        "size = 64\nfor i in range(len(x) // size):\n    first = size * i\n    step(x[first : first + size, :], y)\n",
        "class Feed:\n    def __init__(self, size):\n        self.at, self.size = 0, size\n    def next(self):\n"
        "        rows = x[self.at : self.at + self.size]\n        self.at += self.size\n        return rows\n"
        "feed = Feed(64)\nfor i in range(100):\n    step(feed.next(), y)\n",
    ],
    ids=["range", "to the end", "times", "named", "field"],
)
def test_slices_that_move_have_the_size_of_a_batch(loop: str, tmp_path: Path) -> None:
    known = benefit(
        f"{NARROW}x, y = tf.ones([64, 400]), tf.ones([1, 1])\nfor i in range(100):\n    step(x, y)\n", tmp_path
    )
    assert benefit(f"{NARROW}{DATA}{loop}", tmp_path) == pytest.approx(known, rel=0.2)


@pytest.mark.parametrize(
    "taken",
    ["x[i : j]", "x[i : i + n]", "x[i + 64 : i]", "x[i : 2 * i + 64]", "x[i : other.at + 64]"],
    ids=["unrelated", "unknown length", "backwards", "growing", "another field"],
)
def test_of_other_slices_the_size_is_not_known(taken: str, tmp_path: Path) -> None:
    made = "class C: pass\nother = C()\nother.at = i = j = n = int(input())\n"
    loop = f"{made}for _ in range(100):\n    i, j, n = i + 1, j + 2, n + 3\n    step({taken}, y)\n"
    unknown = DATA.replace("np.zeros((1000, 400), 'float32')", "np.load('x.npy').reshape(-1, 400).astype('float32')")
    whole = benefit(f"{NARROW}{unknown}for _ in range(100):\n    step(x, y)\n", tmp_path)
    assert benefit(f"{NARROW}{DATA}{loop}", tmp_path) == pytest.approx(whole, rel=0.02)


def test_slices_of_what_has_no_known_size_may_differ_at_each_end(tmp_path: Path) -> None:
    source = """
import numpy as np
def step(x):
    for _ in range(40):
        x = tf.sin(x) + 1.0
    return x
for name in input().split():
    x = np.load(name).reshape(-1, 400).astype('float32')
    for i in range(0, len(x), 64):
        step(x[i : i + 64])
"""
    (tmp_path / "program.py").write_text("import tensorflow as tf\n" + source)
    (found,) = [f.decision for f in analyze([tmp_path], Config(all_safe=True)).functions if f.facts.qualname == "step"]
    assert found.arguments  # relaxed, or with a signature


def test_what_a_step_makes_itself_has_as_many_examples_as_its_batch(tmp_path: Path) -> None:
    step = STEP.replace("model(x)", "model(tf.random.normal([tf.shape(x)[0], 400]))")
    model = "model = tf.keras.Sequential([K.Dense(400), K.Dense(400), K.Dense(1)])\n"
    calls = "for x in tf.data.Dataset.from_tensor_slices(tf.ones([%d, 400])).batch(64):\n    step(x, tf.ones([1, 1]))\n"
    whole = benefit(model + step.replace("tf.shape(x)[0]", "64") + calls % 1000, tmp_path)
    assert benefit(model + step + calls % 1000, tmp_path) == pytest.approx(whole, rel=0.1)


def test_of_a_functional_model_nothing_is_guessed_where_its_examples_are_known(tmp_path: Path) -> None:
    model = """
inputs = tf.keras.Input((28, 28, 1))
model = tf.keras.Model(inputs, K.Dense(10)(K.Flatten()(K.Conv2D(64, 3)(inputs))))
"""
    calls = "for i in range(100):\n    step(tf.ones([{}, 28, 28, 1]), tf.ones([1, 1]))\n"
    few, many = (benefit(model + STEP + calls.format(count), tmp_path) for count in (2, 512))
    assert few > 4
    assert many < few / 2


def test_a_model_that_was_built_for_few_examples_computes_for_those_of_the_call(tmp_path: Path) -> None:
    model = "model = tf.keras.Sequential([K.Conv2D(64, 3), K.Conv2D(64, 3), K.Flatten(), K.Dense(1)])\n"
    calls = "for i in range(100):\n    step(tf.ones([512, 28, 28, 1]), tf.ones([512, 1]))\n"
    built = benefit(model + "model.build((2, 28, 28, 1))\n" + STEP + calls, tmp_path)
    assert built == pytest.approx(benefit(model + STEP + calls, tmp_path), rel=0.05)


def test_functions_of_images_convert_whole_numbers(tmp_path: Path) -> None:
    source = """
def f(x):
    x = tf.image.random_brightness(x, 0.1)
    return tf.image.random_contrast(x, 0.7, 1.3)
for i in range(10000):
    f(tf.zeros([8, 8, 3], tf.%s))
"""
    assert benefit(source % "uint8", tmp_path, "f") > 1.4 * benefit(source % "float32", tmp_path, "f")


def test_wide_layers_of_inputs_of_unknown_width_follow_wide_ones(tmp_path: Path) -> None:
    model = """
import numpy as np
class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.layers_ = [K.Dense({0}), K.Dense({0}), K.Dense({0})]
    def step(self, x):
        for layer in self.layers_:
            x = tf.nn.relu(layer(x))
        return x
model = Encoder()
for name in input().split():
    model.step(np.load(name))
"""
    narrow, wide = (benefit(model.format(units), tmp_path, "Encoder.step") for units in (16, 2048))
    assert wide < 1.2 < narrow


def test_a_ready_made_network_computes_for_each_image(tmp_path: Path) -> None:
    model = "model = tf.keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None)\n"
    calls = "for i in range(100):\n    step(tf.ones([{}, 96, 96, 3]), tf.ones([1, 1]))\n"
    one, many = (benefit(model + STEP + calls.format(count), tmp_path) for count in (1, 64))
    assert one > 3
    assert many < one / 2


OPTION = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--size', type=int, default=%s)
args = parser.parse_args()
"""
BATCHES = """
def train(size):
    for x in tf.data.Dataset.from_tensor_slices(np.load('x.npy').reshape(-1, 400).astype('float32')).batch(size):
        step(x, tf.ones([1, 1]))
train(%s)
"""


def test_a_batch_is_likely_as_large_as_an_option_says_by_default(tmp_path: Path) -> None:
    known = benefit(f"import numpy as np\n{NARROW}{BATCHES % 64}", tmp_path)
    told = benefit(f"import numpy as np\n{OPTION % 64}{NARROW}{BATCHES % 'args.size'}", tmp_path)
    unsaid = benefit(f"import numpy as np\n{OPTION % None}{NARROW}{BATCHES % 'args.size'}", tmp_path)
    assert told == pytest.approx(known, rel=0.02)
    assert unsaid != pytest.approx(known, rel=0.1)


def test_an_option_that_is_likely_something_is_still_of_no_known_value(tmp_path: Path) -> None:
    source = f"""import tensorflow as tf
{OPTION % 3}
def f(x, n):
    return tf.reshape(x, [n, -1]) if n == 3 else None
f(tf.ones([6]), args.size)
"""
    (tmp_path / "program.py").write_text(source)
    (found,) = [f for f in analyze([tmp_path], Config(all_safe=True)).functions if f.facts.qualname == "f"]
    assert not found.facts.parameters[1].literals or "3" not in str(found.facts.parameters[1].literals[0])
