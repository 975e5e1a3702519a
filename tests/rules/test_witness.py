"""Errors and warnings about state and traces stand on a witness: an order of events in which the harm comes about.

What is called harmful is so under TensorFlow too: each program keeps in `shown` what it saw, and in `meant` what the
same calls give eagerly. With a witness the two differ; without one the finding is information.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Finding

HEAD = "import tensorflow as tf\n"


def findings(folder: Path, source: str, code: str) -> list[Finding]:
    """The findings of a rule in a program."""
    (folder / "main.py").write_text(HEAD + dedent(source), "utf-8")
    return [f for f in analyze([folder], Config()).findings if f.code == code]


def loudest(folder: Path, source: str, code: str) -> str:
    """The highest severity of a rule's findings; `none` without any."""
    found = {f.severity.value for f in findings(folder, source, code)}
    return next((each for each in ("error", "warning", "info") if each in found), "none")


def seen(source: str, *, eager: bool) -> list[float]:
    """What a program shows in its list `shown`, eager or as it is."""
    tf = pytest.importorskip("tensorflow")
    tf.config.run_functions_eagerly(eager)
    try:
        space: dict[str, list[float]] = {}
        exec(HEAD + dedent(source), space)  # the program is one of this file's
        return [float(each) for each in space["shown"]]
    finally:
        tf.config.run_functions_eagerly(False)


# HY602: the call, the write, the next call -------------------------------------------------------------------------

GLOBAL = """
    batch = {"x": tf.zeros(2)}
    @tf.function
    def loss():
        return tf.reduce_sum(batch["x"])
    shown = []
    for i in range(3):
        batch = {"x": tf.fill(2, float(i))}
        shown.append(loss())
"""
ANEW = """
    def make(k):
        @tf.function
        def scaled(x):
            return tf.reduce_sum(x) * rate
        return scaled
    shown = []
    for i in range(3):
        rate = float(i)
        scaled = make(i)
        shown.append(scaled(tf.ones(2)))
"""
EXPLICIT = """
    class Model:
        rate = 1.0
        def step(self, x):
            return tf.reduce_sum(x) * self.rate
    model = Model()
    shown = []
    for i in range(3):
        model.rate = float(i)
        step = tf.function(model.step)
        shown.append(step(tf.ones(2)))
"""
OTHERS = """
    class Model:
        def __init__(self):
            self.rate = 1.0
        @tf.function
        def step(self, x):
            return tf.reduce_sum(x) * self.rate
    def train(k):
        model = Model()
        model.rate = k
        return model.step(tf.ones(2))
    shown = [train(float(i)) for i in range(3)]
"""
THROUGH = """
    def plain():
        return tf.constant(7.0)
    @tf.function
    def scaled():
        return tf.reduce_sum(tf.ones(2)) * rate
    shown = []
    rate = 0.0
    for f in [plain, scaled]:
        rate += 1.0
        shown.append(f())
"""


CHOSEN = """
    class Plain:
        def train(self):
            self.rate = 1.0
            return [tf.constant(2.0)]
    class Model:
        def __init__(self):
            self.rate = 0.0
        @tf.function
        def step(self, x):
            return tf.reduce_sum(x) * self.rate
        def train(self):
            found = []
            for i in range(3):
                self.rate += 1.0
                found.append(self.step(tf.ones(2)))
            return found
    model = Model() if tf.__version__ > "2" else Plain()
    shown = model.train()
"""


LAZY = """
    class Model:
        def __init__(self):
            self.graph, self.rate = None, 0.0
        def plain(self, x):
            return tf.reduce_sum(x) * self.rate
        def set(self, rate):
            self.rate = rate
            {changes}
        def step(self, rate):
            self.set(rate)
            if self.graph is None:
                self.graph = tf.function(self.plain)
            return self.graph(tf.ones(2))
    model = Model()
    shown = [model.step(1.0), model.step(2.0)]
"""
NESTED = """
    class Model:
        def __init__(self):
            self.graph, self.rate = None, 0.0
        def step(self, rate):
            self.rate = rate
            if self.graph is None:
                @tf.function
                def scaled(x):
                    return tf.reduce_sum(x) * self.rate
                self.graph = scaled
            return self.graph(tf.ones(2))
    model = Model()
    shown = [model.step(1.0), model.step(2.0)]
"""


