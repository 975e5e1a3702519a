"""Models are given whatever a program may pass: what one cannot tell is unknown, and none makes a mistake."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.library import registry
from hybridize.library.spec import ClassSpec

HEAD = """\
import tensorflow as tf, numpy as np, collections, functools, itertools, math, random
any_of = [a for a in (None, 1.0)][0]
scalar, vector, matrix = tf.constant(1.0), tf.zeros([3]), tf.zeros([2, 3])
cube, images, empty = tf.zeros([2, 3, 4]), tf.zeros([1, 8, 8, 3]), tf.zeros([2, 0])
one, ones, table = tf.constant(2), tf.constant([1, 0]), tf.constant([[1, 0], [0, 1]])
text, row, grid = tf.constant("x"), np.zeros(4), np.zeros((2, 3), np.int32)
ragged, sparse, variable = tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense(table), tf.Variable(matrix)
data, layer = tf.data.Dataset.from_tensor_slices(grid), tf.keras.layers.Dense(3)
"""
VALUES = (
    "scalar|vector|matrix|cube|images|empty|one|ones|table|text|row|grid|ragged|sparse|variable|data|layer|any_of|given|"
    "[vector, vector]|[matrix, cube]|(vector, matrix)|{'k': vector}|[]|()|[[1, 2], [3, 4]]|[1, 2]|[None, 2]|range(3)|"
    "1|0|-1|2.5|10**9|None|True|'text'|'ij,jk->ik'|'float32'|tf.float64|np.float32|matrix.shape|tf.shape(matrix)|"
    "slice(0, 2)|(lambda q: q)"
).split("|")
KEYWORDS = (
    "axis num shape dtype name keepdims perm paddings depth k full_matrices batch_dims indices default maxlen strides "
    "padding data_format size training num_or_size_splits axes block_shape units initial_state mode color_mode"
).split()
#: Objects whose classes nobody names.
MADE = {
    "tensor.dense": "matrix", "tensor.variable": "variable", "tensor.ndarray": "grid", "tensor.ragged": "ragged",
    "tensor.sparse": "sparse",
}  # fmt: skip
ROOTS = ("tf", "np", "keras", "builtins", "collections", "functools", "itertools", "math", "random")


def test_no_model_makes_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[str] = []
    monkeypatch.setattr("hybridize.flow.world.World.note_failure", lambda _, message: failures.append(message))
    bodies = list(functions(random.Random(28)))
    assert len(bodies) > 2000
    for at in range(0, len(bodies), 1000):
        defined = (f"def f{at + i}(given):\n{body}f{at + i}(matrix)\n" for i, body in enumerate(bodies[at : at + 1000]))
        (tmp_path / f"program{at}.py").write_text(HEAD + "".join(defined), encoding="utf-8")
    analyze([tmp_path], Config(), repairs=False)
    assert failures == []


def functions(draw: random.Random) -> Iterator[str]:
    """The bodies of functions, each of which calls one function of a library, or what a class of it has."""
    for name in named("FUNCTIONS"):
        yield f"    return {name}({arguments(draw, least=1)})\n"
    for name, spec in named("CLASSES").items():
        made = MADE.get(name) or f"{name}({arguments(draw)})"
        methods = [method for method in spec.methods if method.isidentifier() and not method.startswith("__")]
        lines = [f"made = {made}", f"made({arguments(draw)})"]
        lines += [f"made.{method}({arguments(draw)})" for method in draw.sample(methods, min(len(methods), 6))]
        lines += [f"made.{name}" for name in list(spec.properties)[:6]]
        yield "".join(f"    if any_of:\n        {line}\n" if line != lines[0] else f"    {line}\n" for line in lines)


def named(attribute: str) -> dict[str, ClassSpec]:
    """The entries of the tables of models that a program can write down, as it writes them."""
    found = {name: spec for root in ROOTS for name, spec in registry._table(root, attribute).items()}
    return {
        ("tf." if name.startswith("keras.") else "") + name.removeprefix("builtins."): spec
        for name, spec in sorted(found.items())
        if all(part.isidentifier() for part in name.split(".")) or name in MADE
    }


def arguments(draw: random.Random, least: int = 0) -> str:
    """Some of everything."""
    given = [draw.choice(VALUES) for _ in range(draw.choice((least, 1, 2, 2, 3)))]
    words = draw.sample(KEYWORDS, draw.choice((0, 0, 1, 2)))
    return ", ".join([*given, *(f"{word}={draw.choice(VALUES)}" for word in words)])
