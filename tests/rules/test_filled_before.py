"""HY602: what the function around fills before it makes the one that reads it changes no more, whoever calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

FACTORY = """\
import tensorflow as tf
def factory(model, xs, ys):
    kept = []
    for i, v in enumerate([tf.ones(3), tf.ones(2)]):
        kept.append(tf.range(i, i + 3))
{before}
    def target(params: tf.Tensor):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(xs) - ys) ** 2)
        grads = tape.gradient(loss, model.trainable_variables)
        return loss, tf.dynamic_stitch(kept, grads) + params
{after}
    return target
"""


def told(tmp_path: Path, before: str = "", after: str = "", more: str = "") -> bool:
    """Whether the state that `target` reads is said to change, in a library whose factory nobody calls."""
    text = FACTORY.format(before=before, after=after) + more
    (tmp_path / "m.py").write_text(text, encoding="utf-8")
    found = analyze([tmp_path], Config(all_safe=True, world="open"), repairs=False).functions
    return "HY602" in {s.code for f in found if f.facts.qualname.endswith("target") for s in f.statuses}


@pytest.mark.parametrize("before", ["", "    kept.extend(kept)", "    if len(kept) > 3: kept.pop()"])
def test_a_container_that_is_ready_is_a_constant(before: str, tmp_path: Path) -> None:
    assert not told(tmp_path, before)


@pytest.mark.parametrize(
    "after",
    [
        "    kept.append(xs[0])",
        "    def add(x): kept.append(x)\n    target.add = add",
        "    for x in xs:\n        target(x)\n        kept.append(x)",
    ],
)
def test_one_that_is_written_later_is_none(after: str, tmp_path: Path) -> None:
    assert told(tmp_path, after=after)


def test_one_that_another_function_gets_and_writes_is_none(tmp_path: Path) -> None:
    more = (
        "def use(model, xs):\n    f = factory(model, xs, xs)\n    f(xs)\n    f.kept.append(xs[0])\n    return f(xs)\n"
    )
    assert told(tmp_path, after="    target.kept = kept", more=more)
