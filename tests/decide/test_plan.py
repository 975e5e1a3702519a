"""The plan: which of the safe functions are chosen, and why the others are left out."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

TUTORIAL = """\
import numpy as np
import tensorflow as tf

x_train = np.random.rand(1000, 784).astype("float32")
y_train = np.random.randint(0, 10, 1000)
data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).repeat().batch(64)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(128, activation="relu")
        self.second = tf.keras.layers.Dense(10)

    def call(self, x):
        return self.second(self.first(x))


net = Net()
optimizer = tf.keras.optimizers.SGD(0.1)


def cross_entropy(logits, labels):
    labels = tf.cast(labels, tf.int64)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def accuracy(logits, labels):
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(labels, tf.int64)), tf.float32))


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = cross_entropy(net(x), y)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))


for step, (batch_x, batch_y) in enumerate(data.take(500), 1):
    train_step(batch_x, batch_y)
    if step % 50 == 0:
        logits = net(batch_x)
        print(step, float(cross_entropy(logits, batch_y)), float(accuracy(logits, batch_y)))
"""


def functions(source: str, tmp_path: Path, **options: bool) -> dict[str, FunctionReport]:
    (tmp_path / "program.py").write_text(textwrap.dedent(source))
    report = analyze([tmp_path], Config(**options))  # type: ignore[arg-type]  # only Booleans are given
    return {f.facts.qualname: f for f in report.functions}


def chosen(found: dict[str, FunctionReport]) -> list[str]:
    """The functions that become hybrid, by expected benefit."""
    wanted = [f for f in found.values() if f.decision.action is Action.CONVERT_TO_HYBRID]
    return [f.facts.qualname for f in sorted(wanted, key=lambda f: -(f.decision.benefit or 0))]


def codes(function: FunctionReport) -> set[str]:
    return {s.code for s in function.statuses}


def test_the_training_step_of_a_tutorial_is_chosen_alone(tmp_path: Path) -> None:
    found = functions(TUTORIAL, tmp_path)
    assert chosen(found) == ["train_step"]
    assert (found["train_step"].decision.benefit or 0) > 2
    # Called now and then outside of the step, and small.
    assert codes(found["cross_entropy"]) == {"HY010"}
    assert codes(found["accuracy"]) == {"HY021"}
    assert {f.decision.precondition for n, f in found.items() if n in ("cross_entropy", "accuracy")} == {"P1"}


def test_all_safe_leaves_nothing_out(tmp_path: Path) -> None:
    found = functions(TUTORIAL, tmp_path, all_safe=True)
    assert {"train_step", "cross_entropy", "accuracy"} <= set(chosen(found))
    assert not codes(found["accuracy"])
    assert (found["accuracy"].decision.benefit or 1) < 1


CHAIN = "\n    ".join(f"x = tf.sin(x) * {i}.0 + 1.0" for i in range(20))


def test_a_function_of_few_operations_is_left_out(tmp_path: Path) -> None:
    source = f"import tensorflow as tf\ndef one(x):\n    return x * 2.0\ndef many(x):\n    {CHAIN}\n    return x\n"
    found = functions(source + "for i in range(100):\n    one(tf.ones(3)), many(tf.ones(3))\n", tmp_path)
    assert chosen(found) == ["many"]
    (status,) = found["one"].statuses
    assert (status.code, status.name, status.severity.value) == ("HY021", "not-worth-it", "info")
    assert found["one"].decision.precondition == "P1"
    assert (found["one"].decision.benefit or 1) == pytest.approx(0.23, abs=0.05)


def test_what_calls_something_unknown_is_not_counted_to_the_end(tmp_path: Path) -> None:
    source = "import elsewhere\nimport tensorflow as tf\ndef score(x):\n    return tf.sin(x) + elsewhere.density(x)\n"
    found = functions(source + "for i in range(100):\n    score(tf.ones(3))\n", tmp_path)
    (status,) = found["score"].statuses
    assert (status.code, found["score"].decision.action.value) == ("HY026", "keep")
    assert status.message.endswith("and what else it calls is not: nothing shows a gain")
    assert [each.message for each in status.evidence] == ["calls outside code: elsewhere.density"]


LOGGED = """
import tensorflow as tf
def small(x):
    print("called")
    return x * 2.0
def large(x):
    print("called")
    {chain}
    return x
def opaque(x):
    print("called")
    return somewhere.else_(x * 2.0)
