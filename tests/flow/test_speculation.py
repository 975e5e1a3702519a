"""Functions that nothing calls: which parameters are taken for tensors by what is done with them, and which not."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report

PROGRAM = """\
import functools
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(4)
        self.dense.build((None, 4))
    def yes_encode(self, x):
        for _ in range(10):
            x = tf.nn.relu(self.dense(x))
        return x
net = Net()
def yes_operand(x, scale):
    for _ in range(10):
        x = tf.tanh(x) * scale
    return x
def yes_through_another(batch):
    return yes_operand(tf.cast(batch, tf.float32), 2.0) + yes_helper(batch, 3)
def yes_helper(t, n):
    size = t.get_shape().as_list()
    size[0] = n
    return tf.reshape(t, size)
def yes_captured(image, p):
    return tf.cond(tf.random.uniform(()) < p, lambda: tf.image.adjust_saturation(image, 0), lambda: image)
def later_elements(data, axis):
    return [tf.reduce_sum(d, axis) for d in data]
def no_number(x):
    for _ in range(x):
        print(tf.square(x))
def later_parts(batch):
    return tf.square(batch["x"]) + tf.square(batch)
def no_list(tensors):
    return tf.add_n(tensors) + tf.concat(tensors, 0)
def later_array(x):
    return tf.square(x.astype("float32")) + tf.square(x)
def no_flag(x, training):
    if training:
        return tf.constant(x)
    return tf.nn.dropout(tf.constant(x), rate=training)
def no_function(f):
    return tf.square(f(1.0)) + tf.square(f)
def reads_host(x):
    y = tf.square(x)
    return y.numpy()
"""


def report(tmp_path: Path, **options: bool) -> Report:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    return analyze([tmp_path], Config(all_safe=True, **options), repairs=False)


def test_operands_are_tensors_and_the_assumption_is_told(tmp_path: Path) -> None:
    found = report(tmp_path)
    tensors = {
        f.facts.qualname.rpartition(".")[2]: [p.name for p in f.facts.parameters if p.tensor.value == "yes"]
        for f in found.functions
    }
    assert {name: names for name, names in tensors.items() if names} == {
        "yes_encode": ["x"],
        "yes_operand": ["x"],
        "yes_through_another": ["batch"],
        "yes_helper": ["t"],
        "yes_captured": ["image"],
        "reads_host": ["x"],
        # By what the solved program does with them: these count for candidates, and flow as unknown.
        "later_elements": ["data"],
        "later_parts": ["batch"],
        "later_array": ["x"],
    }
    converted = {f.facts.qualname for f in found.functions if f.decision.precondition == "P1"}
    assert {"Net.yes_encode", "yes_operand", "yes_through_another", "yes_captured"} <= converted
    told = [a.message for a in found.assumptions]
    assert "`image` assumed to be a tensor: `image` is given to `tf.image.adjust_saturation`" in told
    assert "`batch` assumed to be a tensor: `batch` is given to `tf.cast`" in told


def test_rules_see_the_tensors(tmp_path: Path) -> None:
    function = next(f for f in report(tmp_path).functions if f.facts.qualname == "reads_host")
    assert function.decision.precondition is None
    assert "HY301" in {s.code for s in function.statuses}


def test_without_speculation_nothing_is_taken_for_a_tensor(tmp_path: Path) -> None:
    found = report(tmp_path, speculate=False)
    assert [f.facts.qualname for f in found.functions if f.decision.precondition == "P1"] == [
        "yes_operand"
    ]  # by a call
    assert not found.assumptions


UNPACKED = """\
import tensorflow as tf
class Scaled(tf.keras.layers.Layer):
    def call(self, inputs):
        x, scale = inputs
        for _ in range(10):
            x = tf.tanh(x) * scale
        return x
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(4)
        self.build([(None, 3), (1,)])
    def call(self, inputs):
        x, scale = inputs
        for _ in range(10):
            x = tf.tanh(self.dense(x)) * scale
        return x
net = Net()
"""


def test_inputs_that_are_taken_apart_are_several_tensors(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(UNPACKED, encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True, tensorflow_version="2.15"), repairs=False)
    converted = [f.facts.qualname for f in found.functions if f.decision.precondition == "P1"]
    assert converted == ["Scaled.call", "Net.call"]


STEPS = """\
import tensorflow as tf
class Learner:
    def {name}(self, batch):
        with tf.GradientTape() as tape:
            loss = self.loss_of(batch)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.weights), self.weights))
    def looped(self, batches):
        for batch in batches:
            with tf.GradientTape() as tape:
                loss = self.loss_of(batch)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.weights), self.weights))
    def train_step_of_nothing(self, batch):
        return self.run(batch)
"""


def test_a_step_of_a_training_is_known_by_its_gradients_whatever_its_name(tmp_path: Path) -> None:
    for name in ("train_step", "advance"):
        (tmp_path / "program.py").write_text(STEPS.format(name=name), encoding="utf-8")
        found = {f.facts.qualname: f.facts for f in analyze([tmp_path], Config()).functions}
        assert found[f"Learner.{name}"].candidate
        assert any("is given to `gradient`" in each.message for each in found[f"Learner.{name}"].assumptions)
        assert not found["Learner.looped"].candidate
        assert not found["Learner.train_step_of_nothing"].candidate
