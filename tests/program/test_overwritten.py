"""What a variable or field holds until it is bound anew, before anybody else may look, is no value of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action
from hybridize.program.overwritten import overwritten_fields, overwritten_names

FILL = "rows = []\nfor i in range(9):\n    rows.append(i)\n"
READER = "def show():\n    print(rows)\n"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (FILL + "rows = tuple(rows)\n" + READER + "show()\n", {1}),
        (READER + FILL + "rows = tuple(rows)\nshow()\n", {3}),
        ("rows = []\nrows = rows + [1]\nrows = tuple(rows)\n", {1, 2}),
        ("rows = []\nfor i in range(9):\n    rows = [*rows, i]\nrows = tuple(rows)\n", {1, 3}),
        (f"if __name__ == '__main__':\n    rows = []\n    rows = tuple(rows)\n{READER}", {2}),
        ("rows, n = [], 0\nrows, n = tuple(rows), 9\n", {1}),
        (READER + FILL + "show()\nrows = tuple(rows)\n", set()),  # sees the list
        (READER + "def log():\n    show()\n" + FILL + "log()\nrows = tuple(rows)\n", set()),
        (READER + "keep(show)\n" + FILL + "run()\nrows = tuple(rows)\n", set()),  # may be called back
        ("@keep\n" + READER + FILL + "run()\nrows = tuple(rows)\n", set()),
        ("class A:\n    def __iadd__(self, n):\n        print(rows)\n" + FILL + "rows = tuple(rows)\n", set()),
        (FILL + "exec('print(rows)')\nrows = tuple(rows)\n", set()),
        ("show = lambda: rows\n" + FILL + "rows = tuple(rows)\n", set()),
        (FILL + "if i:\n    rows = tuple(rows)\n", set()),
        (FILL + "for i in range(2):\n    rows = tuple(rows)\n", set()),
    ],
)
def test_variables(source: str, lines: set[int]) -> None:
    names = {"rows", "n"}
    dead = overwritten_names(ast.parse(source).body, names)
    assert {pos >> 16 for name, pos in dead if name == "rows"} == lines


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("self.x = []\nfor i in names:\n    self.x.append(self.n[i])\nself.x = tuple(self.x)", {"x": (2, 5)}),
        ("self.x, self.y = [], []\nself.x, self.y = tuple(self.x), tuple(self.y)", {"x": (2, 3), "y": (2, 3)}),
        ("self.x = []\nself.fill()\nself.x = tuple(self.x)", {}),  # a method may read it
        ("self.x = []\nfill(self)\nself.x = tuple(self.x)", {}),
        ("self.x = []\nsuper().__init__()\nself.x = tuple(self.x)", {}),
        ("self.x = []\nif names:\n    self.x = tuple(self.x)", {}),
        ("self.x = []\nif not names:\n    return\nself.x = tuple(self.x)", {}),
        ("self.x = []\nself.show = lambda: self.x\nself.x = tuple(self.x)", {}),
    ],
)
def test_fields(body: str, found: dict[str, tuple[int, int]]) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    (function,) = ast.parse(f"def __init__(self, names):\n{lines}").body
    assert isinstance(function, ast.FunctionDef)
    assert overwritten_fields(function) == found


DATA = """
import numpy as np
import tensorflow as tf

class Data:
    def __init__(self, n):
        self.x = []
        for i in range(n):
            self.x.append([i, i + 1])
        self.x = np.array(self.x, np.float32)
    def sample(self):
        return self.x[np.random.randint(0, len(self.x), size=8)]

model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
model.build([None, 2])
opt = tf.keras.optimizers.Adam()
ys = []
for i in range(100):
    ys.append([i])
ys = np.array(ys, np.float32)

def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

def train():
    data = Data(100)
    for i in range(1000):
        step(data.sample(), ys[np.random.randint(0, len(ys), size=8)])

train()
"""


def test_rows_of_an_array_that_was_a_list_first_are_arrays(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(DATA)
    found = {f.facts.qualname: f for f in analyze([tmp_path], Config(tensorflow_version="2.15")).functions}
    assert found["step"].decision.action is Action.CONVERT_TO_HYBRID
