"""What unknown code is by where it runs and by what is done with it: traced anyway, a model, an optimizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, Confidence, FunctionReport
from hybridize.facts.model import Ternary

HEAD = """\
from __future__ import annotations
from typing import List
import numpy as np
import tensorflow as tf
from elsewhere import measure, models
"""
STRATEGY = """\
strategy = tf.distribute.{name}()
def target(x: tf.Tensor):
    def step(x):
        measure.add(x)
        return tf.exp(x) * 2.0
    return strategy.run(step, args=(x,))
target(tf.ones([2]))
"""
STEP = """\
class Trainer:
    def __init__(self, model, optimizer, log):
        self.model, self.optimizer, self.log = model, optimizer, log
    def target(self, x: tf.Tensor, y: tf.Tensor):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.model(x) - y))
        grads = tape.gradient(loss, self.model.trainable_variables)
        {last}
        return loss
"""
COPIES = """\
def target(parts: {hint}, x: tf.Tensor):
    parts = parts[:]
    parts[0] = tf.exp(x)
    return parts[0] + x
"""


def report(tmp_path: Path, text: str, *, all_safe: bool = True) -> FunctionReport:
    """What is decided of the function `target`."""
    (tmp_path / "m.py").write_text(HEAD + text, encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=all_safe), repairs=False).functions
    return next(each for each in found if each.facts.qualname.endswith("target"))


def converts(tmp_path: Path, text: str) -> bool:
    """Whether `--all-safe` makes `target` hybrid."""
    return report(tmp_path, text).decision.action is Action.CONVERT_TO_HYBRID


def test_what_a_tpu_traces_anyway_says_nothing_against_a_graph(tmp_path: Path) -> None:
    assert converts(tmp_path, STRATEGY.format(name="TPUStrategy"))
    assert not converts(tmp_path, STRATEGY.format(name="MirroredStrategy"))


def test_a_program_that_may_choose_a_tpu_has_its_authors_word(tmp_path: Path) -> None:
    either = "MirroredStrategy() if measure.gpu() else tf.distribute.TPUStrategy"
    assert converts(tmp_path, STRATEGY.format(name=either))


def test_what_gets_gradients_with_a_models_variables_is_an_optimizer(tmp_path: Path) -> None:
    last = "self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))"
    made = report(tmp_path, STEP.format(last=last))
    assert made.decision.action is Action.CONVERT_TO_HYBRID
    assert any("by its use to be an optimizer" in each.message for each in made.facts.assumptions)


@pytest.mark.parametrize("last", ["self.log.keep(grads)", "self.log.keep(zip(grads, [x, y]))", "self.log.keep(loss)"])
def test_what_gets_anything_else_is_unknown(tmp_path: Path, last: str) -> None:
    assert not converts(tmp_path, STEP.format(last=last))


@pytest.mark.parametrize("hint", ["List[tf.Tensor]", "list", "'list[tf.Tensor]'", "list | None"])
def test_a_slice_of_a_declared_list_is_a_new_list(tmp_path: Path, hint: str) -> None:
    assert converts(tmp_path, COPIES.format(hint=hint))


@pytest.mark.parametrize("text", [COPIES.format(hint="np.ndarray"), COPIES.format(hint="list").replace("[:]", "")])
def test_an_array_s_slice_is_a_view_and_a_list_is_its_caller_s(tmp_path: Path, text: str) -> None:
    assert not converts(tmp_path, text)


def test_calls_that_pass_what_nobody_knows_leave_it_to_the_uses(tmp_path: Path) -> None:
    text = (
        "def target(v):\n    return v / tf.norm(v, axis=0)\ndef other(v):\n    return v.lower()\n"
        "def run(calc):\n    return target(calc.f()) + other(calc.f())\n"
    )
    found = report(tmp_path, text).facts
    assert found.candidate
    assert any("`v` is given to `tf.norm`" in each.message for each in found.assumptions)
    functions = analyze([tmp_path], Config(), repairs=False).functions
    assert not any(each.facts.candidate for each in functions if each.facts.qualname == "other")


LOSS = """\
class Model(tf.Module):
    def __init__(self, data):
        self.w, self.data = tf.Variable(tf.ones([3, 3])), data
    def elbo(self):
        y = self.data
        for _ in range(30):
            y = tf.tanh(tf.matmul(y, self.w) + 1.0)
        return tf.reduce_sum(y)