@pytest.mark.parametrize(
    ("source", "severity"),
    [
        (LAZY.replace("{changes}", "pass"), "error"),
        (LAZY.replace("{changes}", "self.graph = None"), "info"),
        (LAZY.replace("{changes}", "setattr(self, 'graph', None)"), "info"),
        (
            LAZY.replace("{changes}", "if self.graph is not None:\n                del self.graph; self.graph = None"),
            "info",
        ),
        (
            LAZY.replace("{changes}", "pass")
            .replace("self.set(rate)", "self.rate = rate")
            .replace("None:\n", "None or rate != self.seen:\n                self.seen = rate\n"),
            "info",
        ),
        (NESTED, "error"),
    ],
    ids=["found by later calls", "emptied", "by its name", "where it is there", "for another", "defined there"],
)
def test_a_graph_that_is_made_where_there_is_none_yet_is_one_for_all_calls(
    source: str, severity: str, tmp_path: Path
) -> None:
    assert loudest(tmp_path, source, "HY602") == severity
    assert (seen(source, eager=False) != seen(source, eager=True)) == (severity == "error")


@pytest.mark.parametrize(
    ("source", "severity"),
    [(GLOBAL, "error"), (ANEW, "info"), (EXPLICIT, "info"), (OTHERS, "info"), (THROUGH, "info"), (CHOSEN, "error")],
    ids=["a global", "made anew", "wrapped anew", "another object", "who is called is not sure", "chosen before"],
)
def test_stale_state_needs_a_write_between_two_calls_of_one_graph(source: str, severity: str, tmp_path: Path) -> None:
    assert loudest(tmp_path, source, "HY602") in (severity, "none" if severity == "info" else severity)
    assert (seen(source, eager=False) != seen(source, eager=True)) == (severity == "error")


MODE = """
    class Model:
        def __init__(self):
            self.training = False
        @tf.function
        def step(self, x):
            return x * 2.0 if self.training else x
        def show(self):
            shown.append(self.step(tf.constant(1.0)))
    shown = []
    model = Model()
"""


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("for _ in range(3):\n    model.training = True; model.show()", "info"),
        ("model.training = True; model.show(); model.training = True; model.show()", "info"),
        ("model.show(); model.training = True; model.show()", "error"),
        ("for _ in range(3):\n    model.show(); model.training = True", "error"),
        ("for i in range(3):\n    if i == 2:\n        model.training = True\n    model.show()", "error"),
        ("for _ in range(3):\n    model.training = True; model.show(); model.training = False; model.show()", "error"),
    ],
)
def test_what_is_set_to_the_same_before_each_call_is_not_stale(calls: str, severity: str, tmp_path: Path) -> None:
    source = dedent(MODE) + calls
    assert loudest(tmp_path, source, "HY602") in (severity, "none" if severity == "info" else severity)
    assert (seen(source, eager=False) != seen(source, eager=True)) == (severity == "error")


PUT_BACK = """
    class Model:
        def __init__(self):
            self.layers = [self]
            self.training = False
        @tf.function
        def step(self, x):
            return x * 2.0 if self.training else x
    def look(model):
        for part in model.layers:
            before = part.training
            part.training = True
            if isinstance(part, Model):
                {between}
            part.training = before
    shown = []
    model = Model()
    for _ in range(3):
        shown.append(model.step(tf.constant(1.0)))
        look(model)
"""


@pytest.mark.parametrize(
    ("between", "severity"),
    [
        ("count = len(model.layers)", "info"),
        ("shown.append(model.step(tf.constant(1.0)))", "error"),  # which sees it in between
        ("model.training = True; before = True", "error"),
    ],
)
def test_what_its_writer_puts_back_is_stale_only_for_calls_in_between(
    between: str, severity: str, tmp_path: Path
) -> None:
    source = PUT_BACK.format(between=between)
    assert loudest(tmp_path, source, "HY602") in (severity, "none" if severity == "info" else severity)
    assert (seen(source, eager=False) != seen(source, eager=True)) == (severity == "error")


