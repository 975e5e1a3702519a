"""Programs run under TensorFlow, eagerly and as graphs: each kind of outcome, and what must not fool the harness."""

import textwrap

import pytest

from harness import ForkServer, Kind, Outcome, Program, RuntimeUnavailable, prove

pytestmark = pytest.mark.tensorflow

SAFE, RAISES, DIFFERS, RETRACES = Kind.SAFE, Kind.RAISES, Kind.DIFFERS, Kind.RETRACES


def proved(server: ForkServer, source: str, target: str | None = "target", **options: str) -> Outcome:
    return prove("import tensorflow as tf\n" + textwrap.dedent(source), target, server=server, **options)  # type: ignore[arg-type]


def body(text: str, before: str = "", argument: str = "1.0", after: str = "") -> str:
    """A program that calls a function with this body three times."""
    lines = textwrap.indent(textwrap.dedent(text), "    ")
    calls = f"r = [target(tf.constant({argument})) for _ in range(3)]"
    return f"{before}\ndef target(x):\n{lines}\n{calls}\n{after}\n"


PROGRAMS = {
    "arithmetic": (SAFE, body("return x * 2 + 1")),
    "print": (DIFFERS, body("print('called')\nreturn x")),
    "tf.print": (SAFE, body("tf.print('value', x)\nreturn x")),
    "tf.print to stdout": (SAFE, body("tf.print(x, output_stream=sys.stdout)\nreturn x", "import sys")),
    "stderr": (DIFFERS, body("sys.stderr.write('note\\n')\nreturn x", "import sys")),
    "logging": (DIFFERS, body("logging.warning('w')\nreturn x", "import logging")),
    "warnings": (
        DIFFERS,
        body("warnings.warn('w')\nreturn x", "import warnings\nwarnings.simplefilter('always')"),
    ),
    "global counter": (DIFFERS, body("global n\nn += 1\nreturn x", "n = 0")),
    "list": (DIFFERS, body("seen.append(1)\nreturn x", "seen = []")),
    "leak": (DIFFERS, body("global last\nlast = x * 2\nreturn x", "last = None")),
    "leak used": (RAISES, body("global last\nlast = x * 2\nreturn x", "last = None", after="z = last + 1")),
    "attribute": (DIFFERS, body("box.n = box.n + 1\nreturn x", "class Box:\n    n = 0\nbox = Box()")),
    "class attribute": (DIFFERS, body("Box.n = Box.n + 1\nreturn x", "class Box:\n    n = 0")),
    "closure": (DIFFERS, body("return x * next(counter)", "import itertools\ncounter = itertools.count()")),
    "file": (DIFFERS, body("open('log', 'a').write('x')\nreturn x")),
    "variable": (SAFE, body("v.assign_add(x)\nreturn v * 2", "v = tf.Variable(0.0)")),
    "variable per call": (RAISES, body("return tf.Variable(1.0) * x")),
    "variable once": (SAFE, body("global v\nif v is None:\n    v = tf.Variable(1.0)\nreturn v * x", "v = None")),
    "numpy": (RAISES, body("return x.numpy() + 1")),
    "Python value": (DIFFERS, body("return 3")),
    "type test": (DIFFERS, body("return x if hasattr(x, 'numpy') else -x")),
    "tensor condition": (SAFE, body("if x > 0:\n    return x\nreturn -x")),
    "undefined branch": (RAISES, body("if x > 0:\n    y = x\nreturn y")),
    "assert": (RAISES, body("assert x > 0\nreturn x")),
    "host random": (DIFFERS, body("return x * random.random()", "import random")),
    "clock": (DIFFERS, body("return x + time.perf_counter_ns() % 100_003", "import time")),
    "tensor random": (SAFE, body("return x + tf.random.uniform([2])")),
    "tape inside": (
        SAFE,
        body("with tf.GradientTape() as t:\n    t.watch(x)\n    y = x * x\nreturn t.gradient(y, x)"),
    ),
    "caught by the driver": (
        RAISES,
        "def target(x):\n    return float(x.numpy())\n"
        "try:\n    r = target(tf.constant(1.0))\nexcept AttributeError:\n    r = 0.0\n",
    ),
    "both raise": (
        SAFE,
        "def target(x, k):\n    return {'a': x}[k]\n"
        "try:\n    target(tf.constant(1.0), 'b')\nexcept KeyError:\n    r = 1\n",
    ),
    "wrong arguments": (
        SAFE,
        "def target(x):\n    return x\ntry:\n    target(1, 2)\nexcept TypeError:\n    r = target(tf.constant(1))\n",
    ),
    "varying integer": (
        RETRACES,
        "def target(x, n):\n    return x * n\nr = [target(tf.constant(1), i) for i in range(4)]",
    ),
    "two modes": (
        SAFE,
        "def target(x, m):\n    return x if m else -x\nr = [target(tf.constant(1), i % 2 == 0) for i in range(4)]",
    ),
    "method": (
        SAFE,
        "class M:\n    def __init__(self):\n        self.k = 2\n    def target(self, x):\n        return x * self.k\n"
        "m = M()\nr = [m.target(tf.constant(i)) for i in range(3)]\n",
    ),
    "temporary receiver": (
        RAISES,
        "class M:\n    k = 2\n    def target(self, x):\n        return x * self.k\nr = M().target(tf.constant(1))\n",
    ),
    "__file__": (SAFE, body("return x", after="print(__file__)")),
    "exit": (SAFE, body("return x", after="import sys\nsys.exit(0)")),
    "Keras": (
        SAFE,
        body(
            "with tf.GradientTape() as t:\n    loss = tf.reduce_mean((m(x) - 1.0) ** 2)\n"
            "o.apply_gradients(zip(t.gradient(loss, m.trainable_variables), m.trainable_variables))\nreturn loss",
            "m = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer='ones')])\nm.build((None, 2))\n"
            "o = tf.keras.optimizers.Adam()",
            "[[1.0, 2.0]]",
        ),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_outcomes(server: ForkServer, name: str) -> None:
    kind, source = PROGRAMS[name]
    found = proved(server, source)
    assert found.kind is kind, str(found)


def test_a_difference_names_the_place_and_both_sides(server: ForkServer) -> None:
    found = proved(server, body("global n\nn += 1\nreturn x", "n = 0"))
    assert [(d.where, d.eager, d.hybrid) for d in found.differences] == [("n", "int 3", "int 1")]
    assert (found.calls, found.traces) == (3, 1)


def test_an_exception_names_the_line_of_the_driver(server: ForkServer) -> None:
    found = proved(server, "def target(x):\n    return x.numpy()\nr1 = target(tf.constant(1.0))\n")
    assert (found.line, found.differences[0].where) == (4, "exception")
    assert "numpy" in found.differences[0].hybrid


OWN = """
@tf.function
def step(x):
    seen.append(1)
    return inner(x)
inner = tf.function(lambda x: x * 2)
seen = []
r = [step(tf.constant(i)) for i in range(3)]
"""


def test_a_program_with_its_own_decorators_is_compared_with_itself_stripped(server: ForkServer) -> None:
    found = proved(server, OWN, None)
    assert found.kind is DIFFERS
    assert {f.function: f.calls for f in found.functions}["step"] == 3
    assert proved(server, OWN.replace("    seen.append(1)\n", ""), None).kind is SAFE


def test_functions_made_per_call_retrace(server: ForkServer) -> None:
    source = "def run(x):\n    @tf.function\n    def f(y):\n        return y + 1\n    return f(x)\n"
    assert proved(server, source + "r = [run(tf.constant(1)) for _ in range(4)]", None).kind is RETRACES


def test_what_the_decorator_is_given_counts(server: ForkServer) -> None:
    source = "def target(x):\n    return x * 2\nr = target(tf.constant([1.5]))"
    wrong = "tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])"
    assert proved(server, source).kind is SAFE
    assert proved(server, source, decorator=wrong).kind is RAISES


def test_a_program_of_several_files(server: ForkServer) -> None:
    library = "n = 0\ndef helper(x):\n    global n\n    n += 1\n    return x\ndef pure(x):\n    return x\n"
    main = (
        "import tensorflow as tf\nfrom pkg import lib\nr = [lib.helper(lib.pure(tf.constant(i))) for i in range(3)]\n"
    )
    files = (("main.py", main), ("pkg/__init__.py", ""), ("pkg/lib.py", library))
    assert server.prove(Program(files, "main.py", ("pkg/lib.py:pure",))).kind is SAFE
    found = server.prove(Program(files, "main.py", ("pkg/lib.py:pure", "pkg/lib.py:helper")))
    assert [d.where for d in found.differences] == ["pkg.lib:n"]


def test_one_run_leaves_nothing_to_the_next(server: ForkServer) -> None:
    source = body("return x", after="import tensorflow, os\nn = getattr(tensorflow, 'mark', 0)\ntensorflow.mark = 1")
    assert [proved(server, source).kind for _ in range(2)] == [SAFE, SAFE]


@pytest.mark.slow
def test_what_never_ends_and_what_dies(server: ForkServer) -> None:
    with ForkServer(server.python, seconds=2) as short:
        found = proved(short, body("while not hasattr(x, 'numpy'):\n    pass\nreturn x"))
        assert (found.kind, found.differences[0].hybrid) == (RAISES, "timeout")
        assert proved(short, body("return x", after="while True: pass")).kind is Kind.FAILED
        assert proved(short, body("return x", after="import os\nos.abort()")).kind is Kind.FAILED
        assert proved(short, body("return x")).kind is SAFE


def test_a_program_that_does_not_parse_or_has_no_such_function(server: ForkServer) -> None:
    assert proved(server, "def target(:\n").kind is Kind.FAILED
    assert proved(server, "x = 1\n").kind is Kind.FAILED


def test_no_tensorflow_is_one_clear_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(RuntimeUnavailable), ForkServer("/bin/false"):
        pass
