"""Sizes that only a run knows: other sizes are let in where nothing asks for them, else the function stays eager."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from hybridize.api import analyze
from hybridize.config import Config

HEAD = """\
import random
import numpy as np
import tensorflow as tf
def work(x):
    for _ in range(12):
        x = tf.nn.relu(x * 1.01 + 0.5) - tf.tanh(x)
    return x
"""
SUM = "def target(x):\n    return tf.reduce_sum(work(x))\n"
READ = "def target(x):\n    return tf.reduce_sum(work(tf.reshape(x, [x.shape[0] * 4])))\n"
MANY, FEW, KEPT = "other sizes", "as it is", "eager"

PROGRAMS = {
    "rows of what a text says": (
        SUM.replace("work(x)", "work(work(work(x)))") + "import json\n"
        "text = json.dumps([{'rows': [[1.0, 2.0]] * n} for n in range(1, 40)])\n"
        "class Rows:\n    def __init__(self, text):\n        self.items = json.loads(text)\n"
        "    def __len__(self):\n        return len(self.items)\n"
        "    def __getitem__(self, i):\n        return target(np.array(self.items[i]['rows'], 'float32'))\n"
        "rows = Rows(text)\nfor i in range(len(rows)):\n    print(rows[i])\n",
        MANY,
    ),
    "rows of what files hold, whose number is asked for": (
        READ + "import sys\ndef load(path):\n    return tf.constant(np.loadtxt(path), tf.float32)\n"
        "for path in sys.argv[1:]:\n    print(target(load(path)))\n",
        KEPT,
    ),
    "even parts of what a file holds": (
        READ
        + "import sys\ndata = np.load(sys.argv[1])\nfor i in range(0, 32000, 32):\n    print(target(data[i:i + 32]))\n",
        FEW,
    ),
    "a row of a ragged tensor": (
        SUM + "rows = tf.RaggedTensor.from_row_lengths(tf.ones([55]), list(range(1, 11)))\n"
        "for row in rows:\n    target(row)\n",
        MANY,
    ),
    "a part of random length": (
        SUM + "for _ in range(40):\n    target(tf.ones([50, 4])[:random.randint(1, 50)])\n",
        MANY,
    ),
    "a size that a loop counts": (SUM + "for n in range(1, 40):\n    target(tf.ones([n, 4]))\n", MANY),
    "a size that a loop counts, by a helper": (
        SUM + "def make(n):\n    return tf.ones([n, 4])\nfor n in range(1, 40):\n    target(make(n))\n",
        MANY,
    ),
    "a size that a loop counts, in a callback": (
        SUM + "x = np.ones([60, 4])\nr = list(map(lambda n: target(x[:n + 1]), range(40)))\n",
        MANY,
    ),
    "an image of random size": (
        SUM + "for _ in range(30):\n    n = np.random.randint(8, 64)\n    target(tf.ones([1, n, n, 3]))\n",
        MANY,
    ),
    "an episode": (
        SUM + "for _ in range(40):\n    seen = [np.ones(4, 'float32')]\n    while random.random() > 0.1:\n"
        "        seen.append(np.ones(4, 'float32'))\n    target(np.array(seen))\n",
        MANY,
    ),
    "rows chosen one by one": (
        SUM + "for _ in range(40):\n    rows = [np.ones(4) for v in np.random.rand(50) if v > 0.5]\n"
        "    target(tf.stack(rows))\n",
        MANY,
    ),
    "a list that a field keeps": (
        "class C:\n    def __init__(self):\n        self.seen = []\n    def target(self, x):\n"
        "        return tf.reduce_sum(work(x))\n    def observe(self, v):\n        self.seen.append(v)\n"
        "        return self.target(tf.stack(self.seen))\n"
        "c = C()\nfor _ in range(30):\n    c.observe(tf.ones([4]))\n",
        MANY,
    ),
    "words of a text": (
        "table = tf.Variable(tf.ones([9, 8]))\ndef target(x):\n    return work(tf.nn.embedding_lookup(table, x))\n"
        "for text in ['a b', 'a', 'a b c'] * 9:\n    target(tf.constant([len(w) for w in text.split()]))\n",
        MANY,
    ),
    "rows that a layer takes": (
        "layer = tf.keras.layers.Dense(4)\nlayer.build([None, 4])\ndef target(x):\n    return work(layer(x))\n"
        "for _ in range(40):\n    x = np.random.randn(50, 4)\n    target(x[x[:, 0] > 0])\n",
        MANY,
    ),
    "sizes that are asked if they are None": (
        "def sizes(x):\n    return [tf.shape(x)[i] if n is None else n for i, n in enumerate(x.shape)]\n"
        "def target(x):\n    a, b = sizes(x)\n    return work(tf.reshape(x, [a * b]))\n"
        "for _ in range(40):\n    x = np.random.randn(50, 4)\n    target(x[x[:, 0] > 0])\n",
        MANY,
    ),
    "examples of a data set, one in each batch": (
        SUM + "def rows():\n    for n in range(1, 40):\n        yield np.ones([n, 4], 'float32')\n"
        "for x in tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec([None, 4])).batch(1):\n"
        "    target(x)\n",
        MANY,
    ),
    "texts that are split after they are batched": (
        SUM + "def parse(t):\n    return tf.cast(tf.strings.length(tf.strings.split(t).to_tensor()), tf.float32)\n"
        "texts = tf.data.Dataset.from_tensor_slices([' '.join('a' * n) for n in range(1, 80)])\n"
        "for x in texts.batch(2).map(parse):\n    target(x)\n",
        MANY,
    ),
    "parts whose ends are data": (
        SUM + "x = np.ones([400, 4])\nspans = np.cumsum(np.random.randint(1, 90, [40, 2]), 1).tolist()\n"
        "for a, b in spans:\n    target(x[a:b])\n",
        MANY,
    ),
    "texts as long as the longest of a batch": (
        SUM + "def batches(texts):\n    for i in range(0, len(texts), 2):\n"
        "        n = max(len(t) for t in texts[i:i + 2])\n        yield np.ones([2, n], 'float32')\n"
        "for x in batches(['a' * random.randint(1, 90) for _ in range(80)]):\n    target(x)\n",
        MANY,
    ),
    "texts that are padded": (
        SUM + "def main(texts):\n    for i in range(0, len(texts), 2):\n"
        "        target(tf.keras.preprocessing.sequence.pad_sequences(texts[i:i + 2], dtype='float32'))\n"
        "main([[1.0] * random.randint(1, 90) for _ in range(80)])\n",
        MANY,
    ),
    "a part that ends with the array, and its length asked": (
        READ + "def main(x, size, start=0):\n    while start < len(x):\n"
        "        target(x[start:min(start + size, len(x))])\n        start += size\nmain(np.random.rand(410, 4), 10)\n",
        FEW,
    ),
    "rows by numbers of a fixed count": (
        SUM + "x = np.ones([300, 4])\nfor _ in range(40):\n    target(x[np.random.choice(300, 32)])\n",
        FEW,
    ),
    "an array that is made once": (
        SUM + "def main(n):\n    x = tf.ones([n, 4])\n    for _ in range(40):\n        target(x)\nmain(int(input()))\n",
        FEW,
    ),
    "batches": (
        SUM + "for x in tf.data.Dataset.from_tensor_slices(tf.ones([1000, 4])).batch(64):\n    target(x)\n",
        FEW,
    ),
    "rows chosen once, and their number asked": (
        READ + "x = np.random.randn(50, 4)\nrows = x[x[:, 0] > 0]\nfor _ in range(40):\n    target(rows)\n",
        FEW,
    ),
    "a part that moves, and its length asked": (
        READ + "def main():\n    x = np.load('x.npy')\n    for i in range(0, 400, 10):\n"
        "        target(x[i:i + 10])\nmain()\n",
        FEW,
    ),
    "chosen rows, and their number asked": (
        READ + "for _ in range(40):\n    x = np.random.randn(50, 4)\n    target(x[x[:, 0] > 0])\n",
        KEPT,
    ),
    "a size that a loop counts, and asked": (READ + "for n in range(1, 40):\n    target(tf.ones([n, 4]))\n", KEPT),
    "a size that a helper draws, and asked": (
        READ + "def make():\n    return tf.ones([random.randint(1, 90), 4])\nfor _ in range(40):\n    target(make())\n",
        KEPT,
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_sizes_of_arguments(case: str, tmp_path: Path) -> None:
    source, expected = PROGRAMS[case]
    (tmp_path / "program.py").write_text(HEAD + source)
    report = analyze([tmp_path], Config())
    decision = next(f for f in report.functions if f.facts.qualname.endswith("target")).decision
    given = dict(decision.arguments)
    if decision.action.value != "convert_to_hybrid":
        assert expected == KEPT
    elif "experimental_relax_shapes" in given or "None" in given.get("input_signature", ""):
        assert expected == MANY
    else:
        assert expected == FEW


@pytest.mark.tensorflow
@pytest.mark.parametrize("case", [case for case, (_, expected) in PROGRAMS.items() if expected == MANY])
def test_few_graphs_serve_all_sizes(case: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    tree = ast.parse(HEAD + PROGRAMS[case][0])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "target":
            node.decorator_list.append(ast.parse("tf.function(reduce_retracing=True)", mode="eval").body)
            node.body.insert(0, ast.parse("traces.append(1)").body[0])
    (tmp_path / "program.py").write_text(ast.unparse(ast.fix_missing_locations(tree)))
    names: dict[str, Any] = {"traces": []}
    exec(compile((tmp_path / "program.py").read_text(), str(tmp_path / "program.py"), "exec"), names)
    assert len(names["traces"]) <= 3


AGENT = """\
class Agent:
    def __init__(self):
        self.w = tf.Variable(tf.ones([4]))
    def target(self, x):
        return work(x * self.w)
