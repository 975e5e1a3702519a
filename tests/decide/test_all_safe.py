"""What `--all-safe` leaves eager although it passes P1: graphs around it, or unknown code, may make it wrong."""

from __future__ import annotations

import gc
import textwrap
from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport


def functions(
    tmp_path: Path, source: str, *, package: bool = False, name: str = "program.py"
) -> dict[str, FunctionReport]:
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / ("waves/__init__.py" if package else name)
    if package:
        path.parent.mkdir()
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "waves"\n')
    path.write_text(textwrap.dedent(source))
    return {f.facts.qualname: f for f in analyze([tmp_path], Config(all_safe=True)).functions}


def is_converted(function: FunctionReport) -> bool:
    return function.decision.action is Action.CONVERT_TO_HYBRID


PASSED_ON = """
    import tensorflow as tf

    def clipped(x):
        return tf.clip_by_value(tf.abs(x), 0.0, 1.0) * 2.0

    def loss(x):
        return tf.reduce_sum(tf.square(clipped(x)))

    for _ in range(3):
        v = {made}
        with tf.GradientTape() as tape:
            y = loss(v)
"""


def test_a_graph_gets_no_variable_from_another_graph(tmp_path: Path) -> None:
    found = functions(tmp_path, PASSED_ON.format(made="tf.Variable([1.0, 2.0])"))
    assert is_converted(found["loss"])
    assert not is_converted(found["clipped"])
    assert [status.code for status in found["clipped"].statuses] == ["HY010"]


def test_a_graph_may_get_a_tensor_from_another_graph(tmp_path: Path) -> None:
    found = functions(tmp_path, PASSED_ON.format(made="tf.ones([2])"))
    assert is_converted(found["loss"])
    assert is_converted(found["clipped"])


UNFOLLOWED = """
    import tensorflow as tf

    from gates import opened

    def gate(x):
        width = {called}
        return tf.sin(x + 1.0) * tf.cos(x) if width else x

    gate(tf.ones([2]))
"""


def test_a_call_that_nobody_can_follow_keeps_a_function_eager(tmp_path: Path) -> None:
    gate = functions(tmp_path, UNFOLLOWED.format(called="opened()"))["gate"]
    assert not is_converted(gate)
    assert [status.code for status in gate.statuses] == ["HY027"]


def test_a_call_that_is_known_does_not(tmp_path: Path) -> None:
    assert is_converted(functions(tmp_path, UNFOLLOWED.format(called="len(x.shape)"))["gate"])


NEUTRAL = """
    import keras

    def twice(x):
        return keras.ops.sin(x) * 2

    twice(keras.ops.ones([2]))
"""


def test_a_library_that_keras_may_run_on_another_backend_stays_as_it_is(tmp_path: Path) -> None:
    assert is_converted(functions(tmp_path / "a", NEUTRAL)["twice"])
    assert not is_converted(functions(tmp_path / "b", NEUTRAL, package=True)["twice"])


ENDING = """
    import tensorflow as tf

    def checked(x, limit=1.0):
        y = tf.sin(x) + tf.cos(x) * limit
        {end}

    checked(tf.ones([2]))
"""


@pytest.mark.parametrize("end", ["return y, y.shape[0]", "return y, tf.Variable", "return y.numpy"])
def test_a_function_of_a_library_that_gives_more_than_tensors_stays_as_it_is(end: str, tmp_path: Path) -> None:
    assert not is_converted(functions(tmp_path, ENDING.format(end=end), package=True)["checked"])


def test_a_function_of_a_library_that_gives_tensors_does_not(tmp_path: Path) -> None:
    assert is_converted(functions(tmp_path, ENDING.format(end="return y, x"), package=True)["checked"])


NESTED = """
    import tensorflow as tf

    def run(batches):
        def step(x):
            return tf.reduce_sum(tf.sin(x) * tf.cos(x))
        {body}

    for _ in range(100):
        print(run(tf.data.Dataset.from_tensor_slices(tf.ones([50, 3]))))
"""


