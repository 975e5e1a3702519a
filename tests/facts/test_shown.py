"""What the uses of unknown values show: what kind of object they are, that they are tensors, or that they are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.facts.test_usage import report

from hybridize.decide.model import Action
from hybridize.facts.model import Ternary

LACKING = """\
class Scale:
    def __init__(self, {init}):
        self.factor = (1.0, 2.0)
        self.factor = {init}
    def target(self, x: tf.Tensor):
        self.factor.assign(tf.reduce_mean(x))
        return x * 2.0
scale = Scale({given})
scale.target(tf.ones([3]))
"""


def test_a_method_that_a_tuple_has_not_says_nothing_beside_one_that_is_there(tmp_path: Path) -> None:
    made = report(tmp_path, LACKING.format(init="start", given="tf.Variable(1.0)"))
    assert made.decision.action is Action.CONVERT_TO_HYBRID
    assert not made.facts.assumptions
    # Alone it is what nobody knows: the tuple stands for something else.
    assert report(tmp_path, LACKING.format(init="start", given="(2.0, 3.0)")).decision.action is Action.KEEP


RESULT = """\
class Wrapper:
    def __init__(self, model, log):
        self.model, self.log = model, log
    def target(self, x: tf.Tensor):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "converted"),
    [
        ("y = self.model(x); return y, tf.reduce_mean(tf.square(y - x))", True),
        ("y = self.model(x) if x.shape[0] else x; return y, tf.exp(x), tf.square(self.model(x))", False),
        ("return self.model(x), tf.exp(x)", False),
        ("y = self.model(x); return x + 0.5 * y * tf.exp(x), y", True),
        ("y = self.log.entry(x); return y, tf.exp(x)", False),
        ("y, z = self.model(x); return y + tf.exp(z) * x", True),
        ("y, z = self.model(x); return y * x, z", True),
    ],
)
def test_what_an_operation_computes_on_is_a_tensor_as_a_result_too(body: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, RESULT.format(body=body)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


LAYER = """\
from elsewhere.layers import Lookup
class Masked(Lookup):
    def {method}(self, inputs):
        return super().{method}(inputs) * tf.cast(inputs > 0, tf.float32)
class Model:
    def __init__(self):
        self.lookup = Masked(4)
    def target(self, x: tf.Tensor):
        y = self.lookup({given})
        return tf.exp(x) * 2.0, y
"""


@pytest.mark.parametrize(("method", "given", "converted"), [("call", "x", True), ("run", "x", False)])
def test_what_has_a_method_call_and_is_called_with_tensors_is_a_layer(
    method: str, given: str, converted: bool, tmp_path: Path
) -> None:
    made = report(tmp_path, LAYER.format(method=method, given=given))
    assert (made.decision.action is Action.CONVERT_TO_HYBRID) is converted


def test_an_activation_that_nobody_knows_gives_a_tensor(tmp_path: Path) -> None:
    text = (
        "class Double(tf.keras.layers.Dense):\n    def target(self, x: tf.Tensor):\n"
        "        return self.activation(tf.matmul(x, x) * 2.0)\n"
    )
    made = report(tmp_path, text)
    assert made.decision.action is Action.CONVERT_TO_HYBRID
    assert any("by its use to be an activation" in each.message for each in made.facts.assumptions)


SHOWN = """\
def target(x: tf.Tensor, given):
    for each in given.{method}():
        x = tf.exp(x) * 2.0
    return x
target(tf.ones([3]), measure.given())
"""


@pytest.mark.parametrize(("method", "converted"), [("items", True), ("as_list", True), ("advance", False)])
def test_some_methods_show_what_they_are_of(method: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, SHOWN.format(method=method)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


KEEPS = """\
from tensorflow.keras import backend
class Masks:
    def __init__(self):
        self.kept = backend.NoSuchCache()
    def target(self, x: tf.Tensor):
        mask = self.kept.{method}("mask", tf.exp(x))
        return x * mask
Masks().target(tf.ones([3]))
"""


@pytest.mark.parametrize(("method", "taken"), [("blurred", True), ("setdefault", False)])
def test_a_class_that_a_library_is_not_known_to_have_may_keep_what_it_gets(
    method: str, taken: bool, tmp_path: Path
) -> None:
    assumed = [each.message for each in report(tmp_path, KEEPS.format(method=method)).facts.assumptions]
    assert any("to be a function of TensorFlow" in each for each in assumed) is taken
    assert any("without side effect" in each for each in assumed) is not taken


STEP = """\
optimizer = tf.keras.optimizers.Adam(0.1)
def target(model, data: tf.data.Dataset):
    for x in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square({loss}))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
target(measure.model(), tf.data.Dataset.from_tensor_slices(tf.ones([4, 3])).batch(2))
"""


def test_what_is_called_or_trained_is_no_tensor(tmp_path: Path) -> None:
    made = report(tmp_path, STEP.format(loss="model(x)"))
    assert made.facts.parameters[0].tensor is Ternary.NO
    assert (made.decision.action, made.decision.precondition) == (Action.CONVERT_TO_HYBRID, "P7")
    assert not any("no literal" in each.message for each in made.facts.assumptions)


def test_what_may_be_called_or_not_may_be_a_tensor(tmp_path: Path) -> None:
    text = "def target(x: tf.Tensor, f):\n    y = f(x) if callable(f) else f\n    return tf.exp(x) * y\n"
    asked, called = report(tmp_path, text).facts, report(tmp_path, text.replace("callable(f)", "f")).facts
    assert asked.parameters[1].tensor is not Ternary.NO
    assert called.parameters[1].tensor is Ternary.NO


CALLED = "def target(model: {hint}, x: tf.Tensor):\n    return model(x)\n"


def test_what_is_called_with_a_tensor_computes_if_it_is_a_model(tmp_path: Path) -> None:
    hinted = report(tmp_path, CALLED.format(hint="tf.keras.Model")).facts
    assert hinted.tensor_computation.value is Ternary.YES
    assert any("assumed to compute with TensorFlow" in each.message for each in hinted.assumptions)
    assert report(tmp_path, CALLED.format(hint="object")).facts.tensor_computation.value is Ternary.UNKNOWN


PENALTY = """\
{made}
x = tf.ones([8, 3])
def target():
    return tf.reduce_mean(tf.square({call}))
for _ in range(1000):
    target()
"""


def test_a_module_s_variables_are_read_where_it_is_called(tmp_path: Path) -> None:
    model = "model = tf.keras.Sequential([tf.keras.layers.Dense(3) for _ in range(9)])\nmodel.build([8, 3])"
    made = report(tmp_path, PENALTY.format(made=model, call="model(x)"))
    assert made.facts.reads_variables.value is Ternary.YES
    plain = report(tmp_path, PENALTY.format(made="scale = tf.constant(2.0)", call="x * scale"))
    assert plain.facts.reads_variables.value is Ternary.NO


GAUSSIAN = """\
import gpflow
data = (tf.ones([8, 1]), tf.ones([8, 1]))
class Model(gpflow.models.GPModel, gpflow.models.ExternalDataTrainingLossMixin):
    def __init__(self):
        super().__init__(gpflow.kernels.Matern32(), gpflow.likelihoods.Gaussian(), num_latent_gps=1)
        self.log = []
    def maximum_log_likelihood_objective(self, data):
        x, y = data
        {noted}
        return tf.reduce_sum(self.kernel(x) * y)
model, optimizer = {model}, tf.keras.optimizers.Adam(0.1)
loss = model.training_loss_closure(data)
def target():
    optimizer.minimize(loss, model.trainable_variables)
for _ in range(100):
    target()
"""


@pytest.mark.parametrize(
    ("model", "noted", "converted"),
    [
        ("Model()", "pass", True),
        ("Model()", "self.log.append(x)", False),
        ("gpflow.models.SVGP(gpflow.kernels.Matern32(), gpflow.likelihoods.Gaussian())", "pass", True),
    ],
)
def test_gpflow_s_losses_are_what_the_project_defines(model: str, noted: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, GAUSSIAN.format(model=model, noted=noted)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


APPLIED = """\
class Agent:
    def __init__(self, network, optimizer):
        self.network, self.optimizer = network, optimizer
    def target(self, x: tf.Tensor):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.network(x)))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self.network.trainable_variables), 5.0)
        {last}
        return loss
"""


@pytest.mark.parametrize(
    ("last", "converted"),
    [
        ("self.optimizer.apply(gradients, self.network.trainable_variables)", True),
        ("for g, v in zip(gradients, self.network.trainable_variables): v.assign(v - g)", True),
        ("self.optimizer.apply(loss, self.network.trainable_variables)", False),
        ("self.optimizer.apply(gradients)", False),
        ("self.optimizer.keep(gradients, loss)", False),
        ("for g in gradients: self.optimizer.assign(g)", False),
    ],
)
def test_what_applies_gradients_is_an_optimizer(last: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, APPLIED.format(last=last)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


BESIDE = """\
def fit(owner, data: tf.data.Dataset, optimizer):
    model, log = owner.model, owner.log
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    def target(x: tf.Tensor):
        {last}
        return tf.reduce_max(x)
    for x in data:
        step(x)
        target(x)
"""


@pytest.mark.parametrize(("last", "converted"), [("model(x)", True), ("log(x)", False)])
def test_a_model_that_a_function_beside_trains_is_one_here(last: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, BESIDE.format(last=last)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


NAMED = """\
def target(x: tf.Tensor, {given}):
    {how}
    return activation(tf.square(x))
"""


@pytest.mark.parametrize(
    ("given", "how", "converted"),
    [
        ("activation: str", "activation = tf.keras.activations.get(activation)", True),
        ("activation: str", "activation = {'a': measure.first, 'b': measure.second}[activation]", False),
        ("activation: str", "activation = tf.keras.layers.deserialize(activation)", False),
    ],
)
def test_an_activation_by_a_name_that_nobody_knows_is_one(
    given: str, how: str, converted: bool, tmp_path: Path
) -> None:
    made = report(tmp_path, NAMED.format(given=given, how=how)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


ASKED = """\
def target(x: tf.Tensor, scale: {hint}):
    if {asked}:
        scale = tf.constant(scale, dtype=x.dtype)
    return x * scale * tf.exp(x)
"""


@pytest.mark.parametrize(
    ("hint", "asked", "converted"),
    [
        ("float | tf.Tensor", "not tf.is_tensor(scale)", True),
        ("float | tf.Tensor", "not isinstance(scale, tf.Tensor)", True),
        ("float | tf.Tensor", "isinstance(scale, float)", True),
        ("float | tf.Tensor", "not isinstance(scale, str)", False),
        ("float | tf.Tensor", "tf.is_tensor(scale)", False),
        ("tf.Tensor", "not isinstance(scale, tf.Variable)", False),
    ],
)
def test_what_a_test_of_its_class_lets_through_is_no_tensor_of_a_graph(
    hint: str, asked: str, converted: bool, tmp_path: Path
) -> None:
    made = report(tmp_path, ASKED.format(hint=hint, asked=asked)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


MAPPED = """\
def target(x: tf.Tensor, given):
    made = type(given)({what})
    return tf.exp(x) * 2.0 + made["a"] * x
"""


@pytest.mark.parametrize(
    ("what", "converted"),
    [
        ("(k, v[:, None]) for k, v in given.items()", True),
        ("v[:, None] for v in given", False),
        ("given.values", False),
    ],
)
def test_what_has_items_is_no_array(what: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, MAPPED.format(what=what))
    assert ("HY358" in [status.code for status in made.statuses]) is not converted


HINTED = """\
def target({params}):
    total = tf.zeros([3])
    for each in parts:
        {body}
    return total
"""


@pytest.mark.parametrize(
    ("params", "body", "converted"),
    [
        ("*parts: tf.Tensor", "total = total + tf.exp(each)", True),
        ("x: tf.Tensor, *parts: tf.Tensor", "total = total + tf.exp(each) * x", True),
        ("*parts: tf.Tensor", "total = total + each.numpy()", False),
        ("*parts: tf.Tensor", "total = total + tf.exp(measure.log(each) or each)", False),
    ],
)
def test_further_arguments_are_what_their_annotation_says(
    params: str, body: str, converted: bool, tmp_path: Path
) -> None:
    made = report(tmp_path, HINTED.format(params=params, body=body)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


LEAVES = """\
def target(tree: dict[str, tf.Tensor]):
    return {how}(lambda leaf: {body}, tree)
"""


@pytest.mark.parametrize(
    ("how", "body", "converted"),
    [
        ("tf.nest.map_structure", "tf.exp(leaf) * 2.0", True),
        ("tf.nest.map_structure", "leaf", False),
        ("tf.nest.map_structure", "leaf.numpy()", False),
    ],
)
def test_what_is_done_to_leaves_is_done_by_the_function(how: str, body: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, LEAVES.format(how=how, body=body)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted


SLICED = """\
def target(x: tf.Tensor, n: int):
    y = tf.exp(x) * 2.0
    return {given}
"""


@pytest.mark.parametrize(
    ("given", "converted"),
    [
        ("tuple(y.shape[:2])", False),
        ("tuple(y.shape[: y.shape.rank - n])", False),
        ("tf.reshape(y, (-1, *y.shape[1:]))", True),
        ("y * float(y.shape[1:][0])", True),
    ],
)
def test_a_part_of_a_shape_of_any_rank_is_a_shape(given: str, converted: bool, tmp_path: Path) -> None:
    made = report(tmp_path, SLICED.format(given=given)).decision.action
    assert (made is Action.CONVERT_TO_HYBRID) is converted