for i in range(100):
    small(tf.ones(3)), large(tf.ones(3)), opaque(tf.ones(3))
"""


def test_where_mending_a_function_would_gain_nothing_the_plan_says_so(tmp_path: Path) -> None:
    found = functions(LOGGED.replace("{chain}", CHAIN), tmp_path)
    assert codes(found["small"]) == {"HY003", "HY021"}
    told = next(s.message for s in found["small"].statuses if s.code == "HY021")
    assert told.startswith("even without that a graph would not pay: about 1 TensorFlow operation per call")
    # A graph of this one would pay, and of that one nobody knows.
    assert codes(found["large"]) == {"HY003"}
    assert "HY021" not in codes(found["opaque"])
    assert {found[n].decision.precondition for n in ("small", "large", "opaque")} == {None}


def test_few_operations_on_large_tensors_gain(tmp_path: Path) -> None:
    source = "import tensorflow as tf\ndef f(x):\n    return tf.exp(x) * 2.0 + tf.sin(x) - x\n"
    source += "for _ in range(1000):\n    f(tf.ones([{0}, {0}]))\n"
    assert chosen(functions(source.format(10), tmp_path)) == []
    assert chosen(functions(source.format(2000), tmp_path)) == ["f"]


@pytest.mark.parametrize(("count", "expected"), [("2", []), ("30", ["f"])])
def test_loops_multiply(count: str, expected: list[str], tmp_path: Path) -> None:
    source = f"""
        import tensorflow as tf
        def f(x):
            for _ in range({count}):
                x = tf.sin(x) + 1.0
            return x
        for _ in range(1000):
            f(tf.ones(3))
        """
    assert chosen(functions(source, tmp_path)) == expected


def test_the_outermost_function_covers_what_it_calls(tmp_path: Path) -> None:
    source = f"""\
import tensorflow as tf
def inner(x):
    {CHAIN}
    return x
def middle(x):
    return inner(x) + inner(2.0 * x)
def outer(x):
    return middle(x) - 1.0
for i in range(100):
    outer(tf.ones(3))
"""
    found = functions(source, tmp_path)
    assert chosen(found) == ["outer"]
    assert "`outer`" in found["middle"].statuses[0].message
    assert codes(found["inner"]) == codes(found["middle"]) == {"HY010"}


def test_an_unsafe_caller_leaves_the_work_to_what_it_calls(tmp_path: Path) -> None:
    source = f"""\
import tensorflow as tf
losses = []
def inner(x):
    {CHAIN}
    return x
def outer(x):
    losses.append(1)
    return inner(x)
for i in range(100):
    outer(tf.ones(3))
"""
    assert chosen(functions(source, tmp_path)) == ["inner"]


def test_pipelines_and_hybrid_callers_cover(tmp_path: Path) -> None:
    source = f"""\
import tensorflow as tf
def mapped(x):
    {CHAIN}
    return x
def called(x):
    {CHAIN}
    return x
@tf.function
def step(x):
    return called(x)
for x in tf.data.Dataset.from_tensor_slices(tf.ones([10, 3])).map(mapped):
    step(x)