model, optimizer = Model(tf.ones([3, 3])), tf.keras.optimizers.Adam(0.1)
def target():
    return -model.elbo()
for _ in range(1000):
    optimizer.minimize(target, [model.w])
"""


def test_a_loss_that_reads_variables_is_made_hybrid_where_declared_is_enough(tmp_path: Path) -> None:
    made = report(tmp_path, LOSS).decision
    assert (made.action, made.precondition) == (Action.CONVERT_TO_HYBRID, "P7")
    assert made.confidence is Confidence.DECLARED
    assert report(tmp_path, LOSS, all_safe=False).decision.action is Action.KEEP


def test_what_makes_a_model_reads_none(tmp_path: Path) -> None:
    text = (
        "def target():\n    given = tf.keras.Input([3])\n"
        "    return tf.keras.Model(given, tf.keras.layers.Dense(2)(given) * tf.Variable(2.0))\ntarget()\n"
    )
    assert report(tmp_path, text).facts.reads_variables.value is not Ternary.YES


DERIVED = """\
class Trainer:
    def __init__(self, energy, weights, log):
        self.energy, self.weights, self.log = energy, weights, log
    def target(self, x: tf.Tensor):
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = self.energy.per_row(x), self.log.keep(x)
            loss = tf.reduce_mean(parts[0]) {more}
        return tape.gradient({taken}, x)
"""


@pytest.mark.parametrize(("more", "taken"), [("+ parts[1]", "loss"), ("* 2.0 + parts[1]", "[loss, x]")])
def test_what_a_tape_derives_was_computed_with_tensorflow(more: str, taken: str, tmp_path: Path) -> None:
    made = report(tmp_path, DERIVED.format(more=more, taken=taken))
    assert made.decision.action is Action.CONVERT_TO_HYBRID
    assert any("by its use to be a function of TensorFlow" in each.message for each in made.facts.assumptions)


def test_what_no_tape_derives_is_unknown(tmp_path: Path) -> None:
    text = DERIVED.format(more="", taken="tf.exp(x)").replace("parts[0]", "x")
    assert not converts(tmp_path, text)
    text = DERIVED.format(more="", taken="loss").replace("self.energy.per_row(x), self.log.keep(x)", "x, x")
    assert converts(tmp_path, text)
    assert not converts(tmp_path, text.replace("return", "kept = self.log.keep(x)\n        return kept,"))


CLOSURE = """\
def target(loss_of, scale: tf.Tensor):
    with tf.GradientTape() as tape:
        tape.watch(scale)
        loss = loss_of({given}) * scale
    return tape.gradient(loss, scale)
"""


@pytest.mark.parametrize(("given", "converted"), [("", False), ("scale", True)])
def test_a_closure_that_nobody_is_seen_to_pass_is_made_for_each_call(
    given: str, converted: bool, tmp_path: Path
) -> None:
    assert converts(tmp_path, CLOSURE.format(given=given)) is converted


METHODS = """\
class Trainer:
    def __init__(self, policy, log):
        self.policy, self.log = policy, log
    def target(self, x: tf.Tensor):
        y = tf.exp({called}.actions(x)) * 2.0
        return tf.reduce_sum(y) + sum(tf.reduce_sum(v) for v in self.policy.trainable_variables)
