"""Objects that are made of themselves do not make the analysis endless."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.facts.model import Ternary

PROGRAMS = {
    "a callable object whose call is one": """\
class Again:
    pass
again = Again()
Again.__call__ = again
again(1)
""",
    "a descriptor whose get is one": """\
class Again:
    pass
Again.__get__ = Again()
class Owner:
    field = Again()
    __call__ = Again()
Owner().field
Owner()(1)
""",
    "attributes found by looking for attributes": """\
class Again:
    def __getattr__(self, name):
        return getattr(self, name + "x")
Again().a
""",
    "functions wrapped again and again": """\
import functools
import tensorflow as tf
g = abs
def wrap(h):
    return functools.partial(tf.function(h), h)
while g:
    g = wrap(g)
    g = property(g, g).fget
    g.name.other.another
g(1)
""",
    "bound methods that are passed to themselves": """\
class Node:
    def link(self, other):
        self.next = other
        return self.link
node = Node()
step = node.link
for _ in range(9):
    step = step(step)
    step = (step, step, [step])[0]
node.next.__self__.next.__func__
""",
    "tuples that grow in a recursive generator": """\
def powers(n, k):
    if not k:
        yield ()
        return
    for i in range(n):
        for inner in powers(n - i, k - 1):
            yield (i,) + inner
for found in powers(3, 4):
    found[0]
""",
    "texts repeated more often than fits any memory": """\
import sys
"ab" * sys.maxsize, "ab" * 2**62, (10**15) * "ab", b"ab" * 2**62, [0] * 2**62, (0,) * 2**62, 10 ** 10 ** 10, 1 << 2**62
x = "ab" * 9_000_000_000_000_000
""",
    "a place that loses a structure and gets it again": """\
class Buffer:
    def __init__(self):
        self.items = [[None]] * 9
    def push(self, item):
        self.items[0] = item
        self.items[len(self.items)] = (item, self.items[-1], ("undo", self.items))
    def pop(self):
        return self.items.pop()
class Pen:
    def __init__(self, other=None):
        self.place = (0, 0.0)
        self.buffer = Buffer()
    def clone(self):
        made = Pen()
        made.__dict__.update(self.__dict__)
        for name in self.__dict__:
            setattr(made, name, self.buffer.pop())
        return made
    def go(self, end):
        self.buffer.push(("go", self.place, end, (self.clone(), self.buffer.pop())))
        self.place = (self.place[0] + end[0], self.buffer.pop()[1])
pen = Pen()
for i in range(9):
    pen = pen.clone()
    pen.go((i, pen.place))
""",
    "attributes of what nobody knows": """\
import somewhere
thing = somewhere.find()
while thing:
    thing = thing.next[0].other(1)
    with thing.scope() as thing:
        pass
thing.name
""",
    "structures that are mapped again and again": """\
import tensorflow as tf
state = {"a": [tf.ones(2), (tf.ones(3), [])]}
state["a"].append(state)
while tf.executing_eagerly():
    state = tf.nest.map_structure(lambda t: state, state)
    state = tf.nest.map_structure(tf.abs, {"b": state})
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_ends(name: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAMS[name] + "def f(x):\n    return x\nf(1)\n")
    report = analyze([tmp_path], Config())
    assert any(f.facts.qualname == "f" and f.facts.reached for f in report.functions)


def _web(size: int) -> str:
    """Containers each of which holds all of them, given to everything that looks into its arguments."""
    lines = ["import copy, functools", "import numpy as np", "import tensorflow as tf"]
    lines += [f"c{i} = []" if i % 3 else f"c{i} = {{}}" for i in range(size)]
    for i in range(size):
        lines += [f"c{i}.append(c{j})" if i % 3 else f"c{i}[key()] = c{j}" for j in range(size)]
    lines += ["def pick():", "    return " + " or ".join(f"c{i}" for i in range(size))]
    for i, use in enumerate(_USES):
        lines += [f"def use{i}(a, b):", "    tf.abs(1.0)", f"    r = {use}", "    return r", f"use{i}(pick(), pick())"]
    lines += ["@tf.function", "def graph(x, a, b):", "    a.append(b)", "    b[0] = x", "    return a, x"]
    return "\n".join([*lines, "graph(tf.ones(2), pick(), pick())", ""])