OF_UNKNOWN_SIZE = """
    import numpy, os
    numpy.save("batch.npy", numpy.ones(3))
    rate = 1.0
    @tf.function
    def step(x):
        return tf.reduce_sum(x) * rate
    shown = []
    for i in range(3):
        {calls}
        rate += 1.0
    os.remove("batch.npy")
"""


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("for _ in range(2): shown.append(step(numpy.load('batch.npy')))", "warning"),
        ("shown.append(step(numpy.load('batch.npy')))", "info"),
        ("for _ in range(2): shown.append(step(tf.ones([len(shown), len(shown)])))", "info"),  # each of its own size
    ],
)
def test_arguments_of_unknown_size_share_a_graph_in_a_loop_of_calls(calls: str, severity: str, tmp_path: Path) -> None:
    assert loudest(tmp_path, OF_UNKNOWN_SIZE.format(calls=calls), "HY602") == severity


def test_what_is_called_a_warning_for_its_unknown_sizes_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = OF_UNKNOWN_SIZE.format(calls="for _ in range(2): shown.append(step(numpy.load('batch.npy')))")
    assert seen(source, eager=False) != seen(source, eager=True)


def test_a_finding_names_who_writes_and_who_calls_again(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, GLOBAL, "HY602")
    assert "(changed at main.py:9, and then `loss` is called again at main.py:10)" in found.message
    assert [(each.line, each.message.partition(",")[0]) for each in found.evidence[-3:]] == [
        (10, "`loss` is called here"),
        (9, "then it is changed here"),
        (10, "and `loss` is called again"),
    ]


# HY206 and HY601: the call, and who reads what it has left ---------------------------------------------------------

LEAVES = """
    class Model:
        def __init__(self):
            self.seen = 0.0
        def note(self, x):
            {note}
        @tf.function
        def step(self, x):
            {body}
            return x * 2.0
    model = Model()
    shown = []
    for i in range(3):
        result = model.step(tf.constant(float(i)))
{after}
"""


@pytest.mark.parametrize(
    ("code", "body", "after", "severity"),
    [
        ("HY206", "self.seen += 1.0", "shown.append(model.seen)", "error"),  # read outside
        ("HY206", "self.seen += 1.0; x = x * self.seen", "shown.append(result)", "error"),  # the next call reads it
        ("HY206", "self.seen = 1.0 * len(shown); x = x * self.seen", "shown.append(0)", "info"),  # a register
        ("HY206", "self.seen += 1.0", "shown.append(0)", "info"),  # nobody reads what is counted
        ("HY601", "self.seen = x", "shown.append(0)", "info"),  # nobody reads it
        ("HY601", "self.seen = x", "model.seen = result; shown.append(model.seen)", "info"),  # overwritten unread
        ("HY601", "self.seen = x", "print(model.seen); shown.append(0)", "error"),
    ],
)
def test_what_a_trace_leaves_behind_matters_where_somebody_reads_it(
    code: str, body: str, after: str, severity: str, tmp_path: Path
) -> None:
    source = LEAVES.format(note="pass", body=body, after=indent(after, "        "))
    assert loudest(tmp_path, source, code) == severity
    if "print" not in after:
        differs = seen(source, eager=False) != seen(source, eager=True)
        assert differs == (severity == "error")


def test_a_list_that_each_call_makes_is_its_own(tmp_path: Path) -> None:
    body = "self.parts = [x]; self.parts.append(x * 2.0); x = tf.add_n(self.parts)"
    source = LEAVES.format(note="pass", body=body, after="        shown.append(result)")
    assert loudest(tmp_path, source, "HY601") == "info"
    assert seen(source, eager=False) == seen(source, eager=True)


