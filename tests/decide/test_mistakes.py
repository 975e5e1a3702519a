"""A mistake of hybridize costs one function its change, is said in the report's errors, and never ends the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action

PROGRAM = """\
import tensorflow as tf
w = tf.Variable(tf.ones((8, 8)))
optimizer = tf.keras.optimizers.SGD()
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.tanh(tf.matmul(x, w)) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
def other(x):
    for _ in range(30):
        x = tf.tanh(tf.matmul(x, w)) + tf.sin(x)
    return x
optimizer.build([w])
for batch in tf.data.Dataset.from_tensor_slices(tf.ones((6400, 8))).batch(8):
    step(batch)
    other(batch)
"""
#: Where a mistake is put: what is called for each function.
PLACES = (
    "hybridize.facts.functions.collect.Collector.facts",
    "hybridize.deciding.decide",
    "hybridize.decide.plan._Chooser.visit",
    "hybridize.decide.gains.Gains.visit",
    "hybridize.decide.signatures.Signatures.configure",
    "hybridize.decide.compilation.Compilation.configure",
)


@pytest.mark.parametrize("place", PLACES)
def test_the_other_function_is_converted_all_the_same(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    owner, _, name = place.rpartition(".")
    module, _, cls = owner.rpartition(".") if owner[owner.rfind(".") + 1] in "_CGS" else (owner, "", "")
    target = __import__(module, fromlist=["_"])
    target = getattr(target, cls) if cls else target
    real = getattr(target, name)

    def failing(*args: object, **kwargs: object) -> object:
        if any(getattr(each, "qualname", getattr(each, "name", "")) == "step" for each in args):
            raise ValueError("a mistake")
        return real(*args, **kwargs)

    monkeypatch.setattr(target, name, failing)
    report = analyze([tmp_path], Config())
    found = {f.facts.qualname: f for f in report.functions}
    assert found["other"].decision.action is Action.CONVERT_TO_HYBRID
    assert "step" not in found or found["step"].decision.action is Action.KEEP
    (error,) = [(e.path, e.line, e.message) for e in report.errors]
    assert error[:2] == ("main.py", 4)
    assert error[2].startswith("hybridize failed on `step` (ValueError: a mistake)")


def test_without_mistakes_both_are(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    report = analyze([tmp_path], Config())
    assert {f.decision.action for f in report.functions} == {Action.CONVERT_TO_HYBRID}
    assert not report.errors


def test_shapes_beyond_any_size_are_counted_as_large(tmp_path: Path) -> None:
    text = (
        "import tensorflow as tf\ndef f(x):\n    return tf.ones([10**200, 10**200]) * tf.reduce_sum(x)\nf(tf.ones(3))\n"
    )
    (tmp_path / "main.py").write_text(text, "utf-8")
    report = analyze([tmp_path], Config())
    assert [f.facts.qualname for f in report.functions] == ["f"]
    assert not report.errors
