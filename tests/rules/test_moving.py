"""Python values that are made anew for each call, and long lists of tensors: each call would be traced or cost more."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """\
import csv, dataclasses, json, os, random, time
import numpy as np
import tensorflow as tf
from absl import app
def work(x):
    for _ in range(12):
        x = tf.nn.relu(x * 1.01 + 0.5) - tf.tanh(x)
    return x
def target(x, v):
    return tf.reduce_sum(work(x)) * v
def named(x, v):
    return tf.reduce_sum(work(x)) * (2.0 if v == "a" else 3.0)
"""
ONE = "tf.ones([4])"

PROGRAMS = {
    "a field that changes": (
        "class C:\n    def __init__(self):\n        self.eps = 1.0\n    def run(self):\n"
        f"        for _ in range(50):\n            target({ONE}, self.eps)\n            self.eps *= 0.99\nC().run()\n",
        "HY101",
    ),
    "a global that counts": (
        f"step = 0\ndef run():\n    global step\n    step += 1\n    target({ONE}, step)\n"
        "for _ in range(50):\n    run()\n",
        "HY101",
    ),
    "the length of a list that grows": (
        f"seen = []\nfor i in range(50):\n    seen.append(i)\n    target({ONE}, len(seen))\n",
        "HY101",
    ),
    "the number of chosen rows": (
        "for _ in range(50):\n    y = tf.boolean_mask(tf.ones([50]), tf.random.uniform([50]) > 0.5)\n"
        f"    target({ONE}, y.shape[0])\n",
        "HY101",
    ),
    "a number from a file": (f"for row in csv.reader(open('x.csv')):\n    target({ONE}, float(row[0]))\n", "HY101"),
    "a frozen data class": (
        "@dataclasses.dataclass(frozen=True)\nclass V:\n    step: int\n    def __rmul__(self, x):\n"
        f"        return x * self.step\nfor i in range(50):\n    target({ONE}, V(i))\n",
        "HY101",
    ),
    "a number from the command line": (
        f"def main(v):\n    for _ in range(50):\n        target({ONE}, v)\nmain(float(os.environ.get('V', 1)))\n",
        "",
    ),
    "a number that a loop computes again": (
        f"def main(n, k):\n    for _ in range(50):\n        target({ONE}, float(n // k))\nmain(int(input()), 3)\n",
        "",
    ),
    "a number that the program reads once": (
        f"def main(argv):\n    v = json.load(open('x.json'))['v']\n    for _ in range(50):\n"
        f"        target({ONE}, float(v))\n"
        "app.run(main)\n",
        "",
    ),
    "the size of a vocabulary": (
        f"words = {{}}\nfor w in 'a b'.split():\n    words[w] = len(words)\nfor _ in range(50):\n"
        f"    target({ONE}, len(words))\n",
        "",
    ),
    "a name of each of some things that a loop inside uses": (
        "def main(folder):\n    sets = {name: tf.ones([4]) for name in os.listdir(folder)}\n    for _ in range(9):\n"
        "        for name, data in sets.items():\n            for _ in range(50):\n"
        "                named(data, name)\nmain('.')\n",
        "",
    ),
    "a name of each of some things that are counted": (
        "def main(folder):\n    sets = {name: tf.ones([4]) for name in os.listdir(folder)}\n    for _ in range(9):\n"
        "        for i, (name, data) in enumerate(sorted(sets.items())):\n            for _ in range(50):\n"
        "                named(data, name)\nmain('.')\n",
        "",
    ),
    "a line of each of the lines of a stream that are counted": (
        "def lines():\n    while True:\n        yield input()\n"
        "def main():\n    for i, name in enumerate(lines()):\n        for _ in range(50):\n"
        f"            named({ONE}, name)\nmain()\n",
        "HY101",
    ),
    "a name of its own for each call": (
        "def main(folder):\n    sets = {name: tf.ones([4]) for name in os.listdir(folder)}\n    for _ in range(9):\n"
        "        for name, data in sets.items():\n            named(data, name)\nmain('.')\n",
        "HY101",
    ),
    "a long list": (f"rows = [{ONE} for _ in range(64)]\nfor _ in range(50):\n    target(rows, 2.0)\n", "HY104"),
    "a long tuple": (
        f"for _ in range(50):\n    target(tuple({ONE} for _ in range(64)), 2.0)\n",
        "HY104",
    ),
    "a dictionary of rows": (
        f"for _ in range(50):\n    target({ONE}, {{i: {ONE} for i in range(64)}})\n",
        "HY104",
    ),
    "the rows of a batch": (
        "def main():\n    data = np.load('x.npy')\n    for _ in range(50):\n"
        "        target([v * 2 for v in data], 2.0)\nmain()\n",
        "HY104",
    ),
    "as many as are drawn": (
        f"for _ in range(50):\n    target([{ONE} for _ in range(random.randint(1, 9))], 2.0)\n",
        "HY104",
    ),
    "a list that a loop fills until it is told to stop": (
        f"for _ in range(50):\n    seen = [{ONE}]\n    while random.random() > 0.1:\n        seen.append({ONE})\n"
        "    target(seen, 2.0)\n",
        "HY104",
    ),
    "what layers give": (
        "layers = [tf.keras.layers.Dense(4) for _ in range(3)]\nfor _ in range(50):\n"
        "    target([layer(tf.ones([2, 4])) for layer in layers], 2.0)\n",
        "",
    ),
    "twice as many states as there are layers": (
        f"def main(n):\n    states = [{ONE} for _ in range(n * 2)]\n    for _ in range(50):\n"
        "        target(states, 2.0)\nmain(int(input()))\n",
        "",
    ),
    "what a function that runs often has given once": (
        "def read(name):\n    return float(open(name).read())\n"
        "first = read(input())\nothers = [read(input()), read(input()), read(input()), read(input())]\n"
        f"for _ in range(50):\n    target({ONE}, first)\n",
        "",
    ),
    "what such a function gives at each turn": (
        "def read(name):\n    return float(open(name).read())\n"
        f"for _ in range(50):\n    target({ONE}, read(input()))\n",
        "HY101",
    ),
    "as many states as there are layers": (
        f"def main(n):\n    states = [{ONE} for _ in range(n)]\n    for _ in range(50):\n        target(states, 2.0)\n"
        "main(int(input()))\n",
        "",
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_what_calls_pass(case: str, tmp_path: Path) -> None:
    source, expected = PROGRAMS[case]
    (tmp_path / "program.py").write_text(HEAD + source)
    report = analyze([tmp_path], Config())
    name = "named" if "named(" in source else "target"
    found = next(f for f in report.functions if f.facts.qualname == name)
    assert {s.code for s in found.statuses if s.code.startswith("HY1")} == ({expected} if expected else set())
    assert (found.decision.action.value == "convert_to_hybrid") is not bool(expected)


def test_what_some_calls_only_may_pass_is_told_so(tmp_path: Path) -> None:
    source = f"for line in open('a.txt'):\n    target({ONE}, {ONE} if line == 'one' else float(line))\n"
    (tmp_path / "main.py").write_text(HEAD + source)
    report = analyze([tmp_path], Config())
    said = [
        s.message for f in report.functions if f.facts.qualname == "target" for s in f.statuses if s.code == "HY101"
    ]
    assert [message.split(",")[0] for message in said] == ["`v` may receive a Python float"]
