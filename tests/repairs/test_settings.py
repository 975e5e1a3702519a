"""HY802 and flags that traced code only reads: a `tf.Variable`, and nothing where Python decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.repairing import Wanted, repair

from .support import fixed

CODE = """\
import tensorflow as tf
class Model:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4, 4]) * 0.1)
        self.level = 1
        self.on = True
    def call(self, x):
        for _ in range(5):
            x = tf.tanh(tf.matmul(x, self.w)) + x
        if self.on:
            x = x * 2.0
        return x
def run(m, on):
    m.on = on
    return m.call(tf.ones([2, 4]))
m = Model()
for i in range(4):
    m.level = i
    r = run(m, i % 2 == 0)
"""
MADE = ".on = tf.Variable(True, dtype=tf.bool, trainable=False)"


def test_a_flag_is_a_variable(tmp_path: Path) -> None:
    text = fixed(CODE, tmp_path).text
    assert MADE in text
    assert "m.on.assign(on)" in text
    assert "@tf.function\ndef run" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if self.on:", "if self.on is True:"),
        ("if self.on:", "if isinstance(self.on, bool):"),
        ("x = x * 2.0", "x = [x, x]"),  # the branches do not go together
        ("x = x * 2.0", "x = tf.cast(x, tf.float64)"),
        ("x = x * 2.0", "x = tf.concat([x] * (1 + self.on), 0)"),
        ("        if self.on:", "        names = {True: 'a', False: 'b'}[self.on]\n        if self.on:"),
        ("x = x * 2.0", "self.kept = tf.Variable(1.0)"),
        (
            "        if self.on:",
            "        w = self.w if self.on else self.w\n        w.assign(w * 2.0)\n        if self.on:",
        ),
        (
            "        if self.on:",
            "        s = 'a' if self.on else 'b'\n        x = tf.identity(x, name=s)\n        if self.on:",
        ),
        ("m.on = on", "m.on = on if on else None"),
        ("m.on = on", "m.on = unheard_of(on)"),
        ("m.on = on", "setattr(m, 'on', on)"),
        ("m.on = on", "vars(m)['on'] = on"),
        ("self.on = True", "self.on = None"),
        ("        self.on = True\n", ""),
        ("self.on = True", "self.on = []"),
        ("if self.on:", "if self.chosen():"),
    ],
)
def test_python_decides(old: str, new: str, tmp_path: Path) -> None:
    code = CODE.replace(old, new).replace(
        "def run", "    def chosen(self):\n        return 'on' if self.on == 1 else ''\ndef run"
    )
    assert old in CODE
    assert "tf.Variable(True" not in fixed(code, tmp_path).text


@pytest.mark.parametrize(
    "use", ["tf.zeros([self.level, 4])", "x[: self.level]", "x.shape[self.level]", "[x][self.level]"]
)
def test_numbers_that_are_no_operands(use: str, tmp_path: Path) -> None:
    text = fixed(CODE.replace("x = x * 2.0", f"x = x + tf.reduce_sum({use})"), tmp_path).text
    assert "self.level = tf.Variable" not in text


def test_what_a_library_has_by_that_name(tmp_path: Path) -> None:
    keras = CODE.replace("class Model:", "class Model(tf.keras.layers.Layer):").replace(".w = ", ".v = ")
    keras = keras.replace("__init__(self):", "__init__(self):\n        super().__init__()").replace(
        "self.w)", "self.v)"
    )
    assert MADE in fixed(keras, tmp_path).text
    named = keras.replace(".on", ".trainable")
    assert "tf.Variable(True" not in fixed(named, tmp_path).text


def test_what_nobody_traced_reads_stays(tmp_path: Path) -> None:
    assert "self.level = 1\n" in fixed(CODE, tmp_path).text


DROPOUT = """\
import tensorflow as tf
TRAIN = False
def set_train(flag):
    global TRAIN
    TRAIN = flag
def is_training():
    return TRAIN
class Block(tf.Module):
    def __init__(self):
        self.dense = tf.keras.layers.Dense(4)
        self.dense.build((None, 4))
        self.dropout = tf.keras.layers.Dropout(0.5)
    def run(self, x):
        for _ in range(5):
            x = tf.tanh(self.dense(x)) + x
        return self.dropout(x, training=is_training())
block = Block()
for i in range(4):
    set_train(i % 2 == 0)
    r = block.run(tf.ones([2, 4]))
"""


@pytest.mark.parametrize(("release", "offered"), [("2.15", True), ("2.21", False)])
def test_keras_3_asks_python_whether_it_trains(release: str, offered: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(DROPOUT, encoding="utf-8")
    found = analyze([tmp_path], Config(tensorflow_version=release))
    assert any(each.code == "HY802" for bundle in found.repairs for each in bundle.repairs) is offered


def other(folder: Path, **files: str) -> dict[str, bytes]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    found = repair(
        lambda contents: analyze([folder], Config(), contents=contents),
        analyze([folder], Config()),
        lambda path: (folder / path).read_bytes(),
        Wanted(unsafe=True),
    )
    return found.contents


STEP = """\
import tensorflow as tf
import settings
w = tf.Variable(tf.ones([4, 4]) * 0.1)
def step(x):
    for _ in range(20):
        x = tf.tanh(tf.matmul(x, w)) + x
    return x * 2.0 if settings.NOISY else x
for i in range(5000):
    settings.NOISY = i % 2 == 0
    r = step(tf.ones([2, 4]))
"""


def test_a_variable_of_another_module(tmp_path: Path) -> None:
    made = other(tmp_path, settings="import tensorflow as tf\nNOISY = False\n", program=STEP)
    assert b"NOISY = tf.Variable(False" in made["settings.py"]
    assert b"settings.NOISY.assign(i % 2 == 0)" in made["program.py"]


def test_who_imports_the_value_keeps_that_of_the_moment(tmp_path: Path) -> None:
    reader = "from settings import NOISY\nprint(NOISY)\n"
    made = other(tmp_path, settings="import tensorflow as tf\nNOISY = False\n", program=STEP, reader=reader)
    assert "settings.py" not in made


def test_a_graph_that_needs_the_python_value(tmp_path: Path) -> None:
    more = "@tf.function\ndef other(m):\n    return tf.constant({True: 1, False: 2}[m.on])\nother(m)\n"
    assert "tf.Variable(True" not in fixed(CODE + more, tmp_path).text