def episode():
    agent = Agent()
    for _ in range(COUNT):
        agent.target(tf.ones([4]))
for _ in range(MADE):
    episode()
"""
LAYERS = """\
class Double(tf.keras.layers.Layer):
    def call(self, x):
        return work(x)
class Model:
    def predict(self, xs):
        layer = Double()
        return [layer(x) for x in xs]
model = Model()
for _ in range(40):
    model.predict([tf.ones([4]), tf.ones([4])])
"""


@pytest.mark.parametrize(("made", "count", "pays"), [(20, 9, False), (20, 50, False), (20, 2000, True), (2, 50, True)])
def test_each_new_receiver_is_traced(made: int, count: int, pays: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + AGENT.replace("COUNT", str(count)).replace("MADE", str(made)))
    report = analyze([tmp_path], Config())
    found = next(f for f in report.functions if f.facts.qualname == "Agent.target")
    assert (found.decision.action.value == "convert_to_hybrid") is pays


def test_a_layer_that_each_call_makes_is_traced_each_time(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + LAYERS)
    report = analyze([tmp_path], Config())
    found = next(f for f in report.functions if f.facts.qualname == "Double.call")
    assert found.decision.action.value == "keep"


def test_a_functional_model_keeps_its_layers_whatever_list_they_were_given(tmp_path: Path) -> None:
    layer = "class Scaled(tf.keras.layers.Layer):\n    def call(self, pair):\n        return work(pair[0]) * pair[1]\n"
    calls = "for _ in range(5):\n    x = Scaled()([x, tf.ones([4])])\nmodel = tf.keras.Model(given, x)\n"
    (tmp_path / "program.py").write_text(HEAD + layer + "x = given = tf.keras.Input([4])\n" + calls)
    report = analyze([tmp_path], Config())
    found = next(f for f in report.functions if f.facts.qualname == "Scaled.call")
    assert "HY103" not in {status.code for status in found.statuses}


RANKS = """\
import numpy as np
import tensorflow as tf
def work(x):
    for _ in range(12):
        x = tf.nn.relu(x * 1.01 + 0.5) - tf.tanh(x)
    return x
