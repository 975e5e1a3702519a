"""What changes by people in public histories showed to be reported wrongly, or not at all: programs of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import ForkServer, Program
from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report

HEAD = "import numpy as np\nimport tensorflow as tf\n"


def report_of(source: str, folder: Path) -> Report:
    (folder / "main.py").write_text(HEAD + source, encoding="utf-8")
    return analyze([folder], Config(all_safe=True), repairs=False)


def found(source: str, code: str, folder: Path) -> set[int]:
    """The lines (from 1, without the head) at which a rule reports something."""
    return {each.line - 2 for each in report_of(source, folder).findings if each.code == code}


def codes(source: str, function: str, folder: Path) -> set[str]:
    """The codes of a function's statuses."""
    report = report_of(source, folder)
    return {s.code for f in report.functions if f.facts.qualname == function for s in f.statuses}


def test_a_signature_concerns_the_calls_of_its_own_graph(tmp_path: Path) -> None:
    source = """\
def double(x):
    return x * 2
small = tf.function(double, input_signature=[tf.TensorSpec([2], tf.float32)])
any_size = tf.function(double)
small(tf.ones(2))
any_size(tf.ones(3))
small(tf.ones(4))
"""
    assert found(source, "HY270", tmp_path) == {7}


def test_each_of_two_signatures_is_asked_for_its_own_calls(tmp_path: Path) -> None:
    source = """\
def double(x):
    return x * 2
flat = tf.function(double, input_signature=[tf.TensorSpec([None], tf.float32)])
square = tf.function(double, input_signature=[tf.TensorSpec([None, None], tf.float32)])
flat(tf.ones(2))
square(tf.ones((2, 2)))
square(tf.ones(4))
"""
    assert found(source, "HY270", tmp_path) == {7}


def test_an_unknown_argument_arrives_as_its_signature_says(tmp_path: Path) -> None:
    source = """\
import somewhere
@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
def flat(x):
    return tf.reshape(x, [x.shape[0] * x.shape[1]])
flat(somewhere.load())
"""
    assert found(source, "HY274", tmp_path) == {4}
    (flat,) = report_of(source, tmp_path).functions
    assert [(t.kind, t.dtype, t.shape) for t in flat.facts.parameters[0].tensor_types] == [
        ("dense", "float32", (None, 3))
    ]


def test_layers_within_get_tensors_of_other_sizes_than_the_signature_leaves_open(tmp_path: Path) -> None:
    source = """\
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(10, 4)
        self.dense = [tf.keras.layers.Dense(n) for n in (8, 16)]
    def call(self, words):
        x = self.embed(words)
        for dense in self.dense:
            x = dense(x)
        return x
net = Net()
@tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, 3], tf.float32)])
def step(words, y):
    return tf.reduce_mean(net(words)) + tf.reduce_mean(y)
for n in (3, 4):
    step(tf.zeros([2, n], tf.int32), tf.ones([2, 3]))
"""
    assert found(source, "HY274", tmp_path) == set()


STATE = """\
import web
scale = 1.0
def scaled(x):
    return tf.tanh(x) * scale
{route}
def change(value):
    global scale
    scale = value
{other}
def serve():
    for _ in range(10):
        scaled(tf.ones(3))
{end}
"""


@pytest.mark.parametrize(
    ("parts", "stale"),
    [
        ({"route": "@web.route('/scale')", "other": "@web.route('/')", "end": ""}, True),
        ({"route": "", "other": "", "end": "web.Slider(callback=change)\nweb.run(serve)"}, True),
        ({"route": "", "other": "", "end": "change(2.0)\nserve()"}, False),
        ({"route": "", "other": "", "end": "change(2.0)\nweb.run(serve)"}, False),
    ],
    ids=["routes", "callbacks", "set once", "set before"],
)
def test_what_routes_and_callbacks_write_changes_at_any_time(
    parts: dict[str, str], stale: bool, tmp_path: Path
) -> None:
    assert ("HY602" in codes(STATE.format(**parts), "scaled", tmp_path)) is stale


KERNEL = """\
def setup(k):
    k = np.asarray(k, dtype=np.float32)
    k /= np.sum(k)
    return k
taps = {taps}
@tf.function
def blur(x):
    return x * setup(taps)
blur(tf.ones([4, 4]))
"""