"""


def test_methods_of_a_trained_model_are_a_models(tmp_path: Path) -> None:
    assert converts(tmp_path, METHODS.format(called="self.policy"))
    assert not converts(tmp_path, METHODS.format(called="self.log").replace("actions(x)", "actions(3)"))


HINTED = """\
from typing import Callable, Optional
class Wrapper:
    def __init__(self, inner: {hint}):
        self.inner = inner
    def target(self, x: tf.Tensor):
        return tf.exp({called}(x)) * 2.0
"""


@pytest.mark.parametrize(
    "hint",
    [
        "tf.keras.Model",
        "'tf.keras.losses.Loss'",
        "Optional['tf.keras.layers.Layer']",
        "tf.keras.Model | None",
        "Callable[[tf.Tensor], tf.Tensor]",
    ],
)
def test_what_an_annotation_calls_a_model_computes(hint: str, tmp_path: Path) -> None:
    made = report(tmp_path, HINTED.format(hint=hint, called="self.inner"))
    assert made.decision.action is Action.CONVERT_TO_HYBRID
    assert any("by its use to be a `" in each.message for each in made.facts.assumptions)


OTHERS = ["Callable", "Callable[[tf.Tensor], float]", "object", "Optional[models.Thing]"]


@pytest.mark.parametrize("hint", OTHERS)
def test_any_other_callable_is_unknown(hint: str, tmp_path: Path) -> None:
    assert not converts(tmp_path, HINTED.format(hint=hint, called="self.inner").replace("(x)", "('x')"))


@pytest.mark.parametrize("hint", OTHERS)
def test_what_gets_a_tensor_and_gives_an_operand_is_a_function_of_tensorflow(hint: str, tmp_path: Path) -> None:
    made = report(tmp_path, HINTED.format(hint=hint, called="self.inner"))
    assert (made.decision.action is Action.CONVERT_TO_HYBRID) is ("float" not in hint)
    assert not converts(tmp_path, HINTED.format(hint=hint, called="float(x) * self.inner"))


SCALED = """\
class Layers:
    def __init__(self, inner):
        self.inner = inner
    def target(self, x: tf.Tensor, n):
        return {given} * tf.exp(x)
    def other(self, x: tf.Tensor):
        return tf.exp(self.inner.forward(x))
"""


@pytest.mark.parametrize(
    ("given", "converted"),
    [
        ("measure.scale(n)", True),  # the package has shown elsewhere that it computes with TensorFlow
        ("models.Scale(n)", False),  # the constructor of a class may make variables
        ("elsewhere.scale(n)", False),
        ("self.inner.scale(n)", True),  # so has the object
        ("self.scale(n)", False),
    ],
)
def test_a_package_and_an_object_show_by_some_functions_what_the_others_are(
    given: str, converted: bool, tmp_path: Path
) -> None:
    shown = "\ndef shown(x: tf.Tensor):\n    return tf.exp(measure.decay(x))\n"
    text = "import nowhere as elsewhere\n" + SCALED.format(given=given) + shown
    assert converts(tmp_path, text) is converted


HOSTS = """\
import {package}
def target(x: tf.Tensor):
    return tf.exp({package}.decay(x)) * 2.0
"""


@pytest.mark.parametrize(("package", "converted"), [("waves", True), ("scipy", False), ("gym", False)])
def test_a_package_that_works_on_the_host_does_not(package: str, converted: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, HOSTS.format(package=package)) is converted


RETURNED = """\
class Agent:
    def __init__(self):
        self.rate = tf.Variable(0.1)
    def target(self, x):
        loss = tf.reduce_sum(tf.exp(x) * 2.0)
        return {{"loss": loss, "rate": self.rate}}
def run(agent, kept):
    logs = agent.target(tf.ones([3]))
    {use}
    return kept