"""
    found = functions(source, tmp_path)
    assert chosen(found) == []
    assert codes(found["mapped"]) == codes(found["called"]) == {"HY010"}


def test_a_training_loop_is_not_unrolled(tmp_path: Path) -> None:
    source = """
        import tensorflow as tf
        w = tf.Variable([1.0, 2.0])
        b = tf.Variable([1.0, 2.0])
        optimizer = tf.keras.optimizers.Adam()
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.tanh(x * w + b) - tf.sin(x)))
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
            return loss
        def train(x):
            for _ in range(1000):
                loss = step(x)
            return loss
        train(tf.ones(2))
        """
    found = functions(source, tmp_path)
    assert chosen(found) == ["step"]
    assert codes(found["train"]) == {"HY021"}


def test_a_call_runs_one_of_the_functions_that_it_may_mean(tmp_path: Path) -> None:
    """A model chosen by name out of many is one model: its graph has the size of one."""
    nets = "".join(
        f"class Net{i}(tf.keras.Model):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.block = tf.keras.layers.Dense(8)\n"
        "    def call(self, x):\n"
        "        for _ in range(150):\n"
        "            x = tf.nn.relu(self.block(x)) + x\n"
        "        return x\n"
        for i in range(12)
    )
    choice = "".join(f"    if name == '{i}':\n        return Net{i}()\n" for i in range(12))
    source = (
        f"import sys\nimport tensorflow as tf\n{nets}def find(name):\n{choice}"
        "net = find(sys.argv[1])\n"
        "optimizer = tf.keras.optimizers.Adam()\n"
        "def train_step(x):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(net(x))\n"
        "    gradients = tape.gradient(loss, net.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(gradients, net.trainable_variables))\n"
        "for _ in range(1000):\n"
        "    train_step(tf.random.normal((4, 8)))\n"
    )
    assert "train_step" in chosen(functions(source, tmp_path))


def test_guesses_of_nested_loops_do_not_speak_against_a_graph(tmp_path: Path) -> None:
    """Blocks in stages, of which nobody can count either: guesses multiply, and prove nothing."""
    source = """
        import sys
        import tensorflow as tf
        class Stage(tf.keras.layers.Layer):
            def __init__(self, depth):
                super().__init__()
                self.blocks = [tf.keras.layers.Conv2D(8, 3, padding="same") for _ in range(depth)]
                self.norms = [tf.keras.layers.BatchNormalization() for _ in range(depth)]
            def call(self, x, training=None):
                for conv, norm in zip(self.blocks, self.norms):
                    for _ in range(self.repeats()):
                        x = tf.nn.relu(norm(conv(x), training=training))
                return x
            def repeats(self):
                return len(sys.argv)
        class Net(tf.keras.Model):
            def __init__(self, depths):
                super().__init__()
                self.stages = [Stage(d) for d in depths]
            def call(self, x, training=None):
                for stage in self.stages:
                    x = stage(x, training=training)
                return x
        net = Net([int(a) for a in sys.argv[1:]])
        optimizer = tf.keras.optimizers.Adam()
        def train_step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(net(x, training=True))
            gradients = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        for _ in range(1000):
            train_step(tf.random.normal((4, 16, 16, 8)))
        """
    assert chosen(functions(source, tmp_path)) == ["train_step"]


def test_a_library_function_without_callers_is_left_to_who_asks_for_all(tmp_path: Path) -> None:
    source = f"import tensorflow as tf\ndef f(x: tf.Tensor):\n    {CHAIN}\n    return x\n"
    found = functions(source, tmp_path)
    assert chosen(found) == []
    assert codes(found["f"]) == {"HY026"}
    assert found["f"].decision.precondition == "P1"
    assert chosen(functions(source, tmp_path, all_safe=True)) == ["f"]


RARE = f"""\
import tensorflow as tf
def step(x):
    {CHAIN}
    return x
def evaluate(x):
    {CHAIN}
    return x
def main(steps):
    for i in range(steps):
        step(tf.ones(3))
    {{call}}
if __name__ == "__main__":
    import sys
    main(int(sys.argv[1]))
"""


def test_what_a_program_calls_once_beside_its_loop_is_not_worth_a_trace(tmp_path: Path) -> None:
    found = functions(RARE.format(call="evaluate(tf.ones(3))"), tmp_path)
    assert chosen(found) == ["step"]
    (status,) = found["evaluate"].statuses
    assert (status.code, status.message) == ("HY021", "called once: tracing it takes longer than that saves")


@pytest.mark.parametrize(
    "call", ["for x in range(5000): evaluate(tf.ones(3))", "for x in range(steps): evaluate(tf.ones(3))"]
)
def test_often_is_worth_it(call: str, tmp_path: Path) -> None:
    assert set(chosen(functions(RARE.format(call=call), tmp_path))) == {"step", "evaluate"}


SHOWN = f"import tensorflow as tf\ndef f(x):\n    {CHAIN}\n    return x\n"
FITS = "m = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nm.compile('adam', 'mse')\nm.fit(tf.ones([8, 3]))\n"
LOOPS = "def g(x):\n    return x + 1\nfor i in range(1000): g(tf.ones(3))\n"


@pytest.mark.parametrize(
    "calls",
    ["print(f(tf.ones(3)))", "for n in [3, 4, 5]:\n    print(f(tf.ones(n)))", "for i in range(5): f(tf.ones(3))"],
)
@pytest.mark.parametrize("beside", [FITS, LOOPS])
def test_a_few_calls_win_nothing_back(calls: str, beside: str, tmp_path: Path) -> None:
    found = functions(f"{SHOWN}{calls}\n{beside}", tmp_path)
    assert chosen(found) == []
    assert codes(found["f"]) & {"HY021", "HY026"}


def test_a_program_that_does_nothing_but_show_a_function_says_nothing_of_how_often_it_is_called(tmp_path: Path) -> None:
    assert chosen(functions(f"{SHOWN}print(f(tf.ones(3)))\n", tmp_path)) == ["f"]


def test_nobody_trains_by_one_step(tmp_path: Path) -> None:
    source = """
        import tensorflow as tf
        w = tf.Variable(tf.ones([3, 1]))
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.tanh(x @ w) - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss
        step(tf.ones([2, 3]), tf.ones([2, 1]))
        """
    assert chosen(functions(source, tmp_path)) == ["step"]


# P7: functions that take no tensors, but compute on variables that they update
AGENT = """\
import tensorflow as tf

