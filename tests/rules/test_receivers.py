"""Receivers and arguments that nobody is seen to pass: what their classes say, how long they live, what they may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

WORK = """\
import collections, dataclasses, functools
import attr
import numpy as np
import tensorflow as tf
import somewhere
def work(x, k):
    for _ in range(20):
        x = tf.tanh(x) * k
    return x
"""


def blocked(source: str, function: str, folder: Path) -> set[str]:
    """The codes of the rules that keep a function eager."""
    (folder / "program.py").write_text(WORK + source, "utf-8")
    report = analyze([folder], Config(all_safe=True))
    found = next(f for f in report.functions if f.facts.qualname == function)
    codes = {status.code for status in found.statuses if status.code[2] in "123"}
    assert bool(codes) is (found.decision.action.value != "convert_to_hybrid"), found.statuses
    return codes


RECEIVERS = {
    "a subclass that nobody makes compares by value": (
        "class Base:\n    def run(self, x: tf.Tensor): return work(x, 2.0)\n"
        "class Sub(Base):\n    def __eq__(self, other): return True\n",
        {"HY260"},
    ),
    "that subclass has a hash of its own": (
        "class Base:\n    def run(self, x: tf.Tensor): return work(x, 2.0)\n"
        "class Sub(Base):\n    __hash__ = object.__hash__\n    def __eq__(self, other): return self is other\n",
        set(),
    ),
    "the subclass has a method of its own": (
        "class Base:\n    def run(self, x: tf.Tensor): return work(x, 2.0)\n"
        "class Sub(Base):\n    def __eq__(self, other): return True\n    def run(self, x): return x\n",
        set(),
    ),
    "which calls that of the base": (
        "class Base:\n    def run(self, x: tf.Tensor): return work(x, 2.0)\n"
        "class Sub(Base):\n    def __eq__(self, other): return True\n    def run(self, x): return super().run(x)\n",
        {"HY260"},
    ),
    "attrs: by value, without a hash": (
        "@attr.define\nclass Base:\n    k: float\n    def run(self, x: tf.Tensor): return work(x, self.k)\n",
        {"HY260"},
    ),
    "attrs: by identity": (
        "@attr.s(eq=False)\nclass Base:\n    k = attr.ib()\n    def run(self, x: tf.Tensor): return work(x, self.k)\n",
        set(),
    ),
    "a dictionary in the slots is no place for weak references": (
        "class Base:\n    __slots__ = ('__dict__',)\n    def run(self, x: tf.Tensor): return work(x, 2.0)\n",
        {"HY260"},
    ),
    "a named tuple": (
        "class Base(collections.namedtuple('Base', 'k')):\n    def run(self, x: tf.Tensor): return work(x, self.k)\n",
        {"HY260"},
    ),
    "equal by name, told apart by another field": (
        "class Base:\n    def __init__(self, name, k): self.name, self.k = name, k\n"
        "    def __eq__(self, other): return self.name == other.name\n    def __hash__(self): return hash(self.name)\n"
        "    def run(self, x: tf.Tensor): return work(x, self.k)\n",
        {"HY261"},
    ),
    "equal in all that is read": (
        "class Base:\n    def __init__(self, k): self.k = k\n"
        "    def __eq__(self, other): return self.k == other.k\n    def __hash__(self): return hash(self.k)\n"
        "    def run(self, x: tf.Tensor): return work(x, self.k)\n",
        set(),
    ),
}


@pytest.mark.parametrize("case", RECEIVERS)
def test_the_classes_of_receivers_are_asked_whoever_makes_their_objects(case: str, tmp_path: Path) -> None:
    source, codes = RECEIVERS[case]
    assert blocked(source, "Base.run", tmp_path) == codes


def test_a_hint_names_the_class_of_an_argument(tmp_path: Path) -> None:
    source = (
        "@dataclasses.dataclass\nclass Options:\n    k: float\n"
        "def run(x: tf.Tensor, options: Options): return work(x, options.k)\n"
    )
    assert blocked(source, "run", tmp_path) == {"HY260"}
    assert not blocked(source.replace("dataclass\n", "dataclass(eq=False)\n"), "run", tmp_path)


LAYER = "class Layer:\n    def run(self, x): return work(x, 2.0)\n"
LIVES = {
    "made in each turn": ("for i in range(20):\n    Layer.run(Layer(), tf.ones(3))\n", True),
    "made with another object, in each turn": (
        "class Model:\n    def __init__(self): self.layer = Layer()\n"
        "for i in range(20):\n    m = Model()\n    m.layer.run(tf.ones(3))\n",
        True,
    ),
    "made by each call of a function that others call": (
        "def public(x: tf.Tensor):\n    layer = Layer()\n    return layer.run(x)\n",
        True,
    ),
    "made by a function that others call, and given away": (
        "def public(x: tf.Tensor):\n    layer = Layer()\n    layer.run(x)\n    return layer\n",
        False,
    ),
    "kept by an object that others call": (
        "class Model:\n    def __init__(self): self.layer = Layer()\n"
        "    def predict(self, x): return self.layer.run(x)\n",
        False,
    ),
    "called often for each": (
        "for i in range(20):\n    m = Layer()\n    for j in range(100):\n        m.run(tf.ones(3))\n",
        False,
    ),
    "made once": ("m = Layer()\nfor i in range(20):\n    m.run(tf.ones(3))\n", False),
    "a few": ("for i in range(3):\n    m = Layer()\n    m.run(tf.ones(3))\n", False),
}


@pytest.mark.parametrize("case", LIVES)
def test_receivers_that_live_for_a_call_are_traced_each(case: str, tmp_path: Path) -> None:
    source, blocks = LIVES[case]
    assert ("HY103" in blocked(LAYER + source, "Layer.run", tmp_path)) is blocks


def test_tests_do_not_show_that_an_object_is_new_at_each_call(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    test = "import tensorflow as tf\nfrom program import Layer\ndef test_layer():\n    for i in range(20):\n"
    (tmp_path / "tests" / "test_layer.py").write_text(f"{test}        m = Layer()\n        m.run(tf.ones(3))\n")
    assert not blocked(LAYER, "Layer.run", tmp_path)


@pytest.mark.parametrize(
    ("argument", "blocks"),
    [("lambda v: v * 2", True), ("functools.partial(abs)", True), ("model.twice", True), ("abs", False)],
)
def test_functions_made_for_a_call_are_traced_each(argument: str, blocks: bool, tmp_path: Path) -> None:
    source = (
        "class Model:\n    def twice(self, v): return v * 2\nmodel = Model()\n"
        f"def run(x, f): return work(f(x), 2.0)\nfor i in range(20):\n    run(tf.ones(3), {argument})\n"
    )
    assert ("HY103" in blocked(source, "run", tmp_path)) is blocks


def test_a_nested_function_lives_as_long_as_the_call_around_it(tmp_path: Path) -> None:
    source = (
        "def outer(x):\n    def inner(y): return work(y, 2.0)\n    {}\nfor i in range(20):\n    outer(tf.ones(3))\n"
    )
    assert "HY102" in blocked(source.format("return print(inner(x))"), "outer.inner", tmp_path)
    loop = "for i in range(100): print(inner(x))"
    assert not blocked(source.format(loop), "outer.inner", tmp_path)


OPEN = {
    "np.mean(other)": True,
    "somewhere.scaled(other)": True,
    "(2.0 if isinstance(other, np.ndarray) else 3.0)": True,
    "(2.0 if tf.is_tensor(other) else 3.0)": True,
    "(2.0 if type(other) is np.ndarray else 3.0)": True,
    "(2.0 if hasattr(other, 'numpy') else 3.0)": True,
    "other.mean()": True,
    "other.numpy()": True,
    "sum(other)": True,
    "tf.add_n([v for v in other])": True,
    "other": False,
    "other.shape[0]": False,
    "(2.0 if isinstance(other, list) else 3.0)": False,
    "(2.0 if other is None else 3.0)": False,
    "tf.cast(other, tf.float32)": False,
}


@pytest.mark.parametrize("use", OPEN)
def test_an_argument_that_nobody_passes_may_be_an_array(use: str, tmp_path: Path) -> None:
    source = "def run(x: tf.Tensor, other):\n    return work(x, 2.0) * {}\n"
    assert ("HY358" in blocked(source.format(use), "run", tmp_path)) is OPEN[use]
    helper = "def helped(x, given):\n    return work(x, 2.0) * {}\n"
    through = helper + "def run(x: tf.Tensor, other):\n    return helped(x, other)\n"
    assert ("HY358" in blocked(through.format(use.replace("other", "given")), "run", tmp_path)) is OPEN[use]
    known = source.replace("other)", "other: float)").format(use)
    assert "HY358" not in blocked_or_not(known, tmp_path)


def blocked_or_not(source: str, folder: Path) -> set[str]:
    """The codes on `run`, whatever becomes of it."""
    (folder / "program.py").write_text(WORK + source, "utf-8")
    report = analyze([folder], Config(all_safe=True))
    return {s.code for f in report.functions if f.facts.qualname == "run" for s in f.statuses}


def test_hybrid_functions_are_not_told_of_what_may_be_passed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORK + "@tf.function\ndef run(x, other): return x * np.mean(other)\n")
    assert not [f for f in analyze([tmp_path], Config()).findings if f.code == "HY358"]


RESULTS = {
    "class Own(list): pass\n": True,
    "class Own(dict):\n    def __init__(self, name):\n        super().__init__()\n": True,
    "class Own(dict):\n    def total(self): return sum(self.values())\n": False,
    "def Own(_): return [_]\n": False,
}


@pytest.mark.parametrize("kind", RESULTS)
def test_containers_of_own_classes_come_back_as_others(kind: str, tmp_path: Path) -> None:
    source = kind + "def run(x: tf.Tensor):\n    found = Own([work(x, 2.0)])\n    return found\n"
    assert ("HY350" in blocked(source, "run", tmp_path)) is RESULTS[kind]


def test_what_tests_call_others_call_as_well(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    test = "import tensorflow as tf\nfrom program import outer\ndef test_outer():\n    outer(tf.ones(3))\n"
    (tmp_path / "tests" / "test_outer.py").write_text(test)
    source = "def outer(x):\n    def inner(y): return work(y, 2.0)\n    return print(inner(x) + inner(x))\n"
    assert "HY102" in blocked(source, "outer.inner", tmp_path)


#: A helper with so many values, called with so many functions, that its contexts are merged.
APPLY = f"""
def apply(function, x):
    a = tf.convert_to_tensor(x)
    b = {" + ".join(["a"] * 30)}
    return function(a + b).numpy()
"""
MADE_HERE = "def outer{0}(x):\n    def inner(y): return work(y, {0}.0)\n    return apply(inner, x)\n"
KEPT = "def inner{0}(y): return work(y, {0}.0)\ndef outer{0}(x):\n    return apply(inner{0}, x)\n"


def test_a_helper_that_many_give_functions_calls_each_for_him_who_gave_it(tmp_path: Path) -> None:
    assert "HY102" in blocked(APPLY + "".join(map(MADE_HERE.format, range(24))), "outer7.inner", tmp_path)
    assert not blocked(APPLY + "".join(map(KEPT.format, range(24))), "inner7", tmp_path)


def test_a_branch_is_called_once(tmp_path: Path) -> None:
    source = "def outer(x):\n    def inner(y): return work(y, 2.0)\n    return print({})\n"
    chosen = "tf.cond(tf.rank(x) == 0, lambda: x, lambda: inner(x))"
    assert "HY102" in blocked(source.format(chosen), "outer.inner", tmp_path)
    assert not blocked(source.format("somewhere.repeat(lambda: inner(x))"), "outer.inner", tmp_path)
