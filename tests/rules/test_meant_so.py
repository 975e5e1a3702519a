"""What programs do on purpose, or what ends or moves with the graph: no alarm; and what a loop surely comes to: one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config


def loudest(folder: Path, source: str, code: str, name: str = "main") -> str:
    """The highest severity of a rule's findings in a program; "none" without any."""
    (folder / f"{name}.py").write_text("import tensorflow as tf\n" + source, "utf-8")
    found = {each.severity.value for each in analyze([folder], Config()).findings if each.code == code}
    return next((each for each in ("error", "warning", "info") if each in found), "none")


COUNTS = """
traces = []
@tf.function
def step(x):
    traces.append(1)
    return x * 2.0
for i in range(5):
    step(tf.constant(float(i)))
{seen}
"""


@pytest.mark.parametrize(
    ("seen", "severity"),
    [
        ('print(f"traced {len(traces)} times")', "info"),
        ("assert len(traces) == 1", "info"),
        ('print("steps:", len(traces))', "error"),
        ('print("number of traces:", len(traces), "steps:", len(traces))\nrate = 1.0 / len(traces)', "error"),
    ],
)
def test_who_counts_traces_says_so_or_asserts_their_number(seen: str, severity: str, tmp_path: Path) -> None:
    assert loudest(tmp_path, COUNTS.format(seen=seen), "HY206") == severity


PAIRS = """
models = [tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(1)]) for _ in range(2)]
optimizers = {optimizers}
@tf.function
def step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss
for model, optimizer in zip(models, optimizers):
    {call}
"""
STEP = "step(model, optimizer, tf.ones([3, 2]))"


@pytest.mark.parametrize(
    ("optimizers", "call", "severity"),
    [
        ("[tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()]", STEP, "error"),
        ("[tf.keras.optimizers.Adam() for _ in range(2)]", STEP, "error"),
        ("[tf.keras.optimizers.Adam()] * 2", STEP, "none"),
        ("[tf.keras.optimizers.SGD(), tf.keras.optimizers.SGD()]", STEP, "info"),
        ("[tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()]", f"{STEP}\n    break", "info"),
    ],
)
def test_a_loop_over_optimizers_comes_to_the_second_one(
    optimizers: str, call: str, severity: str, tmp_path: Path
) -> None:
    """Run with TensorFlow 2.15 and 2.21: the first two raise at the second turn."""
    assert loudest(tmp_path, PAIRS.format(optimizers=optimizers, call=call), "HY256") == severity


STAGES = """
size = 4
images = tf.random.normal([16, 32, 32, 3])
@tf.function{options}
def step(x):
    return tf.reduce_mean(x) * size
for stage in range(5):
    small = tf.image.resize(images, ({side}, {side}))
    for _ in range(100):
        step(small)
        {within}
    size *= 2
"""


@pytest.mark.parametrize(
    ("side", "options", "within", "severity"),
    [
        ("size", "", "", "info"),
        ("4 + stage", "", "", "info"),
        ("8", "", "", "error"),
        ("size", "(reduce_retracing=True)", "", "error"),
        ("4 + stage", "", "size += 1", "error"),
    ],
)
def test_a_size_that_keeps_step_with_what_is_written_is_traced_anew(
    side: str, options: str, within: str, severity: str, tmp_path: Path
) -> None:
    source = STAGES.format(side=side, options=options, within=within or "pass")
    assert loudest(tmp_path, source, "HY602") == severity


SUBSETS = """
class Layer:
    def __init__(self):
        self.subset = 1.0
    def choose(self, subset):
        self.subset = subset
    def __call__(self, x):
        return x * self.subset
class Model:
    def __init__(self):
        self.layer = Layer()
        self.kept = None
    def step(self, x):
        return self.layer(x)
    def predict(self, data, subset):
        before = self.layer.subset
        self.layer.choose(subset)
{make}
        def fused(x):
            return step(x) + 1.0
        fused_fn = tf.function(fused)
        result = [fused_fn(x) for x in data]
        self.layer.choose(before)
        return result
model = Model()
for i in range(9):
    model.predict([tf.constant(1.0), tf.constant(2.0)], float(i))
"""
LOCAL = """
        step = self.step
        if len(data) > 1:
            step = tf.function(self.step)
"""
KEPT = """
        if self.kept is None:
            self.kept = tf.function(self.step)
        step = self.kept
"""


@pytest.mark.parametrize(("make", "severity"), [(LOCAL, "info"), (KEPT, "error")])
def test_a_graph_that_nobody_keeps_ends_with_its_call(make: str, severity: str, tmp_path: Path) -> None:
    assert loudest(tmp_path, SUBSETS.format(make=make), "HY602") == severity


EXPLAINED = """
class Wrapper(tf.keras.Model):
    def __init__(self, model):
        super().__init__()
        self.model = model
        {switch}
    def call(self, x):
        return tf.constant(self.model(x.numpy()))
@tf.function
def score(model: Wrapper, x: tf.Tensor):
    return tf.reduce_sum(model(x))
def explain(model, x):
    return score(Wrapper(model), x)
"""


@pytest.mark.parametrize(
    ("switch", "severity"), [("self.used = 0", "error"), ("tf.config.run_functions_eagerly(True)", "info")]
)
def test_where_an_object_has_switched_graphs_off_its_methods_run_eagerly(
    switch: str, severity: str, tmp_path: Path
) -> None:
    assert loudest(tmp_path, EXPLAINED.format(switch=switch), "HY301") == severity


ANNEALED = """
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.beta = {start}
        self.dense = tf.keras.layers.Dense(1)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.beta * tf.reduce_mean((self.dense(x) - y) ** 2)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {{"loss": loss}}
class Anneal(tf.keras.callbacks.Callback):
    def {hook}:
        {change}
net = Net()
net.compile("sgd"{eager})
net.fit(tf.ones([8, 2]), tf.ones([8, 1]), {epochs}callbacks=[Anneal()])
"""
HOOK = "on_epoch_begin(self, epoch, logs=None)"


@pytest.mark.parametrize(
    ("hook", "change", "options", "severity"),
    [
        (HOOK, "self.model.beta = epoch / 10", {}, "error"),
        ("on_train_batch_end(self, batch, logs=None)", "self.model.beta += 0.1", {"epochs": ""}, "error"),
        (HOOK, "if epoch == 5: self.model.beta = 1.0", {}, "error"),
        (HOOK, "self.model.beta.assign(epoch / 10)", {"start": "tf.Variable(0.0, trainable=False)"}, "none"),
        (HOOK, "self.model.beta = epoch / 10", {"eager": ", run_eagerly=True"}, "none"),
        (HOOK, "self.model.beta = epoch / 10", {"epochs": ""}, "none"),
        (HOOK, "self.model.beta = 0.5", {}, "none"),
        (HOOK, "self.model.beta = epoch / 10; self.model.compile('sgd')", {}, "none"),
        ("on_train_begin(self, logs=None)", "self.model.beta = float(id(self))", {}, "none"),
    ],
)
def test_what_a_callback_changes_in_fit_stays_what_it_was_in_the_graph_of_keras(
    hook: str, change: str, options: dict[str, str], severity: str, tmp_path: Path
) -> None:
    parts = {"start": "0.0", "eager": "", "epochs": "epochs=9, ", **options}
    assert loudest(tmp_path, ANNEALED.format(hook=hook, change=change, **parts), "HY602") == severity