class Agent:
    def __init__(self):
        self.online = [tf.Variable(tf.ones([4])) for _ in range(8)]
        self.target = [tf.Variable(tf.ones([4])) for _ in range(8)]
        self.average = tf.Variable(0.0)
        self.updates = 0

    def update_target(self):
        for slow, fast in zip(self.target, self.online):
            slow.assign(slow + 0.1 * (fast - slow))

    def counted(self):
        self.updates += 1
        for slow, fast in zip(self.target, self.online):
            slow.assign(slow + 0.1 * (fast - slow))

    def note(self):
        self.average.assign(0.5)

    def norm(self):
        return tf.add_n([tf.reduce_sum(tf.square(v)) for v in self.online])

    def decay(self, rate):
        for slow, fast in zip(self.target, self.online):
            slow.assign(slow * rate + fast * (1 - rate))


def update(agent):
    {decorator}
    def inner():
        for slow, fast in zip(agent.target, agent.online):
            slow.assign(slow + 0.1 * (fast - slow))
    return inner


agent = Agent()
inner = update(agent)
for i in range(100):
    agent.update_target(), agent.counted(), agent.note(), agent.norm(), inner(), agent.decay(1.0 / (i + 1))
"""


def test_what_updates_variables_needs_no_tensor_parameter(tmp_path: Path) -> None:
    found = functions(AGENT.replace("    {decorator}\n", ""), tmp_path)
    assert set(chosen(found)) == {"Agent.update_target", "update.inner"}
    assert found["Agent.update_target"].decision.precondition == "P7"
    assert not found["Agent.update_target"].facts.candidate
    assert codes(found["Agent.counted"]) >= {"HY003"}
    assert found["Agent.note"].decision.precondition is None  # one operation is no gain
    assert codes(found["Agent.note"]) == {"HY001", "HY021"}
    assert codes(found["Agent.norm"]) == {"HY001", "HY027"}  # it only reads variables: not by default
    assert codes(found["Agent.decay"]) == {"HY002"}  # a rate that differs from call to call


def test_what_it_makes_hybrid_stays_hybrid(tmp_path: Path) -> None:
    inner = functions(AGENT.replace("{decorator}", "@tf.function"), tmp_path)["update.inner"]
    assert inner.decision.action is Action.KEEP
    assert codes(inner) - {"HY023"} == {"HY008"}


def test_all_that_is_safe_holds_all_that_the_default_makes(tmp_path: Path) -> None:
    source = AGENT.replace("    {decorator}\n", "")
    made = set(chosen(functions(source, tmp_path)))
    assert made
    assert made <= set(chosen(functions(source, tmp_path, all_safe=True)))


MAKERS = """\
import tensorflow as tf

class Sampler:
    def __init__(self, generator, size):
        self.generator, self.size, self.drawn = generator, size, []

    def sample(self, n=16):
        return self.generator(tf.random.normal([n, self.size]), training=False)

    def basis(self):
        found = tf.eye(4)
        for _ in range(9):
            found = tf.linalg.inv(found) @ tf.exp(found)
        return found

    def one(self):
        return tf.zeros([3])

    def named(self):
        return "normal"

    def counted(self, n=16):
        self.drawn.append(n)
        return self.sample(n)