run(Agent(), {{}})
"""


@pytest.mark.parametrize(
    ("use", "converted"),
    [("logs['seen'] = 3", True), ("kept['logs'] = logs", False), ("kept['rate'] = logs['rate']", False)],
)
def test_what_a_caller_puts_beside_a_result_leaves_it_alone(use: str, converted: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, RETURNED.format(use=use)) is converted


@pytest.mark.parametrize(
    ("given", "converted"), [('{"loss": loss, "rate": self.rate}', True), ("[loss, self.rate]", False)]
)
def test_a_variable_that_a_library_s_callers_log_is_meant_for_its_value(
    given: str, converted: bool, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "agents"\n', encoding="utf-8")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/__init__.py").write_text("", encoding="utf-8")
    text = RETURNED.format(use="kept['last'] = logs").replace('{"loss": loss, "rate": self.rate}', given)
    assert converts(tmp_path / "agents", text) is converted
    found = analyze([tmp_path], Config(), repairs=False).functions
    assert all(each.decision.action is Action.KEEP for each in found)


DISTRIBUTED = """\
def main(strategy: tf.distribute.Strategy):
    data = models.load(strategy)
    def target(iterator):
        def step(given):
            x, y = given
            return tf.reduce_sum(tf.exp(x) * y)
        {body}
    iterator = iter(data)
    for _ in range(1000):
        target(iterator)
"""


@pytest.mark.parametrize(
    ("body", "converted"),
    [
        ("return strategy.run(step, args=(next(iterator),))", True),
        ("return strategy.run(step, (next(iterator),))", True),
        ("return step(next(iterator))", False),
        ("return strategy.run(step, args=((tf.ones([2]), next(iterator)),))", False),
    ],
)
def test_what_replicas_get_comes_of_a_data_set(body: str, converted: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, DISTRIBUTED.format(body=body)) is converted


HINTED_DATA = """\
from typing import Optional
class Trainer:
    def __init__(self, data: {hint}):
        self.data = data
    def target(self, x: tf.Tensor):
        given = iter(self.data)
        for _ in range(3):
            x = x + tf.reduce_sum(next(given)[0] * 2.0)
        return tf.exp(x)
"""


@pytest.mark.parametrize(
    ("hint", "converted"),
    [
        ("tf.data.Dataset", True),
        ("Optional[tf.data.Dataset]", True),
        ("tf.distribute.DistributedDataset", True),
        ("list", False),
        ("object", False),
    ],
)
def test_a_data_set_by_its_annotation(hint: str, converted: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, HINTED_DATA.format(hint=hint)) is converted


KEPT = """\
class Optimizer:
    def __init__(self, rate):
        self.rate, {field} = rate, None
    def target(self, x: tf.Tensor):
        step = tf.exp(x) * self.rate
        {field} = tf.reduce_mean(step)
        return step
    def last(self):
        return {read}
optimizer = Optimizer(0.1)
for _ in range(1000):
    optimizer.target(tf.ones([3]))