@pytest.mark.parametrize(("taps", "changed"), [("[1, 3, 3, 1]", False), ("np.ones(4, np.float32)", True)])
def test_an_array_that_is_made_of_a_list_is_new(taps: str, changed: bool, tmp_path: Path) -> None:
    assert bool(found(KERNEL.format(taps=taps), "HY206", tmp_path)) is changed


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("name = input()\nexec('from costs.' + name + ' import cost')", False),
        ("import sys\ncost = eval(sys.argv[1])", False),
        ("exec('def cost(x):\\n    return x if x > 0 else -x')", True),
        ("cost = eval('lambda x: x if x > 0 else -x')", True),
        ("exec(open('costs.txt').read())", True),
    ],
    ids=["an import", "a name", "a definition", "a lambda", "a file"],
)
def test_code_that_only_names_functions_has_their_source(made: str, told: bool, tmp_path: Path) -> None:
    source = f"{made}\n@tf.function\ndef step(x):\n    return cost(x) * 2\nstep(tf.ones(()))\n"
    assert bool(found(source, "HY323", tmp_path)) is told


@pytest.mark.parametrize(
    ("chain", "told"),
    [
        ("[tfb.Exp(), tfb.Shift(1.0)]", True),
        ("[joint.experimental_default_event_space_bijector(), tfb.Exp()]", False),
    ],
    ids=["tensors", "a structure"],
)
def test_what_a_chain_of_bijectors_gives(chain: str, told: bool, tmp_path: Path) -> None:
    source = f"""\
import tensorflow_probability as tfp
tfb, tfd = tfp.bijectors, tfp.distributions
joint = tfd.JointDistributionSequential([tfd.Normal(0., 1.), tfd.Normal(0., 1.)])
move = tfb.Chain({chain})
@tf.function
def step(z):
    return tf.add_n([a * b for a, b in zip(move.forward(z), (1.0, 2.0))])
step(tf.ones(2))
"""
    assert bool(found(source, "HY342", tmp_path)) is told


@pytest.mark.parametrize("method", ["__call__", "scaled"])
def test_an_array_that_an_object_keeps_stays_one_when_the_object_is_called(method: str, tmp_path: Path) -> None:
    source = f"""\
class Block:
    def __init__(self):
        self.taps = np.outer([1, 3, 3, 1], [1, 3, 3, 1])
        self.scale = 1 / np.sqrt(2.0)
    def {method}(self, x):
        return (x + tf.constant(self.taps[::-1], tf.float32)) * self.scale * np.sum(self.taps)
class Trainer:
    def __init__(self):
        self.block = Block()
    @tf.function
    def step(self, x):
        return self.block{"" if method == "__call__" else ".scaled"}(x)
Trainer().step(tf.ones((4, 4)))
"""
    assert not {each.code for each in report_of(source, tmp_path).findings} & {"HY340", "HY346", "HY348"}


def test_a_tensor_that_an_object_gets_within_the_call_is_symbolic_when_the_object_is_called(tmp_path: Path) -> None:
    source = """\
class Block:
    def __init__(self, taps):
        self.taps = taps
    def __call__(self, x):
        return x * np.sum(self.taps)
@tf.function
def step(x):
    block = Block(x * 2)
    return block(x)
step(tf.ones((4, 4)))
"""
    assert found(source, "HY340", tmp_path) == {5}


def test_under_xla_a_number_that_python_knows_divides_and_indexes_as_in_eager_code(tmp_path: Path) -> None:
    source = """\
@tf.function(jit_compile=True)
def fold(x, n):
    odd = tf.math.mod(n, 2)
    rest = tf.math.mod(n, tf.size(x))
    for i in range(1, x.shape[1]):
        odd += tf.cast(tf.gather(x, [i - 1], axis=1)[0, 0], tf.int32)
    return odd + rest + tf.cast(tf.gather(x, n, axis=1)[0], tf.int32)
fold(tf.ones((2, 3)), tf.constant(1))
"""
    assert found(source, "HY273", tmp_path) == {4, 7}


@pytest.mark.parametrize(("release", "is_told"), [("2.11", False), ("2.18", True)])
def test_keras_2_makes_tensors_of_what_a_metric_results_in(release: str, is_told: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"tensorflow=={release}\n")
    source = """\
class Seen(tf.keras.metrics.Metric):
    def __init__(self):
        super().__init__()
        self.number = self.add_weight(shape=(), name="number")
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.number.assign_add(1.0)
    def result(self):
        if self.number == 0.0:
            return 0.0
        return 1.0 / self.number
seen = Seen()
print(float(seen.result()) / 2, isinstance(seen.result(), float))
"""
    assert ("HY349" in codes(source, "Seen.result", tmp_path)) is is_told


def test_the_argument_of_an_object_that_is_called_is_named_and_not_the_object(tmp_path: Path) -> None:
    source = """\
class Cut(tf.keras.layers.Layer):
    @tf.function
    def call(self, inputs):
        return tf.reduce_sum(inputs) * 2.0
x = tf.ones((100, 3))
cut = Cut()
for n in range(1, 100):
    cut(x[:n])
"""
    told = [each.message for each in report_of(source, tmp_path).findings if each.code == "HY106"]
    assert [message.split()[0] for message in told] == ["`inputs`"]


