"""Inferred arguments of decorators: each signature was run under TensorFlow, with the results of the eager program."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import FunctionReport

HEAD = "import numpy as np\nimport tensorflow as tf\n"
TWO = "r1 = target(tf.ones([2, 3]))\nr2 = target(tf.ones([4, 3]))\n"
SPEC = "[tf.TensorSpec([None, 3], tf.float32)]"


def decided(source: str, tmp_path: Path, *, asked: bool, target: str = "target") -> FunctionReport:
    (tmp_path / "program.py").write_text(HEAD + source)
    report = analyze([tmp_path], Config(all_safe=True, infer_input_signatures=asked))
    return next(f for f in report.functions if f.facts.qualname.endswith(target))


def signature(source: str, tmp_path: Path, *, asked: bool = True, target: str = "target") -> str | None:
    return dict(decided(source, tmp_path, asked=asked, target=target).decision.arguments).get("input_signature")


INFERRED = {
    "one shape": (
        "def target(x):\n    return x * 2.0\nr = target(tf.ones([2, 3]))\n",
        "[tf.TensorSpec([2, 3], tf.float32)]",
    ),
    "unequal sizes become None": ("def target(x):\n    return x * 2.0\n" + TWO, SPEC),
    "unequal ranks give no shape": (
        "def target(x):\n    return tf.reduce_sum(x)\nr1 = target(tf.ones([2, 3]))\nr2 = target(tf.ones([4]))\n",
        "[tf.TensorSpec(None, tf.float32)]",
    ),
    "a scalar, text, truth values": (
        "def target(x, s, m):\n    return tf.where(m, x, tf.cast(tf.strings.length(s), tf.float32))\n"
        "r = target(tf.constant(1.0), tf.constant('a'), tf.constant(True))\n",
        "[tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.bool)]",
    ),
    "sizes by tf.shape may vary": (
        "def target(x):\n    return tf.reshape(x, [tf.shape(x)[0] * 3])\n" + TWO,
        SPEC,
    ),
    "reads of a size that stays": (
        "def target(x):\n    b, n = x.shape\n    return tf.reshape(x, [-1, n]) / x.get_shape().as_list()[-1]\n" + TWO,
        SPEC,
    ),
    "unstacked along an axis that stays": (
        "def target(x):\n    return tf.add_n(tf.unstack(x, axis=-1))\n" + TWO,
        SPEC,
    ),
    "a dictionary": (
        "def target(d):\n    return d['a'] * d['b/c']\nfor n in range(1, 5):\n"
        "    r = target({'a': tf.ones([n]), 'b/c': tf.constant(2.0)})\n",
        '[{"a": tf.TensorSpec([None], tf.float32), "b/c": tf.TensorSpec([], tf.float32)}]',
    ),
    "defaults that no call overrides": (
        "def target(x, scale=2.0, *, shift=1.0):\n    return x * scale + shift\n" + TWO,
        SPEC,
    ),
    "methods leave out self": (
        "class C:\n    def target(self, x, y):\n        return x + y\nc = C()\n"
        "r = c.target(tf.ones([2]), y=tf.zeros([2]))\n",
        "[tf.TensorSpec([2], tf.float32), tf.TensorSpec([2], tf.float32)]",
    ),
    "a tuple of tensors": (
        "def target(pair):\n    a, b = pair\n    return tf.reduce_sum(a) + tf.cast(b, tf.float32)\n"
        "r = target((tf.ones([2]), tf.constant(1)))\n",
        "[(tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.int32))]",
    ),
    "a list of tensors": (
        "def target(items):\n    return tf.reduce_sum(items[0]) * items[1]\nr = target([tf.ones([2]), tf.ones([3])])\n",
        "[[tf.TensorSpec([2], tf.float32), tf.TensorSpec([3], tf.float32)]]",
    ),
    "ragged": (
        "def target(x):\n    return tf.reduce_sum(x, axis=1)\nr = target(tf.ragged.constant([[1, 2], [3]]))\n",
        "[tf.RaggedTensorSpec([2, None], tf.int32)]",
    ),
    "sparse": (
        "def target(x):\n    return tf.sparse.reduce_sum(x, axis=1)\n"
        "r = target(tf.sparse.from_dense(tf.ones([2, 3])))\n",
        "[tf.SparseTensorSpec([2, 3], tf.float32)]",
    ),
    "batches of a dataset": (
        "data = tf.data.Dataset.from_tensor_slices(np.ones([100, 7], np.float32)).batch(32)\n"
        "def target(x):\n    return tf.nn.softmax(x)\nfor x in data:\n    r = target(x)\n",
        "[tf.TensorSpec([None, 7], tf.float32)]",
    ),
    "a layer that is built for a size that stays": (
        "dense = tf.keras.layers.Dense(2)\ndense.build((None, 3))\ndef target(x):\n    return dense(x)\n" + TWO,
        SPEC,
    ),
    "calls that shall raise do not count": (
        "import unittest\ndef target(x):\n    return x * 2.0\nclass T(unittest.TestCase):\n    def test_it(self):\n"
        "        with self.assertRaises(Exception):\n            target(tf.constant(['a']))\n"
        "        target(tf.ones([2]))\n",
        "[tf.TensorSpec([2], tf.float32)]",
    ),
    "Keras passes batches of any size": (
        "class L(tf.keras.layers.Layer):\n    def call(self, x):\n        return target(x)\n"
        "def target(x):\n    return tf.exp(x)\nr = L()(tf.ones([4, 3]))\n",
        SPEC,
    ),
}


@pytest.mark.parametrize("case", INFERRED)
def test_signature_that_is_asked_for(case: str, tmp_path: Path) -> None:
    source, expected = INFERRED[case]
    assert signature(source, tmp_path) == expected


WITHHELD = {
    "dtypes": (
        "def target(x):\n    return x * 2\nr1 = target(tf.ones([2]))\nr2 = target(tf.constant([1]))\n",
        "dtypes",
    ),
    "first axis": ("def target(x):\n    return tf.reshape(x, [x.shape[0] * 3])\n" + TWO, "leaves open"),
    "whole shape": ("def target(x):\n    return tf.zeros(x.shape) + x\n" + TWO, "leaves open"),
    "in a callee, of a derived tensor": (
        "def helper(t):\n    return tf.zeros([t.shape[1]])\ndef target(x):\n    return helper(tf.transpose(x))\n" + TWO,
        "leaves open",
    ),
    "unstacked along an axis that varies": (
        "def target(x):\n    return tf.add_n(tf.unstack(x))\n" + TWO,
        "leaves open",
    ),
    "rank": (
        "def target(x):\n    return tf.reduce_sum(x) * float(x.shape.rank)\n"
        "r1 = target(tf.ones([2]))\nr2 = target(tf.ones([4, 2]))\n",
        "leaves open",
    ),
    "overridden default": ("def target(x, s=2.0):\n    return x * s\nr = target(tf.ones([2]), 3.0)\n", "Python values"),
    "None": (
        "def target(x, y=None):\n    return x if y is None else x + y\n"
        "r1 = target(tf.ones([2]))\nr2 = target(tf.ones([2]), tf.ones([2]))\n",
        "None",
    ),
    "variable": ("def target(v):\n    return v * 2.0\nr = target(tf.Variable([1.0]))\n", "variable"),
    "dictionaries of differing keys": (
        "def target(d):\n    return d['a'] * 2.0\nr1 = target({'a': tf.ones([2])})\n"
        "r2 = target({'a': tf.ones([2]), 'b': tf.ones([2])})\n",
        "keys are not known, or not the same",
    ),
    "a value for each replica": (
        "strategy = tf.distribute.MirroredStrategy(['/cpu:0'])\ndef step(x):\n    return x * 2.0\n"
        "def target(x):\n    return strategy.run(step, args=(x,))\nr = target(tf.ones([2]))\n",
        "for each replica",
    ),
    "star": ("def target(*xs):\n    return xs[0] + xs[1]\nr = target(tf.ones([2]), tf.ones([2]))\n", "`*xs`"),
    "class method": (
        "class C:\n    @classmethod\n    def target(cls, x):\n        return x * 2.0\nr = C.target(tf.ones([2]))\n",
        "first parameter",
    ),
    "no call": ("def target(x: tf.Tensor):\n    return tf.exp(x)\n", "no call"),
}


@pytest.mark.parametrize("case", WITHHELD)
def test_signature_is_withheld_with_a_reason(case: str, tmp_path: Path) -> None:
    source, said = WITHHELD[case]
    function = decided(source, tmp_path, asked=True)
    assert "input_signature" not in dict(function.decision.arguments)
    assert function.decision.action.value == "convert_to_hybrid"
    reasons = [s for s in function.statuses if s.code == "HY022"]
    assert any(said in s.message for s in reasons)
    assert {s.severity.value for s in reasons} == {"info"}


@pytest.mark.parametrize("more", ["training=None", "mask=None", "**kwargs", "*args", "*, training=False"])
def test_what_a_library_calls_is_passed_more_than_the_program_passes(more: str, tmp_path: Path) -> None:
    """`fit`, masks and layers around pass `training` and `mask` to whatever takes them: run with Keras 2 and 3."""
    layer = "class L(tf.keras.layers.Layer):\n    def build(self, shape):\n        self.built = True\n"
    calls = "layer = L()\n" + TWO.replace("target", "layer") + "r3 = layer(tf.ones([5, 3]))\n"
    arguments = [
        dict(decided(f"{layer}    def call(self, x{each}):\n        return tf.exp(x)\n{calls}", tmp_path, asked=asked,
                     target="L.call").decision.arguments)
        for each in ("", f", {more}") for asked in (True, False)
    ]  # fmt: skip
    assert arguments[:2] == [{"input_signature": SPEC}] * 2
    assert all("input_signature" not in each for each in arguments[2:])


def test_without_being_asked_only_shapes_that_vary_get_one(tmp_path: Path) -> None:
    source = "def target(x):\n    return x * 2.0\nr1 = target(tf.ones([2, 3]))\n"
    assert signature(source, tmp_path, asked=False) is None
    assert signature(source + "r2 = target(tf.ones([4, 3]))\n", tmp_path, asked=False) == SPEC


def test_a_hybrid_function_that_retraces_is_reconfigured(tmp_path: Path) -> None:
    source = "@tf.function(autograph=True)\ndef target(x):\n    return x * 2.0\n" + TWO
    assert decided(source, tmp_path, asked=False).decision.action.value == "keep"  # for the trace of a last batch
    decision = decided(source + "r3 = target(tf.ones([5, 3]))\n", tmp_path, asked=False).decision
    assert (decision.action.value, decision.precondition) == ("reconfigure", "P4")
    assert decision.arguments == (("autograph", "True"), ("input_signature", SPEC))


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("tf.config.run_functions_eagerly(True)\n", "target(P(n), 1)"),  # nothing is traced
        ("", "target(P(n), i)"),  # each call is traced anew for its number
    ],
)
def test_nothing_is_reconfigured_where_that_spares_no_trace(before: str, call: str, tmp_path: Path) -> None:
    source = "import collections\nP = collections.namedtuple('P', ['a'])\n{}@tf.function\ndef target(d, k):\n"
    source += "    return d.a * 2.0\nfor i in range(9):\n"
    source += "    for n in (tf.ones([2]), tf.ones([3]), tf.ones([4])):\n        {}\n"
    plain = source.format("", "target(P(n), 1)")
    assert decided(plain, tmp_path, asked=False).decision.action.value == "reconfigure"
    assert decided(source.format(before, call), tmp_path, asked=False).decision.action.value != "reconfigure"


def test_the_sizes_of_a_run_are_no_contract(tmp_path: Path) -> None:
    source = "POINTS = 50\n@tf.function\ndef target(x, points):\n    return x * tf.reduce_sum(points)\n"
    source += "for n in (2, 4, 5):\n    target(tf.ones([n, 3]), tf.ones([POINTS, 1]))\n"
    loose = "[tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([None, 1], tf.float32)]"
    assert signature(source, tmp_path, asked=False) == loose
    assert signature(source, tmp_path) == loose.replace("None, 1", "50, 1")  # who asks for one gets what is seen
    read = source.replace("reduce_sum(points)", "ones([points.shape[0], 1])[0]")
    assert signature(read, tmp_path, asked=False) is None


#: Run under TensorFlow 2.15 and 2.21: with every size open but the last, those that have none raise.
@pytest.mark.parametrize(
    ("body", "is_open"),
    [
        ("return dense(flat(x))", False),
        ("return dense(tf.reshape(x, [tf.shape(x)[0], -1]))", False),
        ("return dense(tf.keras.layers.Reshape((-1,))(x))", False),
        ("for layer in layers:\n        x = layer(x)\n    return x", False),
        ("return made(x)", False),
        ("return built(x)", True),
        ("return dense(tf.reshape(x, [-1, 16]))", True),
        ("return dense(tf.keras.layers.Reshape((16,))(x))", True),
        ("return tf.reduce_sum(flat(x))", True),
        ("return dense(flat(tf.reduce_mean(x, [1, 2])))", True),
    ],
)
def test_no_size_is_left_open_that_a_layer_has_weights_of(body: str, is_open: bool, tmp_path: Path) -> None:
    source = "flat = tf.keras.layers.Flatten()\ndense = tf.keras.layers.Dense(3)\nlayers = [flat, dense]\n"
    source += "made = tf.keras.Sequential([flat, tf.keras.layers.Dense(3)])\nbuilt = tf.keras.Sequential([\n"
    source += "    tf.keras.layers.Flatten(input_shape=(4, 4, 1)), tf.keras.layers.Dense(3)])\n"
    source += f"@tf.function\ndef target(x):\n    {body}\nfor n in (2, 4, 5):\n    target(tf.ones([n, 4, 4, 1]))\n"
    loose = "[tf.TensorSpec([None, None, None, 1], tf.float32)]"
    assert signature(source, tmp_path, asked=False) == (loose if is_open else None)


def test_what_a_call_elsewhere_passes_has_a_place(tmp_path: Path) -> None:
    source = "@tf.function\ndef target(x, more=None):\n    return x * 2.0 if more is None else x * more\n"
    source += "MORE = None\nfor n in (2, 4, 5):\n    batch = tf.ones([n, 3])\n"
    source += "    if MORE is not None:\n        {}\n    else:\n        target(batch)\n"
    assert signature(source.format("print(batch)"), tmp_path, asked=False) == SPEC
    for call in ("target(batch, batch)", "target(batch, more=batch)", "target(*batch)"):
        assert signature(source.format(call), tmp_path, asked=False) is None


def test_traces_are_reduced_where_no_signature_is_possible(tmp_path: Path) -> None:
    source = "import collections\nP = collections.namedtuple('P', ['a'])\n{}def target(d):\n    return {}\n"
    source += "for n in (tf.ones([2]), tf.ones([3]), tf.ones([4])):\n    r = target(P(n))\n"
    for decorator in ("", "@tf.function\n"):
        free = decided(source.format(decorator, "d.a * 2.0"), tmp_path, asked=False)
        assert free.decision.arguments == (("experimental_relax_shapes", "True"),)  # all releases since 2.0 take it
        bound = decided(source.format(decorator, "tf.zeros([d.a.shape[0]])"), tmp_path, asked=False)
        assert bound.decision.arguments == ()


@pytest.mark.parametrize("held", ["autograph=False", "jit_compile=True", "experimental_relax_shapes=True"])
def test_another_name_of_a_configured_function_takes_no_arguments(held: str, tmp_path: Path) -> None:
    source = f"graph = tf.function({held})\n@graph\ndef target(x):\n    return x * 2.0\n"
    source += "for n in range(1, 50):\n    r = target(tf.ones([n]))\n"
    assert decided(source, tmp_path, asked=True).decision.action.value == "keep"


def test_sizes_that_a_library_passes_are_told_and_its_decorator_stays(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'lib'\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "lib" / "part.py").write_text(
        HEAD + "@tf.function\ndef _target(x):\n    return x * 2.0\n"
        "def chosen(x):\n    return _target(tf.boolean_mask(x, x > 0.0))\n"
        "def test(x):\n    return chosen(tf.random.uniform([9]))\n"
    )
    report = analyze([tmp_path], Config())
    assert {f.code for f in report.findings} == {"HY106"}
    assert {f.decision.action.value for f in report.functions} == {"keep"}


def test_what_only_tests_pass_is_no_reason_to_fix_shapes(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(HEAD + "def target(x):\n    return x * 2.0\n")
    (tmp_path / "test_library.py").write_text(
        HEAD + f"from library import target\ndef test_it():\n    {TWO.replace('r2', '    r2')}"
    )
    report = analyze([tmp_path], Config(all_safe=True))
    function = next(f for f in report.functions if f.facts.qualname == "target")
    assert function.decision.arguments == ()


def test_shapes_that_vary_by_object_or_inside_of_graphs_need_no_signature(tmp_path: Path) -> None:
    source = "class C:\n    def target(self, x):\n        return x * 2.0\na, b = C(), C()\n"
    source += "r1 = a.target(tf.ones([2]))\nr2 = b.target(tf.ones([3]))\n"
    assert signature(source, tmp_path, asked=False) is None
    source = "@tf.function\ndef outer(x):\n    return target(x) + target(x[:1])\ndef target(x):\n    return x * 2.0\n"
    assert signature(source + "r = outer(tf.ones([3]))\n", tmp_path, asked=False) is None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("tf.stack(part)", {}),
        ("tf.boolean_mask(rows, rows[:, 0] > i / 1000)", {"input_signature": SPEC.replace("3]", "2]")}),
    ],
)
def test_a_decorator_stays_where_sizes_may_differ_or_not(rows: str, expected: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        HEAD
        + "import sys\n@tf.function\ndef target(x):\n    return tf.reduce_sum(tf.tanh(x))\n"
        + "def main(n):\n    rows = tf.random.normal([500, 2])\n"
        + "    for i in range(1000):\n        part = []\n        for j in range(i, i + n):\n"
        + f"            part.append(rows[j])\n        target({rows})\nmain(int(sys.argv[1]))\n"
    )
    assert dict(analyze([tmp_path], Config()).functions[0].decision.arguments) == expected


@pytest.mark.parametrize(("release", "expected"), [("2.0", ()), ("2.1", (("experimental_relax_shapes", "True"),))])
def test_the_first_release_lets_in_no_other_sizes(
    release: str, expected: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    """Its previews do not know the argument, and for methods it has no effect."""
    source = "import collections\nP = collections.namedtuple('P', ['a'])\n@tf.function\n"
    source += "def target(d):\n    return d.a * 2.0\nfor n in range(2, 6):\n    r = target(P(tf.ones([n])))\n"
    (tmp_path / "program.py").write_text(HEAD + source)
    report = analyze([tmp_path], Config(all_safe=True, tensorflow_version=release))
    assert report.functions[0].decision.arguments == expected


@pytest.mark.parametrize(("second", "relaxed"), [("[1, 1, 6, 6]", True), ("[1, 1, 6, 16]", False)])
def test_sizes_of_variables_are_never_let_in(tmp_path: Path, second: str, relaxed: bool) -> None:
    """TensorFlow lets in theirs as well: the gradients of two layers with one graph get each other's shapes."""
    (tmp_path / "main.py").write_text(
        f"""import sys
import tensorflow as tf
first, second = tf.Variable(tf.ones([1, 1, 6, 6])), tf.Variable(tf.ones({second}))
def layer(x, w):
    for _ in range(40):
        x = tf.nn.relu(tf.sin(x) + tf.cos(x))
    return tf.nn.conv2d(x, w, 1, "SAME")
for size in range(4, int(sys.argv[1])):
    for image in range(1000):
        print(layer(tf.ones([1, size, size, 6]), first), layer(tf.ones([1, size, size, 6]), second))
""",
        "utf-8",
    )
    (decision,) = [f.decision for f in analyze([tmp_path], Config(tensorflow_version="2.15")).functions]
    assert ("reduce_retracing" in dict(decision.arguments)) is relaxed