COUNTS = """
    class Model:
        def __init__(self):
            self.seen = 0.0
        @tf.function
        def step(self, x):
            self.seen = self.seen + 1.0
            return x * 2.0
    shown = []
"""


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("model = Model(); model.step(tf.ones(2)); shown.append(model.seen)", "info"),  # as eager code would
        ("model = Model(); model.step(tf.ones(2)); model.step(tf.ones(2)); shown.append(model.seen)", "error"),
        ("for _ in range(3):\n    model = Model(); model.step(tf.ones(2)); shown.append(model.seen)", "info"),
        ("model = Model()\nfor _ in range(3):\n    model.step(tf.ones(2)); shown.append(model.seen)", "error"),
        ("model = Model(); model.step(tf.ones(2)); model.seen = 5.0; model.step(tf.ones(2)); shown.append(model.seen)",
         "error"),
    ],
)  # fmt: skip
def test_the_first_call_does_to_state_what_eager_code_does(calls: str, severity: str, tmp_path: Path) -> None:
    source = dedent(COUNTS) + calls
    assert loudest(tmp_path, source, "HY206") == severity
    assert (seen(source, eager=False) != seen(source, eager=True)) == (severity == "error")


@pytest.mark.parametrize(
    ("sizes", "severity"), [([3, 3, 3], "info"), ([3, 2, 3], "error")], ids=["of one size", "of two"]
)
def test_a_size_that_all_calls_have_is_no_change(sizes: list[int], severity: str, tmp_path: Path) -> None:
    source = """
        class Model:
            def __init__(self):
                self.size = None
            @tf.function
            def step(self, x):
                self.size = x.shape
                return x * 2.0
        shown = []
        model = Model()
    """
    source = (
        dedent(source) + "".join(f"model.step(tf.ones([{size}]))\n" for size in sizes) + "shown.append(model.size[0])"
    )
    assert loudest(tmp_path, source, "HY206") in (severity, "none" if severity == "info" else severity)
    assert (seen(source, eager=False) != seen(source, eager=True)) == (severity == "error")


DRAWS = """
    import numpy as np
    class Model:
        def __init__(self):
            self.random = np.random.RandomState(0)
        @tf.function
        def start(self, x):
            return x + self.random.rand()
        def run(self):
            shown.append(self.start(tf.constant(1.0, tf.float64)))
    shown = []
"""


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("Model().run()", "info"),
        ("for _ in range(3):\n    Model().run()", "info"),
        ("model = Model()\nmodel.run(); model.run()", "error"),
        ("model = Model()\nwhile len(shown) < 3:\n    model.run()", "error"),
    ],
)
def test_one_call_draws_what_eager_code_does(calls: str, severity: str, tmp_path: Path) -> None:
    source = dedent(DRAWS) + calls
    assert loudest(tmp_path, source, "HY203") == severity
    assert (seen(source, eager=False) != seen(source, eager=True)) == (severity == "error")


def test_a_layer_is_free_until_the_same_trace_calls_it(tmp_path: Path) -> None:
    source = """
        class Cell(tf.keras.layers.Layer):
            @tf.function
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(3)
                {more}
            @tf.function
            def call(self, x):
                return self.dense(x)
        cell = Cell()
        shown = [cell(tf.ones([1, 2])).shape[1], cell(tf.ones([1, 2])).shape[1]]
    """
    assert loudest(tmp_path, source.replace("{more}", ""), "HY250") == "info"
    assert seen(source.replace("{more}", ""), eager=False) == [3, 3]
    assert loudest(tmp_path, source.replace("{more}", "self.dense(tf.ones([1, 2]))"), "HY250") == "error"


def test_a_branch_for_the_first_call_stays_in_the_graph(tmp_path: Path) -> None:
    first = """
        class Model:
            def __init__(self):
                self.ready = False
            @tf.function
            def step(self, x):
                if not self.ready:
                    x = x * 10.0
                    self.ready = True
                return x
        model = Model()
        shown = [model.step(tf.constant(1.0)) for _ in range(3)]
    """
    assert loudest(tmp_path, first, "HY206") == "error"
    assert seen(first, eager=False) != seen(first, eager=True)
    cache = first.replace("x = x * 10.0", "self.scale = tf.Variable(3.0)").replace(
        "return x\n", "return x * self.scale\n"
    )
    assert loudest(tmp_path, cache, "HY206") in ("info", "none")


