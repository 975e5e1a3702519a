"""Functions that nobody is seen to call with tensors: by what the solved program does with their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Confidence, FunctionReport, Report

HEAD = "import dataclasses\nimport numpy as np\nimport tensorflow as tf\nfrom typing import *\n"

#: Each defines `f` (or a method of that name), and takes a tensor.
TAKES = {
    "a model that is handed in": "def f(model, x):\n    return tf.reduce_mean(model(x))\n",
    "what is mapped over": "def f(xs):\n    return tf.map_fn(lambda x: tf.exp(x) * 2.0, xs)\n",
    "what is dealt out": "def f(x):\n    return tf.dynamic_partition(x, [0, 1, 0], 2)\n",
    "what a function inside computes on": (
        "def f(x):\n    def inner(z):\n        return tf.exp(z) * 2.0\n    return inner(x) + inner(x=x)\n"
    ),
    "a model by its hint": "def f(model: tf.keras.Model, x):\n    return model(x)\n",
    "a model that the maker was given": (
        "def make(model):\n    def f(x):\n        return tf.reduce_mean(model(x) ** 2)\n    return f\n"
    ),
    "places to look up": (
        "table = tf.Variable(tf.ones([9, 3]))\ndef f(pair):\n    user, item = pair\n"
        "    return tf.nn.embedding_lookup(table, user) + tf.gather(table, item)\n"
    ),
    "a mean of what is computed": (
        "def f(model, batch):\n    x, y = batch\n    return tf.reduce_mean(tf.square(model(x) - y))\n"
    ),
    "two models, one after the other": ("def f(encoder, decoder, x):\n    return tf.nn.softmax(decoder(encoder(x)))\n"),
    "elements": "def f(tensors):\n    return [tf.reshape(t, [-1]) for t in tensors]\n",
    "parts of an object": "def f(graph):\n    return tf.gather(graph.nodes, graph.senders)\n",
    "entries": "def f(features):\n    return tf.reshape(features['image'], [-1])\n",
    "entries of what is handed on, by a model that is kept": (
        "def g(models, batch):\n    losses = []\n    for i, model in enumerate(models):\n"
        "        losses.append(tf.reduce_mean(tf.square(model.value(batch['x']))))\n    return losses\n"
        "def f(models, batch):\n    return tf.add_n(g(models, batch))\n"
    ),
    "entries of what is handed on, by an operation": (
        "def g(batch):\n    return tf.reshape(batch['image'], [-1])\ndef f(batch):\n    return g(batch)\n"
    ),
    "what a distribution of a subclass is asked for": (
        "import tensorflow_probability as tfp\nclass A:\n"
        "    def f(self, x):\n        return self.given.prob(x)[..., tf.newaxis]\n"
        "class B(A):\n    def __init__(self):\n        self.given = tfp.distributions.Normal(0.0, 1.0)\n"
    ),
    "what a model makes the logits of": (
        "import tensorflow_probability as tfp\n"
        "class Policy:\n    def __init__(self, actor):\n        self.actor = actor\n"
        "    def f(self, seen):\n        return tfp.distributions.Categorical(logits=self.actor(seen)).sample()\n"
    ),
    "what a model gets that another method trains": (
        "class Translator:\n    def __init__(self, model, optimizer):\n"
        "        self.model, self.optimizer = model, optimizer\n"
        "    def step(self, loss, tape):\n"
        "        self.optimizer.minimize(loss, self.model.trainable_variables, tape=tape)\n"
        "    def f(self, images):\n        return tf.clip_by_value(self.model(images) * 127.5, 0.0, 255.0)\n"
    ),
    "what ones are made like": "def f(real, loss):\n    return loss(tf.ones_like(real), real)\n",
    "columns": "def f(x):\n    y = x[:, 0] * x[:, 1]\n    return tf.exp(-y)\n",
    "columns beside a tensor": "one = tf.constant(1.0)\ndef f(t, y):\n    return -y[..., 1] ** 2 + one\n",
    "columns in a list": "def f(y):\n    return tf.stack([y[..., 1], -y[..., 0]], -1)\n",
    "a shape as only tensors have it": "def f(x):\n    return x.shape.as_list()[0]\n",
    "its dtype": "def f(x):\n    return tf.zeros([3], x.dtype) * x\n",
    "arguments that are passed on": "def g(x, n):\n    return tf.reshape(x, [n])\ndef f(*args):\n    return g(*args)\n",
    "asked whether it is one": "def f(x):\n    return x if isinstance(x, (list, tf.Tensor)) else [x]\n",
    "a declared result": "def f(pair) -> tf.Tensor:\n    return pair[0]\n",
    "what overrides it": (
        "class A:\n    def f(self, x):\n        raise NotImplementedError\n"
        "class B(A):\n    def f(self, x):\n        return tf.reshape(x, [-1])\n"
    ),
    "a loss of Keras, whatever tests pass": (
        "class L(tf.keras.losses.Loss):\n    def call(self, y_true, f):\n        return y_true\n"
        "    f = call\nprint(L().call([1], [2]))\n"
    ),
    "a bijector of TensorFlow Probability": (
        "import tensorflow_probability as tfp\nclass B(tfp.bijectors.Bijector):\n"
        "    def _forward(self, x):\n        return x\n    f = _forward\n"
    ),
    "the gradient of a custom gradient": (
        "@tf.custom_gradient\ndef op(x):\n    def f(dy):\n        return dy\n    return x, f\n"
    ),
    "a docstring that begins with what it returns": (
        'def f(x):\n    """Returns the norm.\n\n    Args:\n      x: A `tf.Tensor`.\n    """\n    return norm(x)\n'
    ),
    "a hint, whatever is passed": "def f(x: tf.Tensor):\n    return x\nprint(f(1.0))\n",
}
#: Each defines `f` that takes none.
TAKES_NONE = {
    "a spec or space": "def f(spec):\n    return tf.zeros(spec.shape, spec.dtype)\n",
    "a number with a default": "def f(rate=0.5):\n    return tf.exp(rate)\n",
    "columns that no TensorFlow sees": "def f(x):\n    return tf.zeros([3]), np.exp(x[:, 0])\n",
    "numbers of a distribution": (
        "import tensorflow_probability as tfp\n"
        "def f(rate):\n    return tfp.distributions.Normal(rate, 2.0 * rate).sample()\n"
    ),
    "what something unknown gets that nobody trains": (
        "class Schedule:\n    def __init__(self, rate):\n        self.rate = rate\n"
        "    def f(self, step):\n        return tf.clip_by_value(self.rate(step) * 2.0, 0.0, 1.0)\n"
    ),
    "an element": "def f(x):\n    return tf.exp(x[0]) * x[1]\n",
    "a number by its hint": "def f(n: int):\n    return tf.reshape(tf.range(9), [n]) + tf.gather(n, 0)\n",
    "a setting beside what is mapped over": "def f(n):\n    return tf.map_fn(lambda x: x * 2.0, tf.ones(3), n)\n",
    "a part of what a function inside gets": (
        "def f(config):\n    def inner(c):\n        return tf.zeros(c.size)\n    return inner(config)\n"
    ),
    "settings": "def f(config):\n    return tf.exp(config.rate) + tf.zeros(config.size)\n",
    "a number that a function keeps": (
        "def f(rate):\n    def loss(y):\n        return tf.reduce_sum(rate * y)\n    return loss\n"
    ),
    "a model": "def f(model):\n    return [tf.reshape(v, [-1]) for v in model.trainable_variables]\n",
    "a data set": "def f(data):\n    for x in data:\n        print(tf.reduce_sum(x))\n",
    "a function": "def f(g, x: int):\n    return tf.reduce_sum(g(x))\n",
    "a layer by its hint": "def f(layer: tf.keras.layers.Layer):\n    return tf.reshape(layer.kernel, [1])\n",
    "arrays that no TensorFlow sees": "def f(x):\n    return np.sum(x) + 1\nprint(f(np.ones(3)))\n",
    "arrays, and code that nobody knows": (
        "import plots\ndef f(x):\n    return plots.show(np.sum(x))\nprint(f(np.ones(3)))\n"
    ),
    "a setting of another function": (
        "def g(y, tau):\n    return tf.reduce_sum(y * tau)\n"
        "def f(options):\n    return lambda y: g(y, options['tau'])\n"
    ),
    "an entry of what is handed on, beside a tensor": (
        "def g(y, options):\n    return tf.reduce_sum(y * options['tau'])\n"
        "def f(options):\n    return g(tf.ones(3), options)\n"
    ),
    "the shape that a layer is built with": (
        "class L(tf.keras.layers.Layer):\n    def build(self, shape):\n        self.size = tf.reshape(shape[0], [1])\n"
    ),
    "a shape": "def f(shape):\n    return tf.zeros([shape[0], 3])\n",
}


def analyzed(tmp_path: Path, text: str, **options: bool) -> Report:
    (tmp_path / "program.py").write_text(HEAD + text, encoding="utf-8")
    return analyze([tmp_path], Config(all_safe=True, **options), repairs=False)


def asked(report: Report, text: str) -> FunctionReport:
    names = {"f"} if "def f(" in text else {"call", "_forward", "build"}
    return next(f for f in report.functions if f.facts.qualname.rpartition(".")[2] in names)


@pytest.mark.parametrize("name", TAKES)
def test_takes_tensors_by_assumption(tmp_path: Path, name: str) -> None:
    function = asked(analyzed(tmp_path, TAKES[name]), TAKES[name])
    assert function.facts.candidate
    if function.decision.precondition is not None and "docstring" not in name:
        assert function.decision.confidence is Confidence.ASSUMED


@pytest.mark.parametrize("name", TAKES_NONE)
def test_takes_no_tensor(tmp_path: Path, name: str) -> None:
    assert not asked(analyzed(tmp_path, TAKES_NONE[name]), TAKES_NONE[name]).facts.candidate


def test_a_sample_of_a_joint_distribution_holds_tensors(tmp_path: Path) -> None:
    text = (
        "import tensorflow_probability as tfp\nprior = tfp.distributions.JointDistributionSequential("
        "[tfp.distributions.Normal(0.0, 1.0), tfp.distributions.Normal(1.0, 1.0)])\n"
        "def f(parts):\n    return tf.exp(parts[0]) + parts[1]\nprint(f(prior.sample(3)))\n"
    )
    function = asked(analyzed(tmp_path, text), text)
    assert function.facts.candidate
    assert function.decision.confidence is Confidence.SEEN


@pytest.mark.parametrize(
    ("hint", "takes"), [("State", True), ("Optional[State]", True), ('"State"', True), ("Sizes", False)]
)
def test_a_named_tuple_is_what_its_class_says_of_the_fields(hint: str, takes: bool, tmp_path: Path) -> None:
    text = (
        "class State(NamedTuple):\n    place: tf.Tensor\n    speed: tf.Tensor\n"
        "class Sizes(NamedTuple):\n    place: int\n    speed: int\n"
        f"def f(state: {hint}, g):\n    return state.place + state.speed * 2.0\n"
    )
    assert asked(analyzed(tmp_path, text), text).facts.candidate is takes


def test_nothing_is_guessed_beside_a_tensor_that_is_known(tmp_path: Path) -> None:
    report = analyzed(tmp_path, "def f(x: tf.Tensor, y):\n    return x + tf.reshape(y, [-1])[0].shape.rank\n")
    sources = [p.source.value if p.source else None for p in asked(report, "def f(").facts.parameters]
    assert sources[0] == "type_hint"


def test_without_speculation_nothing_is_guessed(tmp_path: Path) -> None:
    text = TAKES["parts of an object"]
    assert not asked(analyzed(tmp_path, text, speculate=False), text).facts.candidate
