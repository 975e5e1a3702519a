"""What the project's own functions do with what unknown code gives them, and what callers show of what is handed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action


def converted(folder: Path, text: str) -> dict[str, bool]:
    """Which functions of a library `--all-safe` makes hybrid, by name."""
    (folder / "pyproject.toml").write_text('[project]\nname = "kit"\n')
    (folder / "kit").mkdir()
    (folder / "kit" / "__init__.py").write_text("import numpy as np\nimport tensorflow as tf\n" + text)
    reports = analyze([folder], Config(jobs=1, all_safe=True), repairs=False).functions
    return {each.facts.qualname: each.decision.action is Action.CONVERT_TO_HYBRID for each in reports}


COUNTED = """\
class Counted:
    def __init__(self):
        self.mean = tf.keras.metrics.Mean()
        self.seen = 0
    def count(self, value):
        {counts}
class Trainer:
    def __init__(self, model):
        self.model, self.counted = model, Counted()
    def step(self, x: tf.Tensor, counted):
        value = tf.reduce_mean(tf.exp(x))
        counted.count(value)
        return value
    def run(self, data):
        for x in data:
            self.step(x, {passed})
"""


@pytest.mark.parametrize(
    ("counts", "passed", "expected"),
    [
        ("self.mean.update_state(value)", "self.counted", True),
        ("self.seen += 1", "self.counted", False),
        ("self.mean.update_state(value)", "self.model.counted", False),
    ],
)
def test_a_method_of_an_argument_is_the_one_that_seen_calls_reach(
    counts: str, passed: str, expected: bool, tmp_path: Path
) -> None:
    assert converted(tmp_path, COUNTED.format(counts=counts, passed=passed))["Trainer.step"] is expected


SCORED = """\
def error(given, expected):
    {computes}
class Judge:
    def __init__(self, model):
        self.model = model
    def step(self, x: tf.Tensor, y: tf.Tensor):
        return error(self.model(tf.exp(x)), y)
"""


@pytest.mark.parametrize(
    ("computes", "expected"),
    [
        ("return tf.reduce_mean(tf.square(given - expected))", True),
        ("return tf.nn.softmax(given)", True),
        ("return tf.reduce_mean(tf.exp(expected))", False),
        ("return tf.constant(len(given)) + tf.shape(expected)[0]", False),
    ],
)
def test_what_a_function_of_the_project_computes_on_was_computed_with_tensorflow(
    computes: str, expected: bool, tmp_path: Path
) -> None:
    assert converted(tmp_path, SCORED.format(computes=computes))["Judge.step"] is expected


SOLVED = """\
class Solver:
    def __init__(self, slope):
        self.slope = slope
    def step(self, t: tf.Tensor, y: tf.Tensor):
        return y + 0.1 * self.slope(t, y)
    def solve(self, t: tf.Tensor, y: tf.Tensor):
        return {use}
"""


@pytest.mark.parametrize(("use", "expected"), [("tf.nn.relu(self.step(t, y))", True), ("self.step(t, y).tail", False)])
def test_what_is_given_back_to_an_operation_was_computed_with_tensorflow(
    use: str, expected: bool, tmp_path: Path
) -> None:
    assert converted(tmp_path, SOLVED.format(use=use))["Solver.solve"] is expected


APPLIED = """\
class Learner:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
    def apply(self, grads):
        self.optimizer.apply_gradients(zip(grads, {beside}))
"""


@pytest.mark.parametrize(("beside", "expected"), [("self.model.trainable_weights", True), ("self.model.names", False)])
def test_what_stands_beside_trainable_variables_is_a_list_of_gradients(
    beside: str, expected: bool, tmp_path: Path
) -> None:
    assert converted(tmp_path, APPLIED.format(beside=beside))["Learner.apply"] is expected


SALIENCY = """\
def target(x, model):
    if not tf.is_tensor(x):
        x = tf.Variable(x)
    with tf.GradientTape() as tape:
        {watched}
        y = model(x)
    {after}
"""


@pytest.mark.parametrize(
    ("watched", "after", "expected"),
    [
        ("tape.watch(x)", "return tape.gradient(y, x)", True),
        ("pass", "return tape.gradient(y, x)", False),  # of a tensor that comes the tape has to be told
        ("tape.watch(x)", "x.assign_sub(tape.gradient(y, x))\n    return tf.exp(x)", False),
        ("tape.watch(x)", "_ = tape.gradient(y, x)\n    return x", False),
    ],
)
def test_a_variable_made_for_a_tape_that_is_told_of_it_is_as_good_as_the_tensor(
    watched: str, after: str, expected: bool, tmp_path: Path
) -> None:
    assert converted(tmp_path, SALIENCY.format(watched=watched, after=after))["target"] is expected


MOVED = """\
def target(source, target, rate):
    for s, t in zip(source, target):
        t.{methods}
class Painter:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
    def step(self, image):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.model(image))
        self.optimizer.apply_gradients([(tape.gradient(loss, image), image)])
        image.{method}
"""


@pytest.mark.parametrize(
    ("methods", "method", "expected"),
    [
        ("assign(rate * s + (1.0 - rate) * t)", "assign(tf.clip_by_value(image, 0.0, 1.0))", True),
        ("assign(s)", "assign(0.5)", False),  # as people are to tasks
        ("assign(column=t)", "assign(column=image)", False),  # as frames of pandas have it
        ("update(rate * t)", "update(tf.exp(image))", False),
    ],
)
def test_what_gets_a_value_made_of_its_own_is_a_variable(
    methods: str, method: str, expected: bool, tmp_path: Path
) -> None:
    found = converted(tmp_path, MOVED.format(methods=methods, method=method))
    assert (found["target"], found["Painter.step"]) == (expected, expected)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("tf.random.categorical(net(x), 1)", True),
        ("tf.clip_by_global_norm(x, 1.0)[0]", True),
        ("tf.einsum('ij,jk->ik', x, tf.eye(3))", True),
        ("tf.random.uniform(x)", False),
    ],
)
def test_what_operations_take_no_numbers_for_is_a_tensor(used: str, expected: bool, tmp_path: Path) -> None:
    assert converted(tmp_path, f"def target(x, net):\n    return {used}\n")["target"] is expected
