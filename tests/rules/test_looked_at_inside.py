"""A decorator's wrapper that looks at its function does so for each function, also where contexts are merged."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

_LIBRARY = """\
import functools
import tensorflow as tf


def locked(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


def converted(f):
    made = []

    @locked
    def once():
        if not made:
            made.append({looks})
        return made[0]

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        if tf.executing_eagerly():
            return f(*args, **kwargs)
        return once()(*args, **kwargs)

    return wrapper


@converted
def first(x: tf.Tensor):
    return tf.nn.relu(tf.tanh(x) * 2.0 + tf.exp(x))


class Layer(tf.Module):
    @converted
    def second(self, x: tf.Tensor):
        return tf.nn.relu(tf.tanh(x) * 3.0 + tf.exp(x))


def plain(x: tf.Tensor):
    return tf.nn.relu(tf.tanh(x) * 4.0 + tf.exp(x))


print(first(tf.ones([2])), tf.function(first)(tf.ones([2])))
"""


@pytest.mark.parametrize("looks", ["tf.autograph.to_graph(f)", "f.__code__", "(lambda: f.__code__)()"])
@pytest.mark.parametrize("merged", [False, True])
def test_each_function_that_a_wrapper_is_made_for_is_looked_at(
    looks: str, merged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if merged:
        monkeypatch.setattr("hybridize.flow.solve.SMALL_LIMIT", 1)
        monkeypatch.setattr("hybridize.flow.contexts.SLOTS_BY_RECEIVER", 0)
    (tmp_path / "library.py").write_text(_LIBRARY.format(looks=looks))
    report = analyze([tmp_path], Config(all_safe=True, jobs=1), repairs=False)
    codes = {f.facts.qualname: {status.code for status in f.statuses} for f in report.functions}
    assert "HY265" in codes["first"]
    assert "HY265" in codes["Layer.second"]
    assert "HY265" not in codes["plain"]