RANKS = """\
import tensorflow as tf

def ranks(x, some):
    order = tf.exp(-((tf.reshape(x, (-1, 1)) - tf.reshape(some, (1, -1))) ** 2))
    return tf.transpose(order) @ tf.reshape(tf.cast({size}, x.dtype), (-1, 1))

def chosen(x):
    print("ranks of", x)
    return ranks(x, tf.boolean_mask(x, x > 0.0))
"""


@pytest.mark.parametrize(
    ("size", "relaxed"), [("tf.range(x.shape[0])", False), ("tf.range(tf.shape(x)[0])", True), ("tf.range(8)", True)]
)
def test_a_size_that_is_the_same_in_tests_is_another_to_who_uses_the_library(
    size: str, relaxed: bool, tmp_path: Path
) -> None:
    for path, text in {
        "pyproject.toml": '[project]\nname = "package"\nversion = "1"\n',
        "package/__init__.py": "",
        "package/ops.py": RANKS.format(size=size),
        "tests/test_ops.py": "import tensorflow as tf\nfrom package.ops import chosen\n\n"
        "def test_it():\n    chosen(tf.random.normal([8]))\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    report = analyze([tmp_path], Config(all_safe=True))
    found = next(f.decision for f in report.functions if f.facts.qualname == "ranks")
    assert found.precondition == "P1"
    assert bool(found.arguments) is relaxed
