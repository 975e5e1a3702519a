"""Hybrid functions that are traced too often: by shape, structure and value; what is a graph already is not told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """\
import collections, itertools
import numpy as np
import tensorflow as tf
v = tf.Variable(0.0)
ds = tf.data.Dataset.range(100).map(lambda x: tf.cast(x, tf.float32))
"""
STEP = "@tf.function{}\ndef step(x, *more):\n    v.assign_add(tf.reduce_sum(x))\n    return v * 2.0\n"

STATED = "@tf.function\ndef step(x, state):\n    v.assign_add(tf.reduce_sum(x))\n    return v * 2.0\n"

#: A program, and the findings about it.
PROGRAMS = {
    "sizes that a loop counts": (STEP.format("") + "for n in range(1, 50):\n    step(tf.ones([n]))\n", {"HY106"}),
    "sizes that are relaxed": (
        STEP.format("(reduce_retracing=True)") + "for n in range(1, 50):\n    step(tf.ones([n]))\n",
        set(),
    ),
    "a list that grows under relaxed shapes": (
        "@tf.function(reduce_retracing=True)\ndef step(xs):\n    return tf.add_n(xs)\nxs = []\n"
        "for n in range(50):\n    xs.append(tf.ones([2]))\n    step(xs)\n",
        {"HY104", "HY106"},
    ),
    "texts beside tensors, under relaxed shapes": (
        STEP.format("(reduce_retracing=True)") + "for line in open('x.txt'):\n    step(tf.ones([2]), line.strip())\n",
        {"HY101"},
    ),
    "a counter in a dictionary beside a variable": (
        STATED + "state = {'w': v, 'n': 0}\nfor i in range(50):\n    step(v, state)\n    state['n'] += 1\n",
        {"HY101"},
    ),
    "a counter that the object around it moves on": (
        STATED
        + "class Run:\n    def __init__(self):\n        self.state = {'w': v, 'n': 0}\n"
        + "    def tick(self):\n        self.state['n'] += 1\n"
        + "run = Run()\nfor i in range(50):\n    step(v, run.state)\n    run.tick()\n",
        {"HY101"},
    ),
    "a number beside a variable that is set before the loop": (
        STATED + "state = {'w': v, 'n': 0}\nstate['n'] += 1\nfor i in range(50):\n    step(v, state)\n",
        set(),
    ),
    "a dictionary of tensors that are set anew": (
        STATED + "state = {'w': tf.ones([2]), 'n': 0}\nfor i in range(50):\n    state['w'] = step(state['w'], state)\n",
        set(),
    ),
    "a number that a property counts": (
        STATED
        + "class Rate:\n    def __init__(self):\n        self.n = 0\n    @property\n    def now(self):\n"
        + "        return 1.0 / (1 + self.n)\n    def tick(self):\n        self.n += 1\n"
        + "rate = Rate()\nfor i in range(50):\n    step(v, rate.now)\n    rate.tick()\n",
        {"HY101"},
    ),
    "rows that a condition chooses": (
        STEP.format("")
        + "for i in range(50):\n    x = tf.random.uniform([9])\n    step(tf.boolean_mask(x, x > 0.5))\n",
        {"HY106"},
    ),
    "batches, the last of which is smaller": (
        STEP.format("") + "for x in ds.batch(32):\n    step(x)\n",
        set(),
    ),
    "batches of sequences that are as long as each other": (
        STEP.format("")
        + "for x in ds.map(lambda x: tf.fill([tf.cast(x, tf.int32)], 1.0)).batch(8).prefetch(2):\n    step(x)\n",
        set(),
    ),
    "sequences that are padded batch by batch": (
        STEP.format("")
        + "for x in ds.map(lambda x: tf.fill([tf.cast(x, tf.int32)], 1.0)).padded_batch(8):\n    step(x)\n",
        {"HY106"},
    ),
    "one entry of a dictionary with many": (
        STEP.format("")
        + "keys = ['a', 'b']\ndef sample():\n    return {k: np.ones([3]) for k in keys}\n"
        + "for i in range(50):\n    step(sample()['a'])\n",
        set(),
    ),
    "a graph that another unrolls": (
        STEP.format("")
        + "@tf.function\ndef outer(x):\n    for i in range(1, 9):\n        step(x[:i])\nouter(tf.ones([9]))\n",
        {"HY105"},
    ),
    "a graph with a signature that only graphs call": (
        "@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])\ndef inner(x):\n    return x * 2.0\n"
        "@tf.function\ndef outer(x):\n    return inner(x) + 1.0\nouter(tf.ones([3]))\n",
        {"HY105"},
    ),
    "a function that a data set maps": (
        "@tf.function\ndef parse(x):\n    return x * 2.0\nfor x in ds.map(parse):\n    print(x)\n",
        {"HY105"},
    ),
    "a function that is called, too": (
        "@tf.function\ndef parse(x):\n    return x * 2.0\nfor x in ds.map(parse):\n    print(parse(x))\n",
        set(),
    ),
    "an explicit graph in a graph": (
        "def inner(x):\n    return x * 2.0\nf = tf.function(inner)\n"
        "@tf.function\ndef outer(x):\n    return f(x) + 1.0\nouter(tf.ones([3]))\n",
        {"HY105"},
    ),
    "an explicit graph that XLA compiles": (
        "def inner(x):\n    return x * 2.0\nf = tf.function(inner, jit_compile=True)\n"
        "@tf.function\ndef outer(x):\n    return f(x) + 1.0\nouter(tf.ones([3]))\n",
        set(),
    ),
    "another name for a compiled graph": (
        "jitted = tf.function(jit_compile=True)\n@jitted\ndef inner(x):\n    return x * 2.0\n"
        "@tf.function\ndef outer(x):\n    return inner(x) + 1.0\nouter(tf.ones([3]))\n",
        set(),
    ),
    "numbers that a signature makes tensors of": (
        "from specs import signature\n@tf.function(input_signature=signature)\ndef step(x, n):\n"
        "    return tf.reduce_sum(x) + tf.cast(n, tf.float32)\nfor n in range(90):\n    step(tf.ones([3]), n)\n",
        set(),
    ),
    "what an object of a long list keeps": (
        "import random\nclass Node:\n    def __init__(self, state):\n        self.state = state\n"
        "@tf.function\ndef step(x):\n    return tf.nn.relu(x)\nroot = Node(np.load('a.npy'))\nfor _ in range(90):\n"
        "    path = [root]\n    while random.random() < 0.5:\n        path.append(root)\n"
        "    print(step(np.array([path[-1].state])))\n",
        set(),
    ),
    "a method of many sizes": (
        "class C:\n    @tf.function\n    def soft(self, x):\n        return tf.nn.softmax(x)\nc = C()\n"
        "for a, b in np.load('spans.npy').tolist():\n    print(c.soft(tf.ones([400])[a:b]))\n",
        {"HY106"},
    ),
    "an iterator that nobody knows": (
        "from somewhere import make\n@tf.function\ndef step(it):\n    v.assign_add(tf.reduce_sum(next(it)))\n"
        "it = iter(make())\nfor _ in range(50):\n    step(it)\n",
        set(),
    ),
    "the end of a data set that is handled in both ways": (
        "@tf.function\ndef step(it):\n    v.assign_add(next(it))\nit = iter(ds)\nwhile True:\n    try:\n"
        "        step(it)\n    except (StopIteration, tf.errors.OutOfRangeError):\n        break\n",
        set(),
    ),
    "the end of a data set that is handled as if eager": (
        "@tf.function\ndef step(it):\n    v.assign_add(next(it))\nit = iter(ds)\nwhile True:\n    try:\n"
        "        step(it)\n    except StopIteration:\n        break\n",
        {"HY319"},
    ),
    "a signature that a saved model gets as a concrete function": (
        "class M(tf.Module):\n    @tf.function\n    def serve(self, x):\n        return x * v\nm = M()\n"
        "graph = m.serve.get_concrete_function(tf.TensorSpec([None], tf.float32))\n"
        "tf.saved_model.save(m, 'x', signatures=graph)\n",
        set(),
    ),
    "a signature of a function with one": (
        "class M(tf.Module):\n    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])\n"
        "    def serve(self, x):\n        return x * v\nm = M()\ntf.saved_model.save(m, 'x', signatures=m.serve)\n",
        set(),
    ),
    "a graph that an object gets by its name": (
        "class L(tf.Module):\n    def build(self):\n"
        "        setattr(self, 'inner', tf.function(self.step))\n"
        "    def step(self, x):\n        return x * 2.0\n"
        "def make():\n    l = L()\n    l.build()\n    return l\n"
        "for l in [make(), make(), make()]:\n    for j in range(50):\n        l.inner(tf.ones([3]))\n",
        set(),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_findings(name: str, tmp_path: Path) -> None:
    source, expected = PROGRAMS[name]
    (tmp_path / "program.py").write_text(HEAD + source)
    report = analyze([tmp_path], Config())
    assert {f.code for f in report.findings} == expected


ENDLESS = {
    "until an operation fails": "while True:\n        v.assign_add(it.get_next())\n",
    "a counter without an end": "for i in itertools.count():\n        v.assign_add(it.get_next())\n",
    "a generator that goes on": "for i in numbers():\n        v.assign_add(it.get_next())\n",
    "a flag that nothing changes": "on = True\n    while on:\n        v.assign_add(it.get_next())\n",
}
ENDING = {
    "left by a break": "while True:\n        v.assign_add(x)\n        n += 1\n        if n > 9:\n            break\n",
    "left by a return": "for i in itertools.count():\n        v.assign_add(x)\n        if i > 9:\n            return\n",
    "as often as said": "for i in itertools.repeat(3, 9):\n        v.assign_add(x)\n",
}
DRIVER = (
    "def numbers():\n    while True:\n        yield 1\n"
    "def train(it, x, n):\n    {}"
    "for _ in range(50):\n    try:\n        train(iter(ds), tf.constant(1.0), 0)\n"
    "    except tf.errors.OutOfRangeError:\n        pass\n"
)


@pytest.mark.parametrize("name", [*ENDLESS, *ENDING])
def test_loops_that_only_errors_end_are_not_unrolled(name: str, tmp_path: Path) -> None:
    body = {**ENDLESS, **ENDING}[name]
    (tmp_path / "program.py").write_text(HEAD + DRIVER.format(body))
    report = analyze([tmp_path], Config(all_safe=True))
    train = next(f for f in report.functions if f.facts.qualname == "train")
    told = [s for s in train.statuses if s.code == "HY314"]
    assert bool(told) == (name in ENDLESS)
    assert name in ENDING or train.decision.action.value == "keep"


def test_a_value_that_differs_is_told_at_the_call_that_passes_it(tmp_path: Path) -> None:
    call = "for n in range(50):\n    print(len([1]), step(tf.ones([2]), n))\n"
    (tmp_path / "main.py").write_text(HEAD + STEP.format("") + call)
    (found,) = [each for each in analyze([tmp_path], Config()).findings if each.code == "HY101"]
    line = (tmp_path / "main.py").read_text().splitlines()[found.line - 1]
    assert line[found.column - 1 :].startswith("step(")


PICKS = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(3)])
model(tf.ones([2, 4]))
@tf.function
def rows(held, number):
    return tf.reduce_sum({use})
def main():
    held = []
    for layer in model.layers:
        held.append({element})
    for i in range(100):
        print(rows(held, i))
main()
"""


