"""Which decorators stay because a graph may pay (HY024), and which go because it cannot."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

PROGRAM = """\
import tensorflow as tf
import platform

STEPS = 1000
generator = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu") for _ in range(12)])
data = tf.data.Dataset.from_tensor_slices((tf.ones([64, 3]), tf.ones([64, 3]))).batch(4)


@tf.function
def run_chain():
    x = tf.ones([4])
    for _ in tf.range(STEPS):
        x = tf.tanh(x) * 0.99
    return x


@tf.function
def run_while(n):
    x = tf.ones([4])
    while n > 0:
        x = x * 0.99
        n -= 1
    return x


@tf.function
def sample(count=16):
    return generator(tf.random.normal([count, 8]))


@tf.function
def evaluate():
    total = tf.constant(0.0)
    for x, y in data:
        total += tf.reduce_mean((x - y) ** 2)
    return total


@tf.function
def mapped():
    return tf.map_fn(lambda v: v * 2.0, tf.ones([500]))


@tf.function
def by_unknown_member(x):
    platform.of_another_package(x)
    return x


@tf.function
def on_unknown_values():
    return [platform.rows[i] * 2 for i in range(1000)]


@tf.function
def small(n):
    return tf.ones([n])


@tf.function
def hands_back(x):
    return x


run_chain(), run_while(1000), sample(), evaluate(), mapped()
by_unknown_member(tf.ones([2])), on_unknown_values(), small(2), hands_back(tf.ones([2]))
"""

RETRACED = """\
import tensorflow as tf


@tf.function
def few(x, epoch):
    return x * 2.0 + epoch


@tf.function
def middling(x, epoch):
    for _ in tf.range(10):
        x = tf.sin(x) * 0.5 + epoch
    return x


@tf.function
def long(x, epoch):
    for _ in tf.range(2000):
        x = tf.sin(x) * 0.5 + epoch
    return x


@tf.function
def often(x, epoch):
    for _ in tf.range(10):
        x = tf.sin(x) * 0.5 + epoch
    return x


for epoch in range(30):
    few(tf.ones([2]), epoch), middling(tf.ones([2]), epoch), long(tf.ones([2]), epoch)
    for batch in range(10_000):
        often(tf.ones([2]), epoch)
