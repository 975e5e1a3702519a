"""Where `jit_compile=True` is suggested (HY023), and where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport

PROGRAM = """\
import tensorflow as tf
layer = tf.keras.layers.Conv2D(4, 3)
layer.build((None, 8, 8, 1))
def small(x):
    for _ in range(40):
        x = tf.sin(x) * 0.5 + x
    return x
def checks(x):
    tf.debugging.assert_positive(x)
    return loop(x)
def loop(x):
    for _ in range(40):
        x = tf.sin(x) * 0.5 + x
    return x
def varies(x):
    for _ in range(40):
        x = tf.sin(x) * 0.5 + x
    return x
def convolves(x):
    return layer(loop(x))
def writes(x):
    tf.print(x)
    return loop(x)
def draws(x):
    return loop(x) + tf.random.uniform([10], seed=1)
def large(x):
    for _ in range(40):
        x = tf.matmul(x, x)
    return x
def short(x):
    return tf.sin(x) + tf.cos(x)
@tf.function
def hybrid(x):
    for _ in range(40):
        x = tf.sin(x) * 0.5 + x
    return x
@tf.function(jit_compile=False)
def decided(x):
    for _ in range(40):
        x = tf.sin(x) * 0.5 + x
    return x
x = tf.ones([10])
for n in range(100): small(x)
for n in range(100): checks(x)
for n in range(100): varies(tf.ones([n]))
for n in range(100): convolves(tf.ones([2, 8, 8, 1]))
for n in range(100): writes(x)
for n in range(100): draws(x)
for n in range(100): short(x)
for n in range(100): large(tf.ones([512, 512]))
for n in range(100): hybrid(x)
for n in range(100): decided(x)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    return folder


def functions(project: Path, *, asked: bool) -> dict[str, FunctionReport]:
    return {f.facts.qualname: f for f in analyze([project], Config(jit_compile=asked), repairs=False).functions}


def test_suggestion(project: Path) -> None:
    found = functions(project, asked=False)
    told = {name for name, f in found.items() if any(s.name == "may-be-compiled" for s in f.statuses)}
    assert told == {"small", "hybrid"}
    assert all(not f.decision.arguments or f.decision.arguments[0][0] != "jit_compile" for f in found.values())


def test_argument_of_new_decorators(project: Path) -> None:
    found = functions(project, asked=True)
    assert [n for n, f in found.items() if ("jit_compile", "True") in f.decision.arguments] == ["small"]