def test_a_helper_that_is_registered_for_files_and_kept_by_no_layer_is_never_written(tmp_path: Path) -> None:
    registered = '@tf.function\n@tf.keras.utils.register_keras_serializable("own")\n'
    source = f"""\
{registered}def area(x):
    return x * 2.0
{registered}def bump(x):
    return tf.exp(-area(x))
{registered}def far(a, b):
    return tf.reduce_mean(area(a) - b, -1)
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(2, activation=bump)])
model.compile("sgd", loss="mse", metrics=[far])
model.fit(tf.ones((2, 2)), tf.ones((2, 2)))
"""
    told = {
        f.function.rpartition(":")[2]: f.severity for f in report_of(source, tmp_path).findings if f.code == "HY281"
    }
    assert {name: str(severity) for name, severity in told.items()} == {"area": "info", "bump": "error", "far": "error"}


def test_a_loss_that_no_file_has_made_anew_may_be_a_graph(tmp_path: Path) -> None:
    source = """\
@tf.function
def far(a, b):
    return tf.reduce_mean(tf.abs(a - b), -1)
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(2)])
model.compile("sgd", loss=far)
model.fit(tf.ones((2, 2)), tf.ones((2, 2)))
model.save("{path}")
tf.keras.models.load_model("{path}", custom_objects={"far": far}{compiled})
"""

    def severity(path: str, compiled: str = "") -> set[str]:
        text = source.replace("{path}", path).replace("{compiled}", compiled)
        return {str(f.severity) for f in report_of(text, tmp_path).findings if f.code == "HY281"}

    assert severity("model.keras") == {"error"}
    assert severity("model.keras", ", compile=False") == severity("model.h5") == {"info"}


def test_the_length_of_an_open_size_is_a_tensor_to_autograph(tmp_path: Path) -> None:
    source = """\
@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def rows(x):
    return tf.reshape(x, [len(x), x.shape[0] * 2])
rows(tf.ones([3, 2]))
"""
    assert found(source, "HY274", tmp_path) == {3}
    messages = [each.message for each in report_of(source, tmp_path).findings if each.code == "HY274"]
    assert all("`.shape`" in message for message in messages)


@pytest.mark.parametrize(("decorator", "is_told"), [("@tf.function\n", False), ("", True)])
def test_what_a_graph_makes_hybrid_is_traced_with_it(decorator: str, is_told: bool, tmp_path: Path) -> None:
    source = f"""\
{decorator}def outer(x):
    @tf.function
    def inner(y):
        return tf.tanh(y) + 1.0
    return inner(x) * inner(x + 1.0)
for i in range(9):
    outer(tf.ones(3))
"""
    assert bool(found(source, "HY102", tmp_path)) is is_told


RELAXED = """\
import tensorflow as tf
class Mass:
    def weigh(self, xs):
        return self._weights(tf.stack(xs, axis=1))
    @staticmethod
    @tf.function(AUTOGRAPH)
    def _weights(masses):
        weight = tf.zeros_like(masses[:, 0])
        for i in range(1, masses.shape[1]):
            weight += masses[:, i] * weight
        return weight
"""