def test_a_nested_function_is_no_graph_where_each_call_makes_it_anew(tmp_path: Path) -> None:
    once = "print(step(next(iter(batches))))"
    often = "for x in batches:\n            print(step(x))"
    assert not is_converted(functions(tmp_path / "a", NESTED.format(body=once))["run.step"])
    assert is_converted(functions(tmp_path / "b", NESTED.format(body=often))["run.step"])


TESTS = """
    import pytest
    import tensorflow as tf

    @pytest.fixture
    def batch():
        return tf.ones([2, 3])

    def energy(x):
        return tf.reduce_sum(tf.sin(x) * tf.cos(x))

    def test_energy(batch):
        assert energy(batch) + tf.reduce_sum(batch) > 0
"""


def test_what_a_test_runner_calls_stays_as_it_is(tmp_path: Path) -> None:
    found = functions(tmp_path, TESTS, name="test_program.py")
    assert not is_converted(found["test_energy"])
    assert is_converted(found["energy"])


SIZES = """
    import tensorflow as tf

    def sizes(x: tf.Tensor):
        known = x.shape
        return tf.shape(x) if None in known.as_list() else known

    def filled(x: tf.Tensor):
        return tf.constant(2.0, shape=sizes(x)) + x
"""


def test_a_function_of_a_library_that_may_give_a_static_shape_stays_as_it_is(tmp_path: Path) -> None:
    assert not is_converted(functions(tmp_path, SIZES, package=True)["sizes"])


KEEPS = """
    import tensorflow as tf

    @tf.function
    def scaled(x, v):
        {body}

    class Scale(tf.Module):
        def __init__(self):
            self.v = tf.Variable(2.0)
        def forward(self, x):
            return scaled(tf.abs(x) + 1.0, self.v) * 2.0

    SCALE = Scale()

    def example():
        return SCALE.forward(tf.ones([3]))
"""
BRANCH = "return x * v if tf.reduce_sum(x) > 0.0 else x - v"


@pytest.mark.parametrize(("body", "package", "expected"), [(BRANCH, True, False), ("return x * v", True, True)])
def test_a_graph_that_keeps_a_variable_is_called_by_eager_code(
    body: str, package: bool, expected: bool, tmp_path: Path
) -> None:
    """The next object's graph would find the branch of a variable that is gone by then: TensorFlow raises."""
    found = functions(tmp_path, KEEPS.format(body=body), package=package)
    assert is_converted(found["Scale.forward"]) == expected