# HY101, HY102, HY106: the loop that makes the traces ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("for i in range(100):\n    f(tf.ones(2), i)", "warning"),
        ("for i in range(100):\n    f(tf.ones(2), 0.9**i)", "warning"),
        ("labels = list(range(50))\nfor x in range(100):\n    f(tf.ones(2), labels.index(x % 50))", "warning"),
        ("n = len(open('a').read())\nfor i in range(100):\n    f(tf.ones(2), n)", "none"),
        ("class A:\n    def __init__(self, n):\n        self.n = n\na = A(3)\n"
         "for i in range(100):\n    f(tf.ones(2), a.n)", "none"),
        ("for i in range(100):\n    f(tf.ones(2), i % 3)", "none"),  # a few values, again and again
        ("for i in range(100):\n    f(tf.ones(2), int(i > 50))", "none"),
        ("for i in range(100):\n    f(tf.ones(2), min(i, 2) * 10)", "none"),
        ("for i in range(1, 100):\n    f(tf.ones(2), (i + 31) // 32 * 32)", "none"),
        ("for i in range(100):\n    f(tf.ones(2), 0.5 ** (i // 50))", "none"),
        ("for i in range(100):\n    f(tf.ones(2), i % 90)", "warning"),
        ("for i in range(100):\n    f(tf.ones(2), min(i, 80))", "warning"),
        ("for i in range(100):\n    f(tf.ones(2), max(i, 2))", "warning"),
        ("k = [0.0, 2.0]\nfor i in range(100):\n    k[0] = 1.0\n    f(tf.ones(2), k)", "none"),  # once another
        ("k = [0.0, 2.0]\nfor i in range(100):\n    k[0] += 1.0\n    f(tf.ones(2), k)", "warning"),
    ],
)  # fmt: skip
def test_a_python_value_is_told_where_a_loop_passes_another_each_time(
    calls: str, severity: str, tmp_path: Path
) -> None:
    source = f"@tf.function\ndef f(x, k):\n    return x * tf.cast(k, tf.float32)\n{calls}\n"
    assert loudest(tmp_path, source, "HY101") in (severity, "info" if severity == "none" else severity)


def test_graphs_made_anew_keep_their_number_to_themselves(tmp_path: Path) -> None:
    source = """
        class Fit:
            def __init__(self, count):
                self.count = count
            def run(self, data):
                @tf.function
                def step(x, count):
                    return x * count
                for x in data:
                    step(x, self.count)
        for n in (10, 20, 30, 40):
            Fit(n).run(tf.ones([9, 2]))
    """
    assert loudest(tmp_path, source, "HY101") in ("info", "none")


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("for n in range(1, 9):\n    f(tf.ones([n]))", "warning"),
        ("seen = tf.zeros([1])\nfor n in range(9):\n    f(seen)\n    seen = tf.concat([seen, [1.0]], 0)", "warning"),
        ("for x in tf.data.Dataset.range(9).map(lambda x: tf.ones([4])).batch(4):\n    f(x)", "none"),
    ],
)
def test_a_size_is_told_where_a_loop_is_seen_to_change_it(calls: str, severity: str, tmp_path: Path) -> None:
    source = f"@tf.function\ndef f(x):\n    return x * 2.0\n{calls}\n"
    assert loudest(tmp_path, source, "HY106") == severity


MADE = """
    class Search:
        def score(self, x, steps):
            @tf.function
            def step():
                return tf.reduce_sum(x)
            for _ in range(steps):
                result = step()
            return result
        def test(self, images, steps):
            for x in images:
                self.score(x, steps)
"""


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("Search().test(tf.ones([100, 2]), 3)", "warning"),  # traced anew for each image
        ("Search().test(tf.ones([100, 2]), int(open('steps').read()))", "info"),  # for how many steps nobody knows
        ("Search().score(tf.ones([2]), int(open('steps').read()))", "info"),
    ],
)
def test_what_a_loop_makes_anew_is_a_warning(calls: str, severity: str, tmp_path: Path) -> None:
    assert loudest(tmp_path, dedent(MADE) + calls, "HY102") in (severity, "none" if severity == "info" else severity)