"""


def functions(files: dict[str, str], folder: Path, **options: bool) -> dict[str, FunctionReport]:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))
    config = Config(**options)  # type: ignore[arg-type]  # only Booleans are given
    return {f.facts.qualname: f for f in analyze([folder], config, repairs=False).functions}


def removed(found: dict[str, FunctionReport]) -> set[str]:
    return {name for name, f in found.items() if f.decision.action is Action.CONVERT_TO_EAGER}


def reason(function: FunctionReport) -> str:
    return "; ".join(s.message for s in function.statuses if s.code == "HY024")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FunctionReport]:
    return functions({"program.py": PROGRAM}, tmp_path_factory.mktemp("program"))


def test_only_what_is_known_to_be_small_loses_its_decorator(program: dict[str, FunctionReport]) -> None:
    assert removed(program) == {"small", "hands_back"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run_chain", "eager they take"),
        ("run_while", "loop of unknown length"),
        ("sample", "eager they take"),
        ("evaluate", "eager they take"),
        ("mapped", "eager they take"),
        ("by_unknown_member", "`platform.of_another_package`"),
        ("on_unknown_values", "computes on values that are not known"),
    ],
)
def test_the_status_says_why_a_decorator_stays(program: dict[str, FunctionReport], name: str, said: str) -> None:
    assert program[name].decision.precondition in ("P2", "P6")
    assert said in reason(program[name])


def test_all_safe_removes_nothing_that_the_estimate_says_loses(tmp_path: Path) -> None:
    found = functions({"program.py": PROGRAM}, tmp_path, all_safe=True)
    assert removed(found) & {"run_chain", "sample", "evaluate", "mapped"} == set()


def test_retracing_is_weighed_against_what_the_graph_saves(tmp_path: Path) -> None:
    only_python = RETRACED.replace("+ epoch", "+ SHIFTS[epoch]").replace("\n\n", "\nSHIFTS = [0.5] * 30\n\n", 1)
    found = functions({"program.py": only_python}, tmp_path)
    assert removed(found) == {"few", "middling"}
    assert "more than tracing costs" in reason(found["long"])
    assert "more than tracing costs" in reason(found["often"])


def test_a_graph_stays_where_its_calls_can_pass_tensors(tmp_path: Path) -> None:
    found = functions({"program.py": RETRACED}, tmp_path)
    assert removed(found) == {"few"}  # two operations are faster without a graph all the same
    assert "its calls can pass tensors" in reason(found["middling"])


def test_calls_by_tests_are_no_proof_of_retracing(tmp_path: Path) -> None:
    body, _, calls = RETRACED.partition("for epoch in")
    test = "import tensorflow as tf\nfrom program import few, middling, long, often\n\ndef test_it():\n    for epoch in"
    found = functions({"program.py": body, "test_program.py": test + calls.replace("\n", "\n    ")}, tmp_path)
    assert removed(found) == set()
    assert all("no literal retraces it" in found[name].statuses[0].message for name in ("few", "middling"))


def test_of_a_public_function_only_what_is_faster_for_all_callers(tmp_path: Path) -> None:
    library = """\
    import tensorflow as tf

    @tf.function
    def scaled(n):
        return tf.sin(tf.ones([4, n])) * 2.0 + 1.0

    @tf.function
    def _scaled(n):
        return tf.sin(tf.ones([4, n])) * 2.0 + 1.0

    @tf.function
    def number(n):
        return n + 1

    @tf.function
    def ones(n):
        return tf.ones([n])

    for _ in range(100000):
        scaled(4), _scaled(4), number(4), ones(4)
    """
    found = functions({"pyproject.toml": "[project]\n", "lib/__init__.py": "", "lib/part.py": library}, tmp_path)
    assert removed(found) == {"_scaled", "ones"}
    assert "other programs may call it" in reason(found["scaled"])
    assert "other programs may call it" in reason(found["number"])
    (tmp_path / "pyproject.toml").unlink()
    assert removed(functions({"lib/part.py": library}, tmp_path)) == {"_scaled", "ones", "scaled"}


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ("for _ in range(100000):\n    small(4)\n", ""),
        ("for _ in range(3):\n    small(4)\n", "seen to be called 3 times"),
        ("@tf.function\ndef whole(x):\n    return x + small(4)\nwhole(tf.ones([4, 4]))\n", "every caller is a graph"),
        (
            "tf.config.run_functions_eagerly(True)\nfor _ in range(100000):\n    small(4)\n",
            "runs every hybrid function eagerly",
        ),
    ],
)
def test_a_removal_gains_something(calls: str, said: str, tmp_path: Path) -> None:
    part = "import tensorflow as tf\n@tf.function\ndef small(n):\n    return tf.ones([n, n])\n"
    # The file beside it makes this a project, and no demonstration of one function.
    found = functions({"program.py": part + calls, "other.py": "import tensorflow as tf\n"}, tmp_path)
    assert (removed(found) == {"small"}) == (not said)
    assert said in reason(found["small"])


def test_what_gives_a_variable_or_a_number_gives_a_tensor_as_a_graph(tmp_path: Path) -> None:
    """`assign_add` gives the variable itself: what is kept of it changes with the next call."""
    program = """\
    import tensorflow as tf
    v = tf.Variable(1.0)

    @tf.function
    def variable():
        v.assign_add(1.0)
        return v

    @tf.function
    def number(n):
        return n + 1

    @tf.function
    def tensor():
        return v + 1.0

    print(variable(), number(1), tensor())
    """
    assert removed(functions({"part.py": program}, tmp_path)) == {"tensor"}


def test_a_decorator_inside_of_graphs_stays_by_default_and_one_trace_may_serve_many_places(tmp_path: Path) -> None:
    text = """\
    import tensorflow as tf

    @tf.function
    def inner(x):
        return tf.sin(x) * 2 + tf.cos(x)

    @tf.function
    def outer(x):
        for _ in range(TIMES):
            x = inner(x) + 1
        return x

    outer(tf.constant(1.0))
    """
    doubts = {}
    for times in (5, 5000):
        file = tmp_path / f"program_{times}.py"
        file.write_text(textwrap.dedent(text).replace("TIMES", str(times)))
        bundles = analyze([file], Config()).repairs
        (doubts[times],) = [r.doubt or "" for b in bundles for r in b.repairs if r.code == "HY811"]
    assert "no faster without the decorator" in doubts[5]
    assert "at each of about 5,000 places" in doubts[5000]