def target(x):
    n = {asks}
    return work(x) * n
"""
KNOWN = "for n in range(1, 40):\n    target(tf.ones([n, 4]))\n"
ANY = "import sys\nfor path in sys.argv[1:]:\n    target(tf.constant(np.loadtxt(path), tf.float32))\n"
ASKS = ("len(x.shape)", "x.shape.rank", "x.shape.ndims", "x.ndim", "len(x.get_shape())")


def relaxes(source: str, tmp_path: Path) -> bool:
    (tmp_path / "program.py").write_text(source)
    report = analyze([tmp_path], Config(all_safe=True))
    decision = next(f for f in report.functions if f.facts.qualname.endswith("target")).decision
    assert decision.action.value == "convert_to_hybrid"
    given = dict(decision.arguments)
    return "experimental_relax_shapes" in given or "None" in given.get("input_signature", "")


@pytest.mark.parametrize("asks", ASKS)
def test_no_other_rank_is_let_in_where_it_is_asked_for(asks: str, tmp_path: Path) -> None:
    assert not relaxes(RANKS.format(asks=asks) + ANY, tmp_path)


@pytest.mark.parametrize(("asks", "calls"), [("2.0", ANY), *((asks, KNOWN) for asks in ASKS)])
def test_other_sizes_are_let_in_where_no_rank_is_asked_for_or_it_is_known(
    asks: str, calls: str, tmp_path: Path
) -> None:
    assert relaxes(RANKS.format(asks=asks) + calls, tmp_path)


@pytest.mark.tensorflow
@pytest.mark.parametrize("asks", ASKS)
def test_tensorflow_forgets_the_rank_when_another_one_comes(asks: str) -> None:
    tf = pytest.importorskip("tensorflow")
    names: dict[str, Any] = {}
    exec(RANKS.format(asks=asks).replace("n = ", "n = 0.0 + "), names)
    graph = tf.function(names["target"], reduce_retracing=True, autograph=False)
    graph(tf.ones([2]))
    assert graph(tf.ones([3])).shape == [3]  # another size: the rank is still known
    try:
        assert float(tf.reduce_max(graph(tf.ones([3, 3])))) < 0  # `ndim` is -1
    except (TypeError, ValueError):
        assert asks != "x.ndim"
    else:
        assert asks == "x.ndim"
