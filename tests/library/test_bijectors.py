"""TensorFlow Probability: what a bijector gives depends on what it is called with."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

PROGRAM = """\
import tensorflow as tf
import tensorflow_probability as tfp
bijector = tfp.bijectors.Tanh()
def target(x):
    return {result} * 2.0
target(tf.ones([3]))
"""


@pytest.mark.parametrize(
    "result",
    [
        "bijector(tfp.distributions.MultivariateNormalDiag(x, x)).log_prob(x)",
        "bijector(tfp.bijectors.Scale(2.0)).forward(x)",
        "bijector(x)",
    ],
)
def test_a_bijector_of_a_distribution_is_a_distribution(result: str, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PROGRAM.format(result=result), encoding="utf-8")
    made = next(f for f in analyze([tmp_path], Config(all_safe=True), repairs=False).functions)
    assert made.decision.action is Action.CONVERT_TO_HYBRID
    assert not made.facts.assumptions
