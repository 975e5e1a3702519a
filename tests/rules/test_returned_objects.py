"""HY350: results of TensorFlow Probability, by the measured table, and other objects that do not come back."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

PROGRAM = """\
import collections
import tensorflow as tf
import tensorflow_probability as tfp
tfd, tfb = tfp.distributions, tfp.bijectors
v = tf.Variable(1.0)
made_before = {{"prior": tfd.Normal(v, 1.0)}}
layer = tfp.layers.DistributionLambda(lambda y: tfd.Normal(y, 1.0))
model = tf.keras.Sequential([tf.keras.layers.Dense(3), layer])
class Own(tfd.Normal):
    pass
class Plain(tfd.Distribution):
    pass
def helper(x):
    return layer(tf.sin(x))
{decorator}def target(x):
    y = tf.sin(x)
    if x[0, 0] > 0.0:
        y = y * 2.0
    result = {result}
    return result
for _ in range(3):
    target(tf.ones([2, 4]))
"""


def target(result: str, tmp_path: Path, *, version: str = "2.15") -> FunctionReport:
    (tmp_path / "program.py").write_text(PROGRAM.format(result=result, decorator=""))
    report = analyze([tmp_path], Config(all_safe=True, tensorflow_version=version))
    return next(f for f in report.functions if f.facts.qualname == "target")


SURVIVING = [
    "tfd.Normal(y, 1.0)",
    "tfd.MultivariateNormalDiag(loc=y)",
    "(tfd.Independent(tfd.Normal(y, 1.0), 1), y)",
    "{'q': tfd.Bernoulli(y), 'b': tfb.Chain([tfb.Exp(), tfb.Scale(y)])}",
    "Own(y, 1.0)",
    "tfd.Normal(y, 1.0).log_prob(x)",
    "tf.linalg.LinearOperatorDiag(y)",
    "collections.OrderedDict(a=y)",
]
CHANGED = [
    "tfd.Normal(v, y)",
    "made_before['prior']",
    "layer(y)",
    "model(y)",
    "helper(y)",
    "(y, tfp.sts.LocalLevel(y))",
    "{'q': tfd.HiddenMarkovModel(y, y, y, 3)}",
    "tfd.GaussianProcess(tfp.math.psd_kernels.Linear(), y)",
    "tfd.TransformedDistribution(tfd.Normal(y, 1.0), tfb.MaskedAutoregressiveFlow(None))",
    "tfd.SomethingNew(y)",
    "Plain(y)",
    "collections.defaultdict(list, a=y)",
    "y, tf.TensorSpec([2])",
]


@pytest.mark.parametrize("result", SURVIVING)
def test_what_comes_back_is_converted(result: str, tmp_path: Path) -> None:
    found = target(result, tmp_path)
    assert (found.decision.action, {s.code for s in found.statuses} & {"HY350"}) == (Action.CONVERT_TO_HYBRID, set())


@pytest.mark.parametrize("result", CHANGED)
def test_what_does_not_is_kept_eager(result: str, tmp_path: Path) -> None:
    assert "HY350" in {s.code for s in target(result, tmp_path).statuses}


def test_older_releases_are_not_known_to_give_distributions_back(tmp_path: Path) -> None:
    assert "HY350" in {s.code for s in target(SURVIVING[0], tmp_path, version="2.9").statuses}


@pytest.mark.parametrize(("result", "told"), [("tfd.SomethingNew(y)", False), ("tfp.sts.LocalLevel(y)", True)])
def test_hybrid_functions_are_told_of_what_is_known(result: str, told: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(result=result, decorator="@tf.function\n"))
    report = analyze([tmp_path], Config(tensorflow_version="2.15"))
    assert ("HY350" in {f.code for f in report.findings}) == told


#: Results that are not real, or need more than they are given here; and what differs only once it is used.
NOT_RUN = ("SomethingNew", "Plain", "HiddenMarkovModel", "MaskedAutoregressiveFlow", "GaussianProcess")


@pytest.mark.tensorflow
@pytest.mark.parametrize("result", [r for r in (*SURVIVING, *CHANGED) if not any(name in r for name in NOT_RUN)])
def test_tensorflow_probability_says_the_same(result: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow_probability")
    found = []
    for decorator in ("", "@tf.function\n"):
        path = tmp_path / f"program{len(found)}.py"
        path.write_text(PROGRAM.format(result=result, decorator=decorator).rpartition("for _ in")[0])
        space = runpy.run_path(str(path), run_name=f"{tmp_path.name}_{len(found)}")
        try:
            found.append(described(space["tf"], space["target"](space["tf"].ones([2, 4]))))
        except TypeError:
            found.append(["raises"])
    assert (found[0] == found[1]) == (result in SURVIVING)


def described(tf: Any, value: Any) -> list[str]:
    """Classes and numbers of variables of what a result holds."""
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    kinds = [type(value).__name__, *("tensor" if tf.is_tensor(p) else type(p).__name__ for p in parts)]
    return [*kinds, *(str(len(getattr(p, "trainable_variables", ()))) for p in parts)]