@pytest.mark.parametrize(
    ("use", "element", "severity"),
    [
        ("held[number]", "layer.weights[0]", "info"),
        ("held[0] * number", "layer.weights[0]", "warning"),
        ("held[number]", "layer.units * 1.5", "warning"),  # of numbers a tensor could be made
    ],
)
def test_a_number_that_picks_of_a_list_can_be_no_tensor(use: str, element: str, severity: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PICKS.format(use=use, element=element))
    found = [f.severity.value for f in analyze([tmp_path], Config()).findings if f.code == "HY101"]
    assert found == [severity]


STEP_OF_STATE = """\
def step(x, {}):
    for _ in range(20):
        x = tf.sin(x) * 0.5 + x
    return x


"""
#: A loop that passes Python numbers in a structure, and whether each call passes another one.
STATES = {
    "beside another dictionary": ("s", "s = {'o': {'n': 0, 'w': v}}", "step(v, s)\n    s['o']['n'] += 1", True),
    "with two stars": ("**s", "s = {'n': 0, 'w': v}", "step(v, **s)\n    s['n'] += 1", True),
    "made anew of the last": ("s", "s = {'n': 0, 'w': v}", "step(v, s)\n    s = {**s, 'n': s['n'] + 1}", True),
    "made anew by `dict`": ("s", "s = {'n': 0, 'w': v}", "step(v, s)\n    s = dict(s, n=s['n'] + 1)", True),
    "made for the call": ("s", "log = []", "log.append(step(v, {'n': len(log), 'w': v}))", True),
    "made for the call of what stays": ("s", "n = len(open('x').read())", "step(v, {'n': n, 'w': v})", False),
    "made for the call of tensors": ("s", "t = tf.ones([3])", "t = step(t, {'n': 3, 'w': t})", False),
}


@pytest.mark.parametrize("name", STATES)
def test_a_step_that_each_call_would_trace_stays_eager(name: str, tmp_path: Path) -> None:
    more, before, turn, anew = STATES[name]
    text = f"{HEAD}\n\n{STEP_OF_STATE.format(more)}{before}\nfor i in range(5000):\n    {turn}\n"
    (tmp_path / "program.py").write_text(text)
    report = next(f for f in analyze([tmp_path], Config()).functions if f.facts.qualname == "step")
    assert ("HY101" in {status.code for status in report.statuses}) == anew
    assert (report.decision.action.value == "convert_to_hybrid") != anew