"""


def test_all_that_is_safe_holds_what_draws_and_takes_no_tensor(tmp_path: Path) -> None:
    assert chosen(functions(MAKERS, tmp_path)) == []
    found = functions(MAKERS, tmp_path, all_safe=True)
    assert set(chosen(found)) == {"Sampler.sample", "Sampler.basis"}
    assert found["Sampler.sample"].decision.precondition == "P7"
    assert codes(found["Sampler.one"]) == {"HY001", "HY021"}  # one operation is no gain
    assert codes(found["Sampler.named"]) >= {"HY001", "HY005"}
    assert codes(found["Sampler.counted"]) >= {"HY003"}


GIVEN_OBJECTS = """\
import tensorflow as tf

class Normal:
    def __init__(self, scale):
        self.scale = tf.Variable(scale)

def spread(normal: Normal):
    found = normal.scale
    for _ in range(9):
        found = tf.exp(found) * normal.scale
    return found

class Model(tf.Module):
    def __init__(self):
        self.scale = tf.Variable([1.0, 2.0])

    def spread(self):
        found = self.scale
        for _ in range(9):
            found = tf.exp(found) * self.scale
        return found
"""


def test_a_function_without_tensors_that_is_given_objects_must_be_seen_to_be_called(tmp_path: Path) -> None:
    """Each new object would be a trace, and nobody knows whether callers make one for each call."""
    assert chosen(functions(GIVEN_OBJECTS, tmp_path, all_safe=True)) == ["Model.spread"]


TF1 = """\
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 4])
def net(x):
    for _ in range(20):
        x = tf.sin(x) + x
    return x
def dense(x):
    return tf.layers.dense(net(x), 3)
y = dense(x)
"""


def test_what_builds_a_graph_of_tensorflow_1_is_left_alone(tmp_path: Path) -> None:
    found = functions(TF1, tmp_path)
    assert found["net"].decision.action is Action.KEEP
    assert codes(found["net"]) == {"HY028"}
    assert "HY250" in codes(found["dense"])  # a layer makes its variables anew at every call
    assert functions(TF1, tmp_path, all_safe=True)["net"].decision.action is Action.CONVERT_TO_HYBRID


def test_a_small_part_of_a_step_that_stays_eager_gains_nothing_that_anybody_notices(tmp_path: Path) -> None:
    source = """
        import tensorflow as tf
        history = []
        def small(x):
            for _ in range(4):
                x = tf.sin(x) * tf.cos(x) + tf.exp(x)
            return x
        def large(x):
            for _ in range(80):
                x = tf.sin(x) * tf.cos(x) + tf.exp(x)
            return x
        def step(x):
            history.append(float(tf.reduce_sum(small(x) + large(x))))
        for _ in range(1000):
            step(tf.ones(3))
        """
    found = functions(source, tmp_path)
    assert chosen(found) == ["large"]
    assert "of the time of what its file does" in found["small"].statuses[-1].message


def test_a_training_loop_whose_variables_are_moved_by_hand_is_not_unrolled(tmp_path: Path) -> None:
    source = """
        import tensorflow as tf
        w = tf.Variable(tf.ones([3, 1]))
        def fit(x, n):
            for i in range(n):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.matmul(x, w) ** 2)
                w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss
        fit(tf.ones([100, 3]), 200)
        """
    found = functions(source, tmp_path)
    assert chosen(found) == []
    assert "unrolls a training loop" in found["fit"].statuses[-1].message


GRAPHS = """\
import tensorflow as tf

{decorator}
def target(x):
{body}
    return x

for _ in range(100):
    target(tf.ones([{size}, {size}]))
"""


@pytest.mark.parametrize(
    ("decorator", "body", "size", "expected"),
    [
        ("@tf.function", "    x = tf.abs(x) * 2.0", 3, "gains nothing"),
        ("@tf.function", "    for i in range(90000):\n        x = x * 1.01 + 0.5", 3, "tf.range"),
        ("@tf.function", "    x = x @ x", 2000, ""),
        ("@tf.function", "    for i in range(30):\n        x = tf.nn.relu(x * 1.01 + 0.5)", 3, ""),
        ("@tf.function(jit_compile=True)", "    x = tf.abs(x) * 2.0", 3, ""),
    ],
)
def test_a_graph_that_gains_nothing_is_told(
    decorator: str, body: str, size: int, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(GRAPHS.format(decorator=decorator, body=body, size=size))
    (target,) = [f for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "target"]
    said = [status.message for status in target.statuses if status.code == "HY021"]
    assert target.decision.action is Action.KEEP
    assert [expected in message for message in said] == ([True] if expected else [])