@pytest.mark.tensorflow
def test_tensorflow_loses_a_variable_that_an_inner_graph_keeps(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")

    @tf.function
    def scaled(x, v):  # type: ignore[no-untyped-def]
        return x * v if tf.reduce_sum(x) > 0.0 else x - v

    class Scale(tf.Module):  # type: ignore[misc]
        def __init__(self, value: float) -> None:
            self.v = tf.Variable(value)

        @tf.function  # type: ignore[untyped-decorator]
        def forward(self, x):  # type: ignore[no-untyped-def]
            return scaled(x, self.v)

    first, second = Scale(2.0), Scale(4.0)
    assert float(first.forward(tf.constant(3.0))) == 6.0
    del first
    gc.collect()
    with pytest.raises(AssertionError, match="variables which have been deleted"):
        second.forward(tf.constant(3.0))


BLOCK = """
    import tensorflow as tf

    class Block(tf.keras.layers.Layer):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.fc = tf.keras.layers.Dense(4)
        {build}
        def call(self, x):
            for _ in range(8):
                x = tf.nn.relu(tf.abs(x) * 1.5) - tf.tanh(x)
            return self.fc(x)

    def made(x):
        block = Block()
        return block(x), [weight.name for weight in block.weights]
"""
BUILDS = "def build(self, shape):\n            self.fc.build(shape)\n            super().build(shape)"


@pytest.mark.parametrize(("build", "expected"), [("pass", False), (BUILDS, True)])
def test_a_graph_of_a_library_makes_no_weights_under_keras_2(build: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.10,<2.16\n")
    found = functions(tmp_path, BLOCK.format(build=build), package=True)
    assert is_converted(found["Block.call"]) == expected


@pytest.mark.tensorflow
def test_tensorflow_names_weights_that_a_graph_makes_without_the_layers_around_it() -> None:
    tf = pytest.importorskip("tensorflow")
    space: dict[str, type] = {}
    exec(textwrap.dedent(BLOCK.format(build="pass")), space)
    eager = space["Block"](name="block")
    eager(tf.ones([1, 4]))
    if not tf.keras.__version__.startswith("2."):
        space["Block"].call = tf.function(space["Block"].call)  # type: ignore[attr-defined]
        graph = space["Block"](name="block")
        graph(tf.ones([1, 4]))
        assert graph.fc.kernel.path.startswith("block/dense")
        return
    assert eager.fc.kernel.name == "block/dense/kernel:0"
    space["Block"].call = tf.function(space["Block"].call)  # type: ignore[attr-defined]
    graph = space["Block"](name="block")
    graph(tf.ones([1, 4]))
    assert graph.fc.kernel.name.startswith("dense")


STEP = """
    import tensorflow as tf

    def step(model, x):
        for _ in range(8):
            x = tf.nn.relu(tf.abs(x) * 1.5) - tf.tanh(x)
        return model(x)
"""
CALLED = """
import tensorflow as tf
from waves import step

def test_step():
    step(tf.keras.Sequential([{layers}]), tf.ones((1, 4)))

def test_again():
    step(tf.keras.Sequential([{layers}]), tf.ones((1, 4)))
"""
DENSE = "tf.keras.layers.Dense(3)"


@pytest.mark.parametrize(("layers", "expected"), [(DENSE, False), (f"tf.keras.Input((4,)), {DENSE}", True)])
def test_a_graph_of_a_library_makes_no_weights_of_what_it_is_given(layers: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.16\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_waves.py").write_text(CALLED.format(layers=layers))
    found = functions(tmp_path, STEP, package=True)
    assert is_converted(found["step"]) == expected


@pytest.mark.tensorflow
def test_tensorflow_makes_weights_of_the_first_model_that_a_graph_is_given_only() -> None:
    tf = pytest.importorskip("tensorflow")
    space: dict[str, Any] = {}
    exec(textwrap.dedent(STEP), space)
    step, x = tf.function(space["step"]), tf.ones([1, 4])
    assert step(tf.keras.layers.Dense(3), x).shape == (1, 3)
    with pytest.raises(ValueError, match=r"singleton tf\.Variable|non-first call"):
        step(tf.keras.layers.Dense(3), x)


TESTED = """
    import numpy as np
    from waves import scaled

    def test_scaled():
        for low in {numbers}:
            assert scaled(np.ones([5]), low, 1.0) is not None
"""


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [("(np.random.uniform(0.0, 1.0) for _ in range(300))", False), ("(0.0, 0.5)", True), ("range(3)", True)],
)
def test_floats_that_a_loop_of_a_test_makes_are_data(numbers: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_waves.py").write_text(textwrap.dedent(TESTED.format(numbers=numbers)))
    source = """
        import tensorflow as tf

        def scaled(x, low, high):
            return low + (high - low) * tf.exp(-tf.square(x)) / tf.reduce_max(x)
    """
    assert is_converted(functions(tmp_path, source, package=True)["scaled"]) is expected


HELPER = """
    import tensorflow as tf

    def helped({given}x: tf.Tensor, y: tf.Tensor):
        return tf.reduce_mean({loss}(x, y)) * 2.0 + tf.reduce_sum(x)

    def test_nothing():
        pass
"""


@pytest.mark.parametrize(
    ("given", "loss", "name", "expected"),
    [
        ("loss, ", "loss", "test_waves.py", False),
        ("", "tf.keras.losses.mean_squared_error", "test_waves.py", True),
        ("loss, ", "loss", "waves.py", True),
    ],
)
def test_a_helper_of_tests_is_converted_if_all_that_it_gets_is_known(
    given: str, loss: str, name: str, expected: bool, tmp_path: Path
) -> None:
    """What helpers of tests get is there to show the limits: a loss whose name no scope of a graph may have, say."""
    found = functions(tmp_path, HELPER.format(given=given, loss=loss), name=name)
    assert is_converted(found["helped"]) is expected


BACKEND = """
    import tensorflow as tf

    def signed(x):
        return tf.sign(tf.sign(x) + 0.1) * tf.exp(x)

    x = tf.keras.backend.{made}
    run = tf.keras.backend.function([x], [signed(x)])
"""


@pytest.mark.parametrize(("made", "expected"), [("placeholder(ndim=2)", False), ("zeros((2, 3))", True)])
def test_a_placeholder_of_keras_is_a_symbolic_tensor(made: str, expected: bool, tmp_path: Path) -> None:
    """TensorFlow 2.15: `tf.function` refuses what `placeholder` gives, as what `keras.Input` gives."""
    assert is_converted(functions(tmp_path, BACKEND.format(made=made))["signed"]) is expected


@pytest.mark.parametrize(("field", "is_known"), [("angles", True), ("autocast", False)])
def test_a_layer_that_has_not_what_the_project_gives_others_raises_there(
    tmp_path: Path, field: str, is_known: bool
) -> None:
    source = f"""
        import tensorflow as tf

        class Features(tf.keras.layers.Layer):
            def __init__(self, angles):
                super().__init__()
                self.use_angles = angles
                if angles:
                    self.{field} = tf.keras.layers.Flatten()

        def step(layer, x):
            for _ in range(20):
                x = tf.sin(x) * 2.0
            return layer.{field}(x) if layer.use_angles else x

        layers = [Features(True), Features(False)]
        for i in range(100):
            step(layers[i % 2], tf.ones((2, 3)))
    """
    step = functions(tmp_path, source)["step"]
    assert is_converted(step)
    assert bool(step.facts.assumptions) is not is_known  # Keras itself may have set the other one


BELOW = """
    import tensorflow as tf
    from elsewhere import Agent

    class Learner(Agent):
        def _update(self, x):
            return tf.reduce_sum(tf.square(x)) * 2.0
        def _hook(self, x):
            return tf.reduce_sum(tf.square(x)) * 2.0
        def train(self, x):
            return self._update(tf.sin(x)) + 1.0
        def learn(self, x):
            return self.train(x)
"""


def test_a_private_method_that_the_program_calls_is_its_own_below_a_base_that_nobody_knows(tmp_path: Path) -> None:
    found = functions(tmp_path, BELOW, package=True)
    assert is_converted(found["Learner._update"])
    for name in ("_hook", "train"):  # the base class may call these
        assert [status.code for status in found[f"Learner.{name}"].statuses] == ["HY027"]
    layer = BELOW.replace("from elsewhere import Agent", "").replace("Agent", "tf.keras.layers.Layer")
    named = functions(tmp_path / "b", layer.replace("_update", "_set_dtype_policy"), package=True)
    assert not is_converted(named["Learner._set_dtype_policy"])


RECORDING = """
    import tensorflow as tf

    STEP = tf.Variable(0, dtype=tf.int64)

    class Loop:
        def __init__(self):
            self.count = 0
        def step(self, x):
            with tf.summary.record_if({condition}):
                tf.summary.scalar("x", tf.reduce_sum(x), step=STEP)
                return tf.sin(x) * tf.cos(x) + 1.0
        def run(self):
            for _ in range(100):
                self.count += 1
                self.step(tf.ones([3]))

    Loop().run()
"""


@pytest.mark.parametrize(("condition", "expected"), [("STEP % 10 == 0", True), ("lambda: self.count % 10 == 0", False)])
def test_summaries_that_are_written_now_and_then(condition: str, expected: bool, tmp_path: Path) -> None:
    assert is_converted(functions(tmp_path, RECORDING.format(condition=condition))["Loop.step"]) is expected


PROMISED = """
    import tensorflow as tf

    class Scores(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.table = tf.Variable(tf.ones([3, 4]))
        def predict(self, x: tf.Tensor):
            scores = tf.nn.log_softmax(tf.matmul(x, self.table)) * 2.0
            return {given}
"""


@pytest.mark.parametrize(
    ("given", "expected"), [("scores", True), ("(scores, scores + 1.0)", True), ("self.elsewhere(scores)", False)]
)
def test_who_gives_tensors_instead_of_the_arrays_that_a_library_promises(
    given: str, expected: bool, tmp_path: Path
) -> None:
    found = functions(tmp_path, PROMISED.format(given=given), package=True)["Scores.predict"]
    assert is_converted(found) is expected
