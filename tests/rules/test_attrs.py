"""Classes of `attrs`: TensorFlow takes instances apart as it does tuples, and makes them again of their fields."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report

HEAD = "import attr\nimport attrs\nimport tensorflow as tf\n"
PAIR = "class Pair:\n    x: tf.Tensor\n    k: float = 2.0\n"
OWN = "@attr.s(init=False)\nclass Pair:\n    x = attr.ib()\n    k = attr.ib(default=2.0)\n"
OWN += "    def __init__(self, x, k=2.0):\n        {body}\n        self.x = x\n        self.k = k\n"
CLASSES = {
    "attr.s": "@attr.s\nclass Pair:\n    x = attr.ib()\n    k = attr.ib(default=2.0)\n",
    "attr.s without equality": "@attr.s(eq=False)\nclass Pair:\n    x = attr.ib()\n    k = attr.ib(default=2.0)\n",
    "attr.s with slots": "@attr.s(slots=True)\nclass Pair:\n    x = attr.ib()\n    k = attr.ib(default=2.0)\n",
    "attr.attrs": f"@attr.attrs(auto_attribs=True)\n{PAIR}",
    "attrs.define": f"@attrs.define\n{PAIR}",
    "attrs.frozen": f"@attrs.frozen\n{PAIR}",
    "a class that derives from one": "@attrs.define\nclass Base:\n    x: tf.Tensor\n"
    "@attrs.define\nclass Pair(Base):\n    k: float = 2.0\n",
    "a constructor that passes its fields on": OWN.format(body="pass"),
}
REFUSED = {
    "only by keyword": "@attrs.define(kw_only=True)\nclass Pair:\n    x: tf.Tensor\n    k: float = 2.0\n",
    "a field that is not given": "@attr.s\nclass Pair:\n    x = attr.ib()\n    k = attr.ib(init=False, default=2.0)\n",
    "a check": "@attr.s\nclass Pair:\n    x = attr.ib(validator=attr.validators.instance_of(tf.Tensor))\n    k = 2.0\n",
    "a conversion": "@attr.s\nclass Pair:\n    x = attr.ib(converter=tf.convert_to_tensor)\n    k = 2.0\n",
    "a constructor that converts": OWN.format(body="x = tf.convert_to_tensor(x)"),
}
USE = """\
def area(pair):
    for _ in range(20):
        pair = Pair(x=tf.tanh(pair.x) * 0.5)
    return tf.reduce_sum(pair.x) * pair.k
for i in range(20):
    r = area(Pair(x=tf.ones([3]) * i))
"""
TRACES = USE.replace("def area(pair):\n", "seen = []\n@tf.function\ndef area(pair):\n    seen.append(1)\n")


def report(source: str, folder: Path) -> Report:
    (folder / "program.py").write_text(HEAD + source, "utf-8")
    return analyze([folder], Config(all_safe=True))


def codes(found: Report, name: str) -> set[str]:
    function = next(f for f in found.functions if f.facts.qualname == name)
    return {status.code for status in function.statuses}


@pytest.mark.parametrize("source", CLASSES.values(), ids=CLASSES)
def test_an_instance_is_an_argument_like_its_tensors(source: str, tmp_path: Path) -> None:
    found = report(source + USE, tmp_path)
    assert codes(found, "area").isdisjoint({"HY260", "HY103"})
    (area,) = (f for f in found.functions if f.facts.qualname == "area")
    assert area.facts.parameters[0].tensor.value == "yes"


def test_a_function_of_one_is_converted(tmp_path: Path) -> None:
    (area,) = (f for f in report(CLASSES["attr.attrs"] + USE, tmp_path).functions if f.facts.qualname == "area")
    assert area.decision.action.value == "convert_to_hybrid", area.statuses


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_one_that_its_fields_do_not_make_again_keeps_a_function_eager(source: str, tmp_path: Path) -> None:
    assert "HY260" in codes(report(source + USE, tmp_path), "area")


ALL = """
import sys
for name, source in SOURCES.items():
    scope = {}
    try:
        exec(source, scope)
        print(name, len(scope["seen"]))
    except TypeError:
        print(name, "raises")
"""


@pytest.mark.tensorflow
def test_tensorflow_takes_them_apart_so(tensorflow_python: str, tmp_path: Path) -> None:
    if subprocess.run([tensorflow_python, "-c", "import attrs"], capture_output=True, check=False).returncode:
        pytest.skip("no attrs beside TensorFlow")
    plain = TRACES.replace("@tf.function", "@tf.function(autograph=False)")  # which needs no source
    sources = {name: HEAD + source + plain for name, source in {**CLASSES, **REFUSED}.items()}
    (tmp_path / "program.py").write_text(f"SOURCES = {sources!r}\n{ALL}", "utf-8")
    command = [tensorflow_python, str(tmp_path / "program.py")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = [*(f"{name} 1" for name in CLASSES), *(f"{name} raises" for name in REFUSED)]
    assert run.stdout.splitlines() == expected, run.stderr[-2000:]


def test_a_method_of_one_asks_for_a_hash_all_the_same(tmp_path: Path) -> None:
    method = "    def area(self, y):\n        return tf.reduce_sum(tf.tanh(self.x) * y)\n"
    source = CLASSES["attrs.define"] + method + "Pair(tf.ones([3])).area(tf.ones([3]))\n"
    assert "HY260" in codes(report(source, tmp_path), "Pair.area")


def test_a_graph_may_return_one(tmp_path: Path) -> None:
    source = CLASSES["attrs.define"] + (
        "@tf.function\ndef twice(x):\n    return Pair(x * 2.0)\n"
        "@tf.function\ndef other(x):\n    return Plain(x)\n"
        "class Plain:\n    def __init__(self, x):\n        self.x = x\n"
        "twice(tf.ones([3])), other(tf.ones([3]))\n"
    )
    said = [(f.code, f.function) for f in report(source, tmp_path).findings if f.code == "HY350"]
    assert said == [("HY350", "program:other")]


def test_nest_maps_what_is_in_one(tmp_path: Path) -> None:
    source = CLASSES["attrs.define"] + (
        "@tf.function\ndef halved(pair):\n    half = tf.nest.map_structure(lambda t: t / 2.0, pair)\n"
        "    return half.x.numpy()\n"
        "halved(Pair(tf.ones([])))\n"
    )
    assert "HY301" in {f.code for f in report(source, tmp_path).findings}


FROZEN = """
@attr.s(frozen=True)
class Pair:
    x = attr.ib()
    w = attr.ib(default=None)
    def __attrs_post_init__(self):
        if self.w is None:
            object.__setattr__(self, "w", self.x)
@attr.s
class Longer(Pair):
    z = attr.ib(default=None)
def area(pair):
    return tf.reduce_sum(pair.x) * pair.w
for i in range(3):
    a, b = Longer(tf.ones([3]) * i, tf.ones([])), Pair(tf.ones([3]), tf.zeros([]))
    print(a, b, area(a) + area(b))
"""


def test_of_an_argument_that_is_taken_apart_nobody_asks_whether_it_equals_another(tmp_path: Path) -> None:
    assert "HY261" not in codes(report(FROZEN, tmp_path), "area")