"""


@pytest.mark.parametrize(
    ("field", "read", "converted"),
    [
        ("self._mean", "self.rate", True),
        ("self.mean", "self.rate", False),
        ("self._mean", "self._mean", False),
        ("self._mean", "getattr(self, '_mean')", False),
        ("self._mean", "vars(self)", False),
    ],
)
def test_a_private_field_that_nobody_reads_is_seen_by_nobody(
    field: str, read: str, converted: bool, tmp_path: Path
) -> None:
    assert converts(tmp_path, KEPT.format(field=field, read=read)) is converted


HELPER = """\
def loss_of(said, y):
    score = said.distribution.score(y)
    return -tf.reduce_mean({given})
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
    def target(self, x: tf.Tensor, y: tf.Tensor):
        with tf.GradientTape() as tape:
            loss = {loss}
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss
"""


@pytest.mark.parametrize(
    ("given", "loss", "after", "is_made"),
    [
        ("score", "loss_of(self.model(x)[:, 0], y) * 2.0", "", True),
        ("y", "loss_of(self.model(x)[:, 0], y) * 2.0", "", False),
        (
            "score",
            "tf.reduce_mean(self.model(x)) + 0.0 * float(bool(loss_of(self.model(x)[:, 0], y) is None))",
            "",
            True,  # `tf.reduce_mean` computes on what it gives
        ),
        (
            "score",
            "loss_of(self.model(x)[:, 0], y)",
            "def other(told, y):\n    print(loss_of(models[0](told), y))\n",
            True,
        ),
    ],
)
def test_what_a_helper_gives_to_a_tape_is_computed_with_tensorflow(
    given: str, loss: str, after: str, is_made: bool, tmp_path: Path
) -> None:
    assert converts(tmp_path, HELPER.format(given=given, loss=loss) + after) is is_made


@pytest.mark.parametrize("also", ["", "loss_of(self.model(x)[:, 0], y)"])
def test_one_call_of_the_helper_that_is_derived_shows_it(also: str, tmp_path: Path) -> None:
    loss = "loss_of(self.model(x)[:, 0], y)"
    text = HELPER.format(given="score", loss=loss).replace("        grads", f"        {also}\n        grads")
    assert converts(tmp_path, text)


MERGED = """\
class Reader:
    def __init__(self, data: tf.data.Dataset, other):
        self.data, self.other = data, other
    def target(self, x: tf.Tensor):
        given = iter({data})
        return tf.exp(x) * tf.reduce_sum(next(given) * 2.0)