_USES = (
    "print(a)",
    "sorted(a)",
    "max(a)",
    "a == b",
    "a + b",
    "a[1:]",
    "copy.deepcopy(a)",
    "tf.nest.map_structure(tf.abs, a)",
    "tf.nest.map_structure(tf.add, a, b)",
    "tf.nest.flatten(a)",
    "tf.stack(a)",
    "tf.constant(a)",
    "tf.data.Dataset.from_tensor_slices(a).batch(2)",
    "tf.while_loop(lambda x: True, lambda x: x, a)",
    "tf.cond(True, lambda: a, lambda: b)",
    "np.array(a)",
    "tf.keras.layers.Dense(3)(a)",
    "tf.keras.Sequential(a)",
    "functools.reduce(lambda x, y: x + y, a)",
    "tf.distribute.MirroredStrategy().run(graph, a)",
    "a.extend(b)",
)


def test_containers_that_hold_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(_web(12))
    report = analyze([tmp_path], Config())
    assert all(f.facts.reached for f in report.functions if f.facts.qualname.startswith("use"))


_NEST = """\
import tensorflow as tf
def nest(d):
    for i in range(6):
        d["k%d" % i] = [tf.ones(2), (tf.ones(3), [d]), {"x": (d, d), "y": [d, (d, [d])]}]
        d["l%d" % i] = list(d.items())
    return d
names = nest({})
parts = [names, (names, [names])]
parts.append((parts, (parts, names), [parts]))
class Net(tf.keras.Model):
    def call(self, x, training=None):
        return x
net = Net()
"""
_GIVEN_A_NEST = (
    "net(v, v)",
    "net.fit(v, v)",
    "net.predict(v)",
    "net.evaluate(v)",
    "net.train_on_batch(v, v)",
    "tf.keras.Sequential(v)(v)",
    "tf.keras.Model(inputs=v, outputs=v)(v)",
    "tf.keras.layers.Concatenate()(v)",
    "tf.keras.layers.LSTM(3)(v, initial_state=v)",
    "tf.keras.optimizers.Adam().apply_gradients(zip(v, v))",
    "tf.GradientTape().gradient(v, v)",
    "tf.data.Dataset.from_generator(lambda: v, output_signature=v).padded_batch(2)",
    "tf.map_fn(lambda x: v, v, fn_output_signature=v)",
    "tf.io.parse_single_example('', v)",
)


@pytest.mark.parametrize("use", _GIVEN_A_NEST)
def test_what_holds_itself_through_tuples_is_looked_at_once(
    use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[str] = []
    monkeypatch.setattr("hybridize.flow.world.World.note_failure", lambda _, message: failures.append(message))
    (tmp_path / "main.py").write_text(f"{_NEST}def use(v):\n    {use}\n    return v\nuse(names)\nuse((parts, names))\n")
    report = analyze([tmp_path], Config())
    assert all(f.facts.reached for f in report.functions if f.facts.qualname == "use")
    assert not failures


def test_what_is_no_longer_followed_is_unknown_not_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridize.flow.contexts.ALLOWANCE", 20)
    monkeypatch.setattr("hybridize.flow.contexts.ALLOWANCE_BY_SLOT", 1)
    body = "\n".join(f"        y = tf.abs(x) + {i}" for i in range(40))
    source = f"import tensorflow as tf\ndef f(x):\n    for i in range(9):\n{body}\n    return y\nf(tf.ones(2))\n"
    (tmp_path / "main.py").write_text(source)
    (function,) = analyze([tmp_path], Config(all_safe=True)).functions
    effects = function.facts.python_side_effects
    assert effects.value is Ternary.UNKNOWN
    assert "`f` is more code than the analysis follows" in effects.evidence[0].message
