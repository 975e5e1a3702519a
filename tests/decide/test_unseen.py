"""What readers of unseen projects found wrong in default conversions, as programs of our own."""

from __future__ import annotations

from pathlib import Path

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

EPOCHS = """\
import tensorflow as tf
w = tf.Variable(1.0)
optimizer = tf.keras.optimizers.SGD()
data = tf.data.Dataset.from_tensor_slices(tf.ones((100, 3))).batch(10)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x * w) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
def train(epochs):
    loss = tf.constant(0.0)
    for epoch in tf.range(1, epochs + 1):
        for x in data:
            loss = step(x)
        if epoch % 10 == 0:
            tf.print(loss)
train(40)
"""


def found(folder: Path, source: str, config: Config | None = None) -> dict[str, FunctionReport]:
    """The reports on the functions of a program, by name."""
    (folder / "main.py").write_text(source, "utf-8")
    return {f.facts.qualname: f for f in analyze([folder], config or Config()).functions}


def test_a_loop_over_data_whose_steps_are_graphs_gains_nothing(tmp_path: Path) -> None:
    """Measured: 7.4 s for ten epochs with graphs as steps, 12.7 s with a graph around the loop, too."""
    report = found(tmp_path, EPOCHS)["train"]
    assert report.decision.action is Action.KEEP
    assert any("steps over a data set are graphs already" in status.message for status in report.statuses)
    assert found(tmp_path, EPOCHS, Config(all_safe=True))["train"].decision.action is Action.KEEP


OWN_GRADIENT = """\
import tensorflow as tf
w = tf.Variable(tf.ones((3, 3)))
@tf.custom_gradient
def clipped(x):
    def gradient(dy):
        return dy * tf.ones(x.shape)
    return tf.identity(x), gradient
def step(x):
    with tf.GradientTape() as tape:
        y = x
        for _ in range(20):
            y = tf.tanh(tf.matmul(y, w)) + tf.sin(y)
        loss = tf.reduce_mean(clipped(y))
    w.assign_sub(tape.gradient(loss, w) * 0.1)
    return loss
x = tf.ones((1, 3))
for i in range(40):
    step(x)
    x = tf.concat([x, x[-1:]], 0)
"""


def test_a_gradient_of_ones_own_that_reads_shapes_wants_them_known(tmp_path: Path) -> None:
    """Under a relaxed shape `tf.ones(x.shape)` raises when the gradient is asked for."""
    assert found(tmp_path, OWN_GRADIENT)["step"].decision.action is Action.KEEP
    fine = OWN_GRADIENT.replace("tf.ones(x.shape)", "tf.ones_like(x)")
    assert found(tmp_path, fine)["step"].decision.action is Action.CONVERT_TO_HYBRID


RATE = """\
import tensorflow as tf
w = tf.Variable(tf.ones([8, 8]))
optimizer = tf.keras.optimizers.SGD(0.1)
def step(x):
    with tf.GradientTape() as tape:
        h = x
        for _ in range(20):
            h = tf.nn.relu(tf.matmul(h, w)) + tf.sin(h)
        loss = tf.reduce_mean(h)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
for epoch in range(100):
    {setting}
    for _ in range(100):
        step(tf.ones([4, 8]))
"""


def test_a_rate_that_an_optimizer_keeps_in_python_stays_what_it_was_when_traced(tmp_path: Path) -> None:
    """Run with the SGD of Keras 2: 0.1, 0.098, 0.091 for the epochs eagerly, 0.1 for all in a graph."""
    hyper = RATE.replace("{setting}", 'optimizer._set_hyper("learning_rate", tf.constant(0.1) / (epoch + 1))')
    assert found(tmp_path, hyper)["step"].decision.action is Action.KEEP
    assigned = RATE.replace("{setting}", "optimizer.learning_rate = 0.1 / (epoch + 1)")
    assert found(tmp_path, assigned)["step"].decision.action is Action.CONVERT_TO_HYBRID