def test_what_only_public_functions_call_is_run_by_who_imports_them(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text('from setuptools import setup\nsetup(name="mass", packages=["mass"])\n', "utf-8")
    (tmp_path / "mass").mkdir()
    source = RELAXED.replace("AUTOGRAPH", "reduce_retracing=True")
    (tmp_path / "mass" / "__init__.py").write_text(source, "utf-8")
    told = [f for f in analyze([tmp_path], Config()).findings if f.code == "HY274"]
    assert [(f.line, f.severity.value) for f in told] == [(9, "warning")]


@pytest.mark.parametrize(("options", "is_offered"), [("", True), (", autograph=False", False)])
def test_a_loop_over_a_size_of_tensorflow_needs_autograph(options: str, is_offered: bool, tmp_path: Path) -> None:
    calls = "for n in range(2, 6):\n    Mass().weigh([tf.ones(3)] * n)\n"
    source = RELAXED.replace("AUTOGRAPH", f"reduce_retracing=True{options}") + calls
    (tmp_path / "main.py").write_text(source, "utf-8")
    report = analyze([tmp_path], Config())
    assert any(f.code == "HY274" for f in report.findings)
    repaired = [change.code for bundle in report.repairs for change in bundle.repairs]
    assert ("HY814" in repaired) is is_offered


def test_a_size_that_an_object_keeps_is_the_same_at_each_of_its_calls(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text('from setuptools import setup\nsetup(name="cut", packages=["cut"])\n', "utf-8")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "__init__.py").write_text(
        """\
import tensorflow as tf
class Cut(tf.keras.Model):
    def __init__(self, size: int):
        super().__init__()
        self.size = size
    def prepare(self):
        return self([tf.random.normal([1, self.size]), tf.ones([1, self.size])])
    def prepare_for(self, size: int):
        return self([tf.random.normal([1, size]), tf.ones([1, size])])
    @tf.function
    def call(self, inputs):
        first, second = inputs
        return tf.reduce_sum(first * second) * 2.0
""",
        "utf-8",
    )
    told = [f.line for f in analyze([tmp_path], Config()).findings if f.code == "HY106"]
    assert told == [9]


def test_relaxed_retracing_does_nothing_beside_a_signature(tmp_path: Path) -> None:
    source = """\
@tf.function(reduce_retracing=True, input_signature=[tf.TensorSpec([None], tf.float32)])
def double(x):
    return x * 2.0
@tf.function(reduce_retracing=True)
def triple(x):
    return x * 3.0
for n in range(9):
    double(tf.ones(n))
    triple(tf.ones(n))
"""
    assert found(source, "HY271", tmp_path) == {1}


DISTRIBUTED = """\
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
data = tf.data.Dataset.from_tensor_slices(tf.ones([8, 3])).batch(4)
shared = strategy.experimental_distribute_dataset(data)
@tf.function(input_signature=[SPEC])
def step(x):
    return strategy.run(tf.reduce_sum, args=(x,))
def fit(rows):
    for i, x in enumerate(rows):
        step(x)
"""
SPEC = "tf.TensorSpec([None, 3], tf.float32)"
FITS = {
    "values of replicas": (SPEC, "fit(shared)", True),
    "a batch for all of them": (SPEC, "fit(data)", False),
    "the spec of the strategy's dataset": ("shared.element_spec", "fit(shared)", False),
}


@pytest.mark.parametrize(("spec", "call", "is_told"), FITS.values(), ids=FITS)
def test_a_spec_of_one_tensor_takes_no_values_of_replicas(spec: str, call: str, is_told: bool, tmp_path: Path) -> None:
    source = DISTRIBUTED.replace("SPEC", spec) + call + "\n"
    assert bool(found(source, "HY270", tmp_path)) is is_told


@pytest.mark.tensorflow
@pytest.mark.parametrize(("spec", "call", "is_told"), FITS.values(), ids=FITS)
def test_tensorflow_refuses_values_of_replicas_for_a_spec_of_one(
    server: ForkServer, spec: str, call: str, is_told: bool
) -> None:
    devices = (
        "tf.config.set_logical_device_configuration("
        'tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)\n'
    )
    program = HEAD + devices + DISTRIBUTED.replace("SPEC", spec) + call + "\n"
    ran = server.run(Program.single(program))
    assert any("PerReplica" in str(each) for each in ran.differences if each.where == "exception") is is_told


KEPT = """\
class Model(tf.Module):
    def __init__(self):
        self.kept = None
    def forward(self, x):
        self.kept = x * 2.0
        return self.kept
    @tf.function
    def step(self, x):
        return self.forward(x) + 1.0
model = Model()
for i in range(3):
    model.step(tf.ones(2))
    BETWEEN
    print(model.kept)
"""


@pytest.mark.parametrize(("between", "is_left"), [("model.forward(tf.ones(2))", False), ("pass", True)])
def test_eager_code_may_write_anew_what_a_trace_has_left(between: str, is_left: bool, tmp_path: Path) -> None:
    source = KEPT.replace("BETWEEN", between)
    told = [f.message for f in report_of(source, tmp_path).findings if f.code == "HY601"]
    assert any("read outside of the graph" in message for message in told) is is_left


FOLDS = """\
def train(rate):
    model = MAKES
    @tf.function
    def step(x):
        return model(x) * rate
    for _ in range(2):
        step(tf.ones((1, 2)))
model_of_all = tf.keras.Sequential([tf.keras.layers.Dense(2)])
for i in range(9):
    train(tf.constant(0.1))
"""


@pytest.mark.parametrize(("makes", "level"), [("tf.keras.layers.Dense(2)", "info"), ("model_of_all", "warning")])
def test_a_graph_of_what_is_made_beside_it_cannot_be_kept(makes: str, level: str, tmp_path: Path) -> None:
    told = [f for f in report_of(FOLDS.replace("MAKES", makes), tmp_path).findings if f.code == "HY102"]
    assert [f.severity.value for f in told] == [level]


@pytest.mark.parametrize(("steps", "told"), [(20, True), (500, False)])
def test_a_graph_for_each_model_that_wins_back_its_trace_is_not_told(steps: int, told: bool, tmp_path: Path) -> None:
    source = f"""
import tensorflow as tf
for rate in [0.1, 0.01, 0.001, 0.0001]:
    w = tf.Variable(1.0)
    @tf.function
    def step():
        w.assign_sub(rate * (w - 1.0))
    for _ in range({steps}):
        step()
"""
    assert any(f.code == "HY102" for f in report_of(source, tmp_path).findings) is told