"""


@pytest.mark.parametrize(
    ("data", "converted"),
    [
        ("self.data if x.shape[0] == 2 else self.other", True),
        ("[1.0, 2.0] if x.shape[0] == 2 else self.other", False),
        ("self.other", False),
    ],
)
def test_an_unknown_iterator_beside_those_of_data_sets_is_one(data: str, converted: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, MERGED.format(data=data)) is converted


ABSTRACT = """\
import abc
class Kernel(abc.ABC):
    @abc.abstractmethod
    def scale(self, x: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError
{below}
class Model:
    def __init__(self, kernel: Kernel):
        self.kernel = kernel
    def target(self, x: tf.Tensor):
        return tf.exp(x) * self.kernel.scale(x)
class Unscaled(Kernel):
    pass
def run(which):
    model = Model(Unscaled() if which else Twice())
    for _ in range(3):
        model.target(tf.ones([2]))
run(len(models.names))
"""


@pytest.mark.parametrize(
    ("below", "converted"),
    [
        ("class Twice(Kernel):\n    def scale(self, x):\n        return x * 2.0", True),
        ("class Twice(Kernel):\n    def scale(self, x):\n        print(x)\n        return x * 2.0", False),
        ("Twice = Kernel", False),
    ],
)
def test_an_abstract_method_is_what_the_program_puts_in_its_place(below: str, converted: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, ABSTRACT.format(below=below)) is converted


@pytest.mark.parametrize(("package", "taken"), [("elsewhere.numpy", True), ("jax.numpy", False), ("cupy", False)])
def test_another_framework_is_none_of_tensorflow_by_its_use(tmp_path: Path, package: str, taken: bool) -> None:
    text = f"import {package} as xp\ndef target(x: tf.Tensor):\n    return tf.exp(xp.sin(x)) + x\n"
    found = report(tmp_path, text)
    assert (found.decision.action is Action.CONVERT_TO_HYBRID) is taken


UNKNOWN_OBJECTS = """\
class Trainer:
    def __init__(self, model, optimizer, metrics, losses, target, prior):
        self.model, self.optimizer, self.metrics = model, optimizer, metrics
        self.losses, self.other, self.prior = losses, target, prior
    def target(self, x: tf.Tensor, y):
        {body}
        return tf.reduce_sum(tf.exp(x))
"""


@pytest.mark.parametrize(
    ("body", "converted"),
    [
        ("[m.update_state(y, x) for m in self.metrics]", True),
        ("[m.update(y, x) for m in self.metrics]", False),
        ("x += tf.add_n([(m.update_state(y, x), m.result())[1] for m in self.metrics])", True),
        ("x += tf.add_n([m.result() for m in self.metrics])", False),
        ("self.optimizer.minimize(lambda: tf.exp(x), self.model.trainable_variables)", True),
        ("self.optimizer.minimize(lambda: tf.exp(x), self.model.settings)", False),
        ("[a.assign(b) for a, b in zip(self.other.variables, self.model.variables)]", True),
        ("[a.assign(b) for a, b in zip(self.other.tasks, self.model.people)]", False),
        ("self.model(y, training=True)", True),
        ("self.model(y, verbose=True)", False),
        ("self.prior.log_prob(y)", True),
        ("self.prior.log(y)", False),
        ("x += tf.add_n([f(y, self.model(y, training=True)) for f in self.losses])", True),
        ("x += tf.add_n([f(y, self.model(y)) for f in self.losses])", False),
    ],
)
def test_methods_and_keywords_show_what_an_unknown_object_is(body: str, converted: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, UNKNOWN_OBJECTS.format(body=body)) is converted


MINIMIZED = """\
class Trainer:
    def __init__(self, model, loss, optimizer):
        self.model, self.loss, self.optimizer = model, loss, optimizer
    def target(self, x: tf.Tensor, y: tf.Tensor):
        with tf.GradientTape() as tape:
            value = self.loss(y, self.model(x, training=True))
        self.optimizer.minimize(value, self.model.trainable_variables{how})
"""


@pytest.mark.parametrize(("how", "converted"), [(", tape=tape", True), ("", False)])
def test_a_loss_that_is_minimized_with_its_tape_was_computed_with_tensorflow(
    how: str, converted: bool, tmp_path: Path
) -> None:
    assert converts(tmp_path, MINIMIZED.format(how=how)) is converted


@pytest.mark.parametrize(
    ("body", "is_tensor"),
    [
        ("return model(x, training=False)", True),
        ("return model(x, verbose=False)", False),
        ("metric.update_state(x, x)", True),
        ("metric.update(x, x)", False),
        ("return model.log_prob(x)", True),
        ("return tf.image.ssim(x, x, 1.0)", True),
    ],
)
def test_what_such_objects_are_given_is_likely_a_tensor(body: str, is_tensor: bool, tmp_path: Path) -> None:
    found = report(tmp_path, f"def target(x, model, metric):\n    {body}\n").facts.parameters[0]
    assert (found.tensor is Ternary.YES) is is_tensor


def test_a_part_of_a_variable_is_assigned_by_tensorflow(tmp_path: Path) -> None:
    text = (
        "v = tf.Variable(tf.ones([3, 2]))\ndef target(x: tf.Tensor):\n"
        "    v[0].assign(tf.exp(x))\n    return v.read_value()\ntarget(tf.ones([2]))\n"
    )
    assert converts(tmp_path, text)


PASSED = """\
from distutils.version import LooseVersion
class Filter:
    def __init__(self, net, keys):
        self.net, self.keys = net, keys
    def chosen(self, seen):
        return type(seen)((key, seen[key]) for key in self.keys) if isinstance(seen, dict) else seen
    def target(self, seen, y):
        if LooseVersion(tf.__version__) < LooseVersion("2.0"):
            raise ValueError
        {body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return tf.nn.softmax(self.net(self.chosen(seen))) + tf.reshape(y, [-1])", True),
        ("return tf.reduce_mean(tf.square(self.net(y) - tf.exp(seen)))", True),
        ("a, b = self.net(seen), self.net(y)\n        return tf.nn.softmax(a) + tf.nn.softmax(b)", True),
        ("return tf.reshape(self.net.get(seen), [-1]) + tf.reshape(y, [-1])", False),
        ("return tf.reduce_sum(self.net(seen) * 2.0) + tf.reshape(y, [-1])", False),
    ],
)
def test_what_is_handed_in_and_called_computes_where_an_operation_gets_its_result(
    body: str, expected: bool, tmp_path: Path
) -> None:
    assert converts(tmp_path, PASSED.format(body=body)) is expected


PLAYER = """\
class Player:
    def __init__(self, actor, noise, optimizer):
        self.actor, self.noise, self.optimizer = actor, noise, optimizer
    def target(self, seen: tf.Tensor):
        return self.{called}(tf.expand_dims(seen, 0))[0]
    def learn(self, seen: tf.Tensor):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.actor(seen))
        grads = tape.gradient(loss, self.actor.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.actor.trainable_variables))
"""


@pytest.mark.parametrize(
    ("called", "expected"), [("actor", True), ("actor.sample", True), ("actor.save", False), ("noise", False)]
)
def test_a_field_is_a_model_where_another_method_trains_it(called: str, expected: bool, tmp_path: Path) -> None:
    assert converts(tmp_path, PLAYER.format(called=called)) is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("x - y / tape.gradient(y, x)", True),
        ("other * tape.gradient(y, x)", True),
        ("x if other else y", True),
        ("other.rate * 2.0", False),
        ("x", True),
        ("other.rate", False),
    ],
)
def test_what_comes_of_a_derivative_or_of_a_tensor_is_one(given: str, expected: bool, tmp_path: Path) -> None:
    text = (
        "def target(f, x, other):\n    with tf.GradientTape() as tape:\n        tape.watch(x)\n"
        "        y = tf.reshape(f(x), [-1])\n"
        f"    for _ in range(3):\n        x = x + 0.5 * x\n    return {given}\n"
    )
    assert converts(tmp_path, text) is expected


JUDGED = """\
class Base:
    def __init__(self, model, loss_fn, noise):
        self.model, self.loss_fn, self.noise = model, loss_fn, noise
    def learn(self, x: tf.Tensor):
        with tf.GradientTape() as tape:
            loss = self.loss_fn(self.model(x))
        return tape.gradient(loss, self.model.trainable_variables)
class Judge({base}):
    def target(self, x: tf.Tensor):
        return {given}
"""


@pytest.mark.parametrize(
    ("base", "given", "expected"),
    [
        ("Base", "self.loss_fn(tf.exp(x))", True),
        ("Base", "self.loss_fn(self.model(x))", True),
        ("Base", "self.noise(tf.exp(x))", False),
        ("Base", "self.loss_fn()", False),
        ("object", "self.loss_fn(tf.exp(x))", False),
    ],
)
def test_a_field_computes_where_another_method_or_a_base_derives_what_it_gives(
    base: str, given: str, expected: bool, tmp_path: Path
) -> None:
    assert converts(tmp_path, JUDGED.format(base=base, given=given)) is expected


@pytest.mark.parametrize(
    ("after", "expected"), [("tf.nn.relu(x)", True), ("[tf.nn.relu(x), more]", True), ("x.result()", False)]
)
def test_what_a_loop_takes_out_of_an_argument_computes_where_an_operation_gets_its_result(
    after: str, expected: bool, tmp_path: Path
) -> None:
    text = (
        "def target(x: tf.Tensor, parts):\n    more = tf.exp(x)\n"
        f"    for part in parts:\n        x = part(x)\n    return {after}\n"
    )
    assert converts(tmp_path, text) is expected


@pytest.mark.parametrize(("made", "expected"), [("time_step.TimeStep(x, x, x, x)", True), ("other.Step(x)", False)])
def test_a_named_tuple_of_a_package_keeps_what_it_is_given(made: str, expected: bool, tmp_path: Path) -> None:
    text = (
        "from tf_agents.trajectories import time_step\nfrom tf_agents.utils import other\n"
        f"def target(x: tf.Tensor, policy):\n    step = {made}\n"
        "    return tf.exp(policy.distribution(step).action.log_prob(x))\n"
    )
    assert converts(tmp_path, text) is expected
